package offer

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/stream"
)

const (
	// Life is how long what a call began can be found by its id.
	Life = 30 * 24 * time.Hour
	// nameable is how long a client's own name of a request stands for it.
	nameable = time.Hour
)

// task is the work of a call: a submission of an agent, or a run.
type task struct {
	kind     svc.Kind
	name     string // of the agent or workflow
	instance string // of an agent
	id       string // of the submission or run
	start    stream.Offset
}

// record is a call as its row keeps it.
type record struct {
	call string
	task
}

// holder is whose a request is: requests of one are told apart by what it calls them.
func holder(c scope.Claims) string {
	if c.Key != "" {
		return c.Key
	}
	return c.ActorID
}

// announce writes a call down before its work is admitted, so that it can be cancelled from then on.
func (o *Offer) announce(ctx context.Context, c scope.Claims, m *received, t task) (record, error) {
	r := record{ulid.Make().String(), t}
	err := o.DB.Do(ctx, "announce call", `INSERT INTO offer_calls (scope, call, holder, session, request, kind, name, instance, made_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, c.Scope, r.call, holder(c), m.session, m.id, string(t.kind), t.name, t.instance, o.Now().UnixMilli())
	return r, err
}

// admitted writes down the id of the work that a call began, and reports whether the call was cancelled before that was known.
func (o *Offer) admitted(ctx context.Context, c scope.Claims, r record) (cancelled bool, err error) {
	at, err := sqldb.Write(ctx, o.DB, func(tx *sqldb.Tx) (sql.NullInt64, error) {
		return sqldb.Value[sql.NullInt64](tx, "note call", "UPDATE offer_calls SET id = $1, start = $2 WHERE scope = $3 AND call = $4 RETURNING cancelled_at",
			r.id, int64(r.start), c.Scope, r.call)
	})
	return at.Valid, err
}

// found is the work that an id stands for in a scope.
func (o *Offer) found(ctx context.Context, scope, id string) (task, bool, error) {
	r, err := sqldb.Read(ctx, o.DB, func(tx *sqldb.Tx) (record, error) {
		r, _, err := sqldb.First(tx, "find call", scanRecord, "SELECT "+columns+" FROM offer_calls WHERE scope = $1 AND id = $2 LIMIT 1", scope, id)
		return r, err
	})
	return r.task, r.call != "", err
}

// mark writes down that a client cancels its request, and returns the work of it, if that is known. Without a session two clients
// with one key may call different requests the same: then neither is cancelled.
func (o *Offer) mark(ctx context.Context, c scope.Claims, m *received, request string) (task, bool, error) {
	now := o.Now()
	r, err := sqldb.Write(ctx, o.DB, func(tx *sqldb.Tx) (record, error) {
		all, err := sqldb.Collect(tx, scanRecord, "SELECT "+columns+` FROM offer_calls WHERE scope = $1 AND holder = $2 AND session = $3 AND request = $4
			AND made_at > $5 ORDER BY made_at DESC, call DESC LIMIT 2`+tx.ForUpdate(), c.Scope, holder(c), m.session, request, now.Add(-nameable).UnixMilli())
		if err != nil || len(all) == 0 || len(all) > 1 && m.session == "" {
			return record{}, err
		}
		return all[0], tx.Do("cancel call", "UPDATE offer_calls SET cancelled_at = $1 WHERE scope = $2 AND call = $3 AND cancelled_at IS NULL",
			now.UnixMilli(), c.Scope, all[0].call)
	})
	return r.task, r.id != "", err
}

const columns = "call, kind, name, instance, COALESCE(id, ''), start"

func scanRecord(row sqldb.Row) (r record, err error) {
	var kind string
	var start int64
	err = row.Scan(&r.call, &kind, &r.name, &r.instance, &r.id, &start)
	r.kind, r.start = svc.Kind(kind), stream.Offset(start)
	return r, err
}

// Sweep forgets some calls that are too old, and says how many. What they began stays.
func Sweep(ctx context.Context, db *sqldb.DB, now time.Time) (int64, error) {
	const batch = 500
	n, err := sqldb.Write(ctx, db, func(tx *sqldb.Tx) (int64, error) {
		return tx.Exec(`DELETE FROM offer_calls WHERE (scope, call) IN (SELECT scope, call FROM offer_calls WHERE made_at <= $1 ORDER BY made_at LIMIT $2)`,
			now.Add(-Life).UnixMilli(), batch)
	})
	if err != nil {
		return 0, fmt.Errorf("sweep calls: %w", err)
	}
	return n, nil
}

// Erase forgets all calls of a workspace.
func Erase(ctx context.Context, db *sqldb.DB, scope string) error {
	const batch = 500
	_, err := sqldb.Drain(ctx, db, batch, func(tx *sqldb.Tx) (int64, error) {
		return tx.Exec("DELETE FROM offer_calls WHERE scope = $1 AND call IN (SELECT call FROM offer_calls WHERE scope = $1 LIMIT $2)", scope, batch)
	})
	if err != nil {
		return fmt.Errorf("erase calls: %w", err)
	}
	return nil
}
