package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/workspace"
)

// earliest is when the next dispatch may be tried; some is false when none waits.
func (a *Accounts) earliest(ctx context.Context) (at time.Time, some bool, err error) {
	var ms sql.NullInt64
	err = a.db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.QueryRow("SELECT MIN(next_at) FROM dispatches WHERE state = 'queued'").Scan(&ms)
	})
	if err != nil {
		return at, false, fmt.Errorf("look for deliveries: %w", err)
	}
	return time.UnixMilli(ms.Int64), ms.Valid, nil
}

// claim takes up to n dispatches that are due, the longest waiting first. Two nodes never hold the same one.
func (a *Accounts) claim(ctx context.Context, n int) (all []dispatch, err error) {
	now := a.Now()
	err = a.db.Write(ctx, func(tx *sqldb.Tx) error {
		all = nil
		skip := ""
		if tx.Dialect() == sqldb.Postgres {
			skip = " FOR UPDATE SKIP LOCKED"
		}
		rows, err := tx.Query(`WITH due AS MATERIALIZED (SELECT provider, delivery, workspace FROM dispatches WHERE state = 'queued' AND next_at <= $1
			ORDER BY next_at, created_at LIMIT $3`+skip+`)
			UPDATE dispatches SET attempts = attempts + 1, next_at = $2
			WHERE (provider, delivery, workspace) IN (SELECT provider, delivery, workspace FROM due)
			RETURNING provider, delivery, workspace, kind, scope, account, event, installation, bytes, attempts, created_at`,
			now.UnixMilli(), now.Add(passLease).UnixMilli(), n)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var d dispatch
			var created int64
			err := rows.Scan(&d.provider, &d.delivery, &d.workspace, &d.kind, &d.scope, &d.account, &d.event, &d.installation, &d.bytes, &d.attempt, &created)
			if err != nil {
				return err
			}
			d.created = time.UnixMilli(created)
			all = append(all, d)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	return all, nil
}

// unpack is a delivery for its workspace, if that still works with the installation.
func (a *Accounts) unpack(ctx context.Context, d dispatch) (p Passing, err error) {
	err = a.db.Snapshot(ctx, func(tx *sqldb.Tx) error {
		var n, asleep int
		err := tx.QueryRow(`SELECT count(*), count(i.suspended_at) FROM installation_bindings b
			JOIN installations i ON i.provider = b.provider AND i.id = b.installation AND i.deleted_at IS NULL
			WHERE b.provider = $1 AND b.installation = $2 AND b.workspace = $3`, d.provider, d.installation, d.workspace).Scan(&n, &asleep)
		if err != nil {
			return fmt.Errorf("find binding: %w", err)
		}
		w, found, err := workspace.At(tx, d.scope)
		switch {
		case err != nil:
			return err
		case n == 0 || !found || w.ID != d.workspace || w.Suspended:
			return errGone
		case asleep > 0:
			// That it was woken may only not have been told yet.
			return fault.New("installation_suspended", "The installation is suspended.", "")
		}
		p = Passing{Provider: d.provider, Delivery: d.delivery, Event: d.event, Scope: d.scope, Owner: w.Owner}
		p.Body, err = a.readBody(tx, d)
		return err
	})
	return p, err
}

// finish forgets a dispatch that is done, whoever did it.
func (a *Accounts) finish(ctx context.Context, d dispatch) error {
	return a.db.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec("DELETE FROM dispatches WHERE provider = $1 AND delivery = $2 AND workspace = $3", d.provider, d.delivery, d.workspace)
		if err != nil {
			return fmt.Errorf("finish delivery: %w", err)
		}
		return dropBody(tx, d)
	})
}

// lockDelivery lets those who keep or drop the body of a delivery go one after the other.
func lockDelivery(tx *sqldb.Tx, provider, id string) error {
	lock := ""
	if tx.Dialect() == sqldb.Postgres {
		lock = " FOR UPDATE"
	}
	var one int
	err := tx.QueryRow("SELECT 1 FROM deliveries WHERE provider = $1 AND id = $2"+lock, provider, id).Scan(&one)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("lock delivery: %w", err)
	}
	return nil
}

// dropBody deletes what was told once nobody waits for it.
func dropBody(tx *sqldb.Tx, d dispatch) error {
	if err := lockDelivery(tx, d.provider, d.delivery); err != nil {
		return err
	}
	_, err := tx.Exec(`DELETE FROM delivery_bodies WHERE provider = $1 AND delivery = $2
		AND NOT EXISTS (SELECT 1 FROM dispatches WHERE provider = $1 AND delivery = $2 AND state = 'queued')`, d.provider, d.delivery)
	if err != nil {
		return fmt.Errorf("drop delivery: %w", err)
	}
	return nil
}

// later puts a dispatch back. Who lost the lease changes nothing.
func (a *Accounts) later(ctx context.Context, d dispatch, next time.Time) error {
	return a.db.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(`UPDATE dispatches SET next_at = $5 WHERE provider = $1 AND delivery = $2 AND workspace = $3 AND state = 'queued' AND attempts = $4`,
			d.provider, d.delivery, d.workspace, d.attempt, next.UnixMilli())
		return err
	})
}

// giveUp ends a dispatch that cannot be done, and tells the workspace. What the provider told is kept no longer: it can be asked to tell it
// again.
func (a *Accounts) giveUp(ctx context.Context, d dispatch, why error) error {
	a.Log.Error("delivery given up", "delivery", d.delivery, "kind", d.kind, "scope", d.scope, "attempt", d.attempt, "error", why)
	return a.db.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(`UPDATE dispatches SET state = 'dead', trouble = $5 WHERE provider = $1 AND delivery = $2 AND workspace = $3 AND state = 'queued' AND attempts = $4`,
			d.provider, d.delivery, d.workspace, d.attempt, fault.From(why).Type)
		if err != nil || n == 0 {
			return err
		}
		if err := dropBody(tx, d); err != nil {
			return err
		}
		return a.Audit.Append(ctx, tx, audit.Event{
			Actor: fromProvider(d.provider), Action: "delivery.failed", Target: audit.Target{Kind: "delivery", ID: d.delivery}, Scope: d.scope, Outcome: audit.Error,
		})
	})
}
