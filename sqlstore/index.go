package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/workflow"
)

// GetRun finds a run with its input and outcome.
func (s *Store) GetRun(ctx context.Context, scope, id string) (workflow.Run, error) {
	if !storable(scope, id) {
		return workflow.Run{}, svc.ErrNotFound
	}
	r := workflow.Run{ID: id, Scope: scope}
	var ended sql.NullInt64
	var input, result, failure []byte
	err := s.read(ctx, "get run", func(tx *sqldb.Tx) error {
		return tx.QueryRow(`
SELECT r.workflow, r.status, r.started_at, r.started_by, r.ended_at, r.result, r.error, COALESCE(i.data, b.input)
FROM runs r JOIN submissions b ON b.stream = r.stream AND b.seq = 0 `+joinInput+` WHERE r.scope = $1 AND r.id = $2`, scope, id).
			Scan(&r.Workflow, (*string)(&r.Status), (*millisTime)(&r.StartedAt), &r.StartedBy, &ended, &result, &failure, &input)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return workflow.Run{}, svc.ErrNotFound
	}
	if err != nil {
		return workflow.Run{}, err
	}
	r.Input, r.Result = input, result
	if ended.Valid {
		r.EndedAt = unixMilli(ended.Int64)
	}
	if failure != nil {
		if err := json.Unmarshal(failure, &r.Error); err != nil {
			return workflow.Run{}, fmt.Errorf("get run: %w", err)
		}
	}
	return r, nil
}

// FindRun names a run's stream, and what it takes to get the run.
func (s *Store) FindRun(ctx context.Context, scope, id string) (svc.Stream, int64, error) {
	if !storable(scope, id) {
		return svc.Stream{}, 0, svc.ErrNotFound
	}
	found := svc.Stream{Scope: scope, Kind: svc.KindRun, ID: id}
	var size int64
	err := s.read(ctx, "find run", func(tx *sqldb.Tx) error {
		return tx.QueryRow(`
SELECT r.workflow, b.size + COALESCE(length(r.result), 0) + COALESCE(length(r.error), 0)
FROM runs r JOIN submissions b ON b.stream = r.stream AND b.seq = 0 WHERE r.scope = $1 AND r.id = $2`, scope, id).Scan(&found.Name, &size)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return svc.Stream{}, 0, svc.ErrNotFound
	}
	if err != nil {
		return svc.Stream{}, 0, err
	}
	return found, size, nil
}

// ListRuns pages through runs, newest first.
func (s *Store) ListRuns(ctx context.Context, q svc.RunQuery) (page svc.RunPage, err error) {
	if q.Limit <= 0 {
		q.Limit = math.MaxInt32 - 1
	}
	if q.Before == "" || !storable(q.Before) {
		q.Before = "~" // behind every run id
	}
	err = s.read(ctx, "list runs", func(tx *sqldb.Tx) error {
		query, args := runsQuery(q)
		rows, err := tx.Query(query, args...)
		if err != nil {
			return err
		}
		page.Runs, err = collectRuns(rows)
		return err
	})
	if page.More = len(page.Runs) > q.Limit; page.More {
		page.Runs = page.Runs[:q.Limit]
	}
	return page, err
}

const runColumns = `SELECT r.id, r.workflow, r.status, r.started_at, r.started_by, r.ended_at, r.scope FROM `

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
	return runColumns + from + ` WHERE ` + id + ` < $1` + where + order + ` LIMIT $2`, args
}

func collectRuns(rows *sql.Rows) ([]workflow.Run, error) {
	defer rows.Close()
	var runs []workflow.Run
	for rows.Next() {
		var r workflow.Run
		var ended sql.NullInt64
		if err := rows.Scan(&r.ID, &r.Workflow, (*string)(&r.Status), (*millisTime)(&r.StartedAt), &r.StartedBy, &ended, &r.Scope); err != nil {
			return nil, err
		}
		if ended.Valid {
			r.EndedAt = unixMilli(ended.Int64)
		}
		runs = append(runs, r)
	}
	return runs, rows.Err()
}

const maxSubmissions = 1000

// Submissions lists unsettled work in order.
func (s *Store) Submissions(ctx context.Context, a svc.Stream) (list []svc.Submission, err error) {
	if !storableStream(a) {
		return nil, nil
	}
	err = s.read(ctx, "list submissions", func(tx *sqldb.Tx) error {
		list = nil
		rows, err := tx.Query(`
SELECT t.owner IS NOT NULL, t.reason, t.done_seq, b.seq, b.input, `+submissionColumns+`
FROM streams t JOIN submissions b ON b.stream = t.id AND b.seq >= t.done_seq
WHERE t.scope = $1 AND t.kind = $2 AND t.name = $3 AND t.instance = $4 AND NOT t.dropped ORDER BY b.seq LIMIT $5`,
			a.Scope, string(a.Kind), a.Name, a.ID, maxSubmissions)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var b svc.Submission
			var held bool
			var reason string
			var done int64
			if err := rows.Scan(append([]any{&held, &reason, &done, &b.Seq, &b.Input}, submissionFields(&b)...)...); err != nil {
				return err
			}
			b.State, b.Reason = listedState(b, held, reason, done)
			list = append(list, b)
		}
		return rows.Err()
	})
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
func (s *Store) Conversations(ctx context.Context, q svc.ConversationQuery) (page svc.ConversationPage, err error) {
	if q.Limit <= 0 {
		q.Limit = math.MaxInt32 - 1
	}
	query := `SELECT name, instance, used_at FROM streams WHERE kind <> 'run' AND NOT dropped AND scope = $1`
	args := []any{q.Scope, q.Limit + 1}
	if q.Agent != "" {
		args = append(args, q.Agent)
		query += ` AND name = ` + dollar(len(args))
	}
	if b := q.Before; b != nil {
		args = append(args, b.UsedAt.UnixMilli(), b.Agent, b.ID)
		query += fmt.Sprintf(` AND (used_at, name, instance) < ($%d, $%d, $%d)`, len(args)-2, len(args)-1, len(args))
	}
	query += ` ORDER BY used_at DESC, name DESC, instance DESC LIMIT $2`
	err = s.read(ctx, "list conversations", func(tx *sqldb.Tx) error {
		rows, err := tx.Query(query, args...)
		if err != nil {
			return err
		}
		page.Conversations, err = collect(rows, func(c *svc.Conversation) []any {
			return []any{&c.Agent, &c.ID, (*millisTime)(&c.UsedAt)}
		})
		return err
	})
	if page.More = len(page.Conversations) > q.Limit; page.More {
		page.Conversations = page.Conversations[:q.Limit]
	}
	return page, err
}
