package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/workflow"
)

// GetRun finds a run with its input and outcome.
func (s *Store) GetRun(ctx context.Context, scope, id string) (workflow.Run, error) {
	if !sqldb.Storable(scope, id) {
		return workflow.Run{}, svc.ErrNotFound
	}
	r, err := readRow(ctx, s, "get run", svc.ErrNotFound, func(r *failedRow) []any {
		return append(runFields(&r.Run), (*[]byte)(&r.Result), &r.failure, (*[]byte)(&r.Input))
	}, `
SELECT `+runColumns+`, r.result, r.error, COALESCE(i.data, b.input)
FROM runs r JOIN submissions b ON b.stream = r.stream AND b.seq = 0 `+joinInput+` WHERE r.scope = $1 AND r.id = $2`, scope, id)
	if err != nil {
		return workflow.Run{}, err
	}
	return r.run("get run")
}

// failedRow is a run and its error as they are stored.
type failedRow struct {
	workflow.Run
	failure []byte
}

func (r failedRow) run(doing string) (workflow.Run, error) {
	if r.failure == nil {
		return r.Run, nil
	}
	if err := json.Unmarshal(r.failure, &r.Error); err != nil {
		return workflow.Run{}, fmt.Errorf("%s: %w", doing, err)
	}
	return r.Run, nil
}

// FindRun names a run's stream, and what it takes to get the run.
func (s *Store) FindRun(ctx context.Context, scope, id string) (svc.Stream, int64, error) {
	if !sqldb.Storable(scope, id) {
		return svc.Stream{}, 0, svc.ErrNotFound
	}
	type row struct {
		name string
		size int64
	}
	r, err := readRow(ctx, s, "find run", svc.ErrNotFound, func(r *row) []any { return []any{&r.name, &r.size} }, `
SELECT r.workflow, b.size + COALESCE(length(r.result), 0) + COALESCE(length(r.error), 0)
FROM runs r JOIN submissions b ON b.stream = r.stream AND b.seq = 0 WHERE r.scope = $1 AND r.id = $2`, scope, id)
	if err != nil {
		return svc.Stream{}, 0, err
	}
	return svc.Stream{Scope: scope, Kind: svc.KindRun, Name: r.name, ID: id}, r.size, nil
}

// ListRuns pages through runs, newest first.
func (s *Store) ListRuns(ctx context.Context, q svc.RunQuery) (svc.RunPage, error) {
	q.Limit = cmp.Or(max(q.Limit, 0), math.MaxInt32-1)
	if q.Before == "" || !sqldb.Storable(q.Before) {
		q.Before = "~" // behind every run id
	}
	query, args := runsQuery(q)
	rows, err := readAll(ctx, s, "list runs", func(r *failedRow) []any { return append(runFields(&r.Run), &r.failure) }, query, args...)
	if err != nil {
		return svc.RunPage{}, err
	}
	page := svc.RunPage{Runs: make([]workflow.Run, min(len(rows), q.Limit)), More: len(rows) > q.Limit}
	for i := range page.Runs {
		if page.Runs[i], err = rows[i].run("list runs"); err != nil {
			return svc.RunPage{}, err
		}
	}
	return page, nil
}

// listedError bounds what a list shows of a failure: a page of runs is small, whatever they failed with.
const listedError = `CASE WHEN length(r.error) <= 2048 THEN r.error END`

const runColumns = `r.id, r.workflow, r.status, r.started_at, r.started_by, r.ended_at, r.scope`

// runFields are where a row of runColumns is scanned to.
func runFields(r *workflow.Run) []any {
	return []any{&r.ID, &r.Workflow, (*string)(&r.Status), (*millisTime)(&r.StartedAt), &r.StartedBy, (*millisTime)(&r.EndedAt), &r.Scope}
}

// runsQuery finds each combination of filters by one index, in which the newest stands last. No index knows a status: what
// is active has work that waits, what failed has an error, and what has completed is nearly everything.
func runsQuery(q svc.RunQuery) (string, []any) {
	args := []any{q.Before, q.Limit + 1}
	from, id, where := `runs r`, `r.id`, ``
	switch q.Status {
	case workflow.Active:
		from, id = `streams t JOIN runs r ON r.scope = t.scope AND r.id = t.instance`, `t.instance`
		where = ` AND t.kind = 'run' AND t.next_seq > t.done_seq`
	case workflow.Errored:
		where = ` AND r.error IS NOT NULL`
	case workflow.Completed:
		where = ` AND r.status = 'completed'`
	}
	scope, name := `r.scope`, `r.workflow`
	if q.Status == workflow.Active {
		scope, name = `t.scope`, `t.name`
	}
	if !q.All {
		args = append(args, q.Scope)
		where += ` AND ` + scope + ` = ` + dollar(len(args))
	}
	if !q.All && q.Workflow != "" {
		args = append(args, q.Workflow)
		where += ` AND ` + name + ` = ` + dollar(len(args))
	}
	order := ` ORDER BY ` + id + ` DESC`
	if q.All {
		order += `, ` + scope + ` DESC`
	}
	return `SELECT ` + runColumns + `, ` + listedError + ` FROM ` + from + ` WHERE ` + id + ` < $1` + where + order + ` LIMIT $2`, args
}

const maxSubmissions = 1000

// Submissions lists unsettled work in order.
func (s *Store) Submissions(ctx context.Context, a svc.Stream) (list []svc.Submission, err error) {
	if !storableStream(a) {
		return nil, nil
	}
	type row struct {
		svc.Submission
		held   bool
		reason string
		done   int64
	}
	found, err := readAll(ctx, s, "list submissions", func(r *row) []any {
		return append([]any{&r.held, &r.reason, &r.done, &r.Seq, &r.Input}, submissionFields(&r.Submission)...)
	}, `
SELECT t.owner IS NOT NULL, t.reason, t.done_seq, b.seq, b.input, `+submissionColumns+`
FROM streams t JOIN submissions b ON b.stream = t.id AND b.seq >= t.done_seq
WHERE t.scope = $1 AND t.kind = $2 AND t.name = $3 AND t.instance = $4 AND NOT t.dropped ORDER BY b.seq LIMIT $5`,
		a.Scope, string(a.Kind), a.Name, a.ID, maxSubmissions)
	for _, r := range found {
		r.State, r.Reason = listedState(r.Submission, r.held, r.reason, r.done)
		list = append(list, r.Submission)
	}
	return list, err
}

func listedState(b svc.Submission, held bool, reason string, done int64) (state, why string) {
	switch {
	case b.Aborted:
		return svc.StateAborting, ""
	case b.Seq != done:
		return svc.StateQueued, ""
	case reason == svc.ReasonNotRegistered:
		return svc.StateQueued, reason
	case held:
		return svc.StateRunning, ""
	case reason != "":
		return svc.StateParked, reason
	}
	return svc.StateQueued, ""
}

// Conversations lists agent streams, last used first.
func (s *Store) Conversations(ctx context.Context, q svc.ConversationQuery) (svc.ConversationPage, error) {
	q.Limit = cmp.Or(max(q.Limit, 0), math.MaxInt32-1)
	query, args := conversations(q)
	all, err := readAll(ctx, s, "list conversations", func(c *svc.Conversation) []any {
		return []any{&c.Agent, &c.ID, (*millisTime)(&c.UsedAt), &c.State, (*millisTime)(&c.CreatedAt), &c.First}
	}, query, args...)
	return svc.ConversationPage{Conversations: all[:min(len(all), q.Limit)], More: len(all) > q.Limit}, err
}

// conversations is the statement of a page, with the first and the last submission of each stream.
func conversations(q svc.ConversationQuery) (string, []any) {
	query := `
SELECT t.name, t.instance, t.used_at, CASE
    WHEN t.next_seq > t.done_seq AND t.owner IS NOT NULL THEN '` + svc.StateRunning + `'
    WHEN t.next_seq > t.done_seq THEN '` + svc.StateWaiting + `'
    WHEN (SELECT b.outcome FROM submissions b WHERE b.stream = t.id AND b.seq = t.done_seq - 1) = '` + string(svc.OutcomeFailed) + `' THEN '` + svc.StateFailed + `'
    ELSE '` + svc.StateIdle + `' END,
  COALESCE((SELECT b.admitted_at FROM submissions b WHERE b.stream = t.id ORDER BY b.seq LIMIT 1), t.used_at),
  (SELECT substr(b.input, 1, 1024) FROM submissions b WHERE b.stream = t.id ORDER BY b.seq LIMIT 1)
FROM streams t WHERE t.kind <> 'run' AND NOT t.dropped AND t.scope = $1`
	args := []any{q.Scope, q.Limit + 1}
	if q.Agent != "" {
		args = append(args, q.Agent)
		query += ` AND t.name = ` + dollar(len(args))
	}
	if b := q.Before; b != nil {
		args = append(args, b.UsedAt.UnixMilli(), b.Agent, b.ID)
		query += fmt.Sprintf(` AND (t.used_at, t.name, t.instance) < ($%d, $%d, $%d)`, len(args)-2, len(args)-1, len(args))
	}
	return query + ` ORDER BY t.used_at DESC, t.name DESC, t.instance DESC LIMIT $2`, args
}
