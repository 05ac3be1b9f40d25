package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/workflow"
)

// GetRun finds a run with its input and outcome.
func (s *Store) GetRun(ctx context.Context, scope, id string) (workflow.Run, error) {
	if s.db.Dialect() == sqldb.Postgres && !storable(scope, id) {
		return workflow.Run{}, svc.ErrNotFound
	}
	r := workflow.Run{ID: id}
	var ended sql.NullInt64
	var input, result, failure []byte
	err := s.read(ctx, "get run", func(tx *sqldb.Tx) error {
		return tx.QueryRow(`
SELECT r.workflow, r.status, r.started_at, r.ended_at, r.result, r.error, b.input
FROM runs r JOIN submissions b ON b.stream = r.stream AND b.seq = 0 WHERE r.scope = $1 AND r.id = $2`, scope, id).
			Scan(&r.Workflow, (*string)(&r.Status), (*millisTime)(&r.StartedAt), &ended, &result, &failure, &input)
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

// FindRun names a run's stream.
func (s *Store) FindRun(ctx context.Context, scope, id string) (svc.Stream, error) {
	if s.db.Dialect() == sqldb.Postgres && !storable(scope, id) {
		return svc.Stream{}, svc.ErrNotFound
	}
	found := svc.Stream{Scope: scope, Kind: svc.KindRun, ID: id}
	err := s.read(ctx, "find run", func(tx *sqldb.Tx) error {
		return tx.QueryRow(`SELECT workflow FROM runs WHERE scope = $1 AND id = $2`, scope, id).Scan(&found.Name)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return svc.Stream{}, svc.ErrNotFound
	}
	return found, err
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
		if q.All {
			query, args = allRunsQuery(q)
		}
		rows, err := tx.Query(query, args...)
		if err != nil {
			return err
		}
		page.Runs, err = collectRuns(rows, q.All)
		return err
	})
	if page.More = len(page.Runs) > q.Limit; page.More {
		page.Runs = page.Runs[:q.Limit]
	}
	return page, err
}

// runsQuery finds each combination of filters in one index. Of a workflow alone the three states are merged: its index
// has the status before the id.
func runsQuery(q svc.RunQuery) (string, []any) {
	args := []any{q.Scope, q.Before, q.Limit + 1}
	const columns = `SELECT id, workflow, status, started_at, ended_at FROM runs WHERE scope = $1 AND id < $2`
	const order = ` ORDER BY id DESC LIMIT CAST($3 AS bigint)`
	switch {
	case q.Workflow == "" && q.Status == "":
		return columns + order, args
	case q.Workflow == "":
		return columns + ` AND status = $4` + order, append(args, string(q.Status))
	case q.Status != "":
		return columns + ` AND workflow = $4 AND status = $5` + order, append(args, q.Workflow, string(q.Status))
	}
	var parts []string
	for i, status := range []workflow.Status{workflow.Active, workflow.Completed, workflow.Errored} {
		parts = append(parts, fmt.Sprintf(`SELECT * FROM (%s AND workflow = $4 AND status = '%s'%s) AS part%d`, columns, status, order, i))
	}
	return `SELECT * FROM (` + strings.Join(parts, " UNION ALL ") + `) AS merged` + order, append(args, q.Workflow)
}

// allRunsQuery finds the runs of every scope in one index, which has the status before the id: without a filter the three
// states are merged.
func allRunsQuery(q svc.RunQuery) (string, []any) {
	const columns = `SELECT id, workflow, status, started_at, ended_at, scope FROM runs WHERE id < $1`
	const order = ` ORDER BY id DESC, scope DESC LIMIT CAST($2 AS bigint)`
	args := []any{q.Before, q.Limit + 1}
	if q.Status != "" {
		return columns + ` AND status = $3` + order, append(args, string(q.Status))
	}
	var parts []string
	for i, status := range []workflow.Status{workflow.Active, workflow.Completed, workflow.Errored} {
		parts = append(parts, fmt.Sprintf(`SELECT * FROM (%s AND status = '%s'%s) AS part%d`, columns, status, order, i))
	}
	return `SELECT * FROM (` + strings.Join(parts, " UNION ALL ") + `) AS merged` + order, args
}

func collectRuns(rows *sql.Rows, scoped bool) ([]workflow.Run, error) {
	defer rows.Close()
	var runs []workflow.Run
	for rows.Next() {
		var r workflow.Run
		var ended sql.NullInt64
		fields := []any{&r.ID, &r.Workflow, (*string)(&r.Status), (*millisTime)(&r.StartedAt), &ended}
		if scoped {
			fields = append(fields, &r.Scope)
		}
		if err := rows.Scan(fields...); err != nil {
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
	if s.db.Dialect() == sqldb.Postgres && !storableStream(a) {
		return nil, nil
	}
	err = s.read(ctx, "list submissions", func(tx *sqldb.Tx) error {
		list = nil
		rows, err := tx.Query(`
SELECT t.owner IS NOT NULL, t.reason, t.done_seq, b.seq, b.id, b.kind, b.input, b.admitted_at, b.abort_at IS NOT NULL
FROM streams t JOIN submissions b ON b.stream = t.id AND b.seq >= t.done_seq
WHERE t.scope = $1 AND t.kind = $2 AND t.name = $3 AND t.instance = $4 AND NOT t.dropped ORDER BY b.seq LIMIT CAST($5 AS bigint)`,
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
			if err := rows.Scan(append([]any{&held, &reason, &done, &b.Seq}, submissionFields(&b)...)...); err != nil {
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
	query += ` ORDER BY used_at DESC, name DESC, instance DESC LIMIT CAST($2 AS bigint)`
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
