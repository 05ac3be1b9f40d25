package account

import (
	"context"
	"fmt"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/outbox"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/workspace"
)

// claimed is a dispatch that is this node's to try.
type claimed = outbox.Claim[dispatch]

var dispatches = outbox.Table[dispatch]{
	Name: "dispatches", Rows: "deliveries",
	Key: []string{"provider", "delivery", "workspace"}, KeyOf: func(d dispatch) []any { return []any{d.provider, d.delivery, d.workspace} },
	Columns: []string{"provider", "delivery", "workspace", "kind", "scope", "account", "event", "installation", "bytes"},
	Fields: func(d *dispatch) []any {
		return []any{&d.provider, &d.delivery, &d.workspace, &d.kind, &d.scope, &d.account, &d.event, &d.installation, &d.bytes}
	},
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
func (d dispatch) finish(tx *sqldb.Tx) error {
	_, err := tx.Exec("DELETE FROM dispatches WHERE provider = $1 AND delivery = $2 AND workspace = $3", d.provider, d.delivery, d.workspace)
	if err != nil {
		return fmt.Errorf("finish delivery: %w", err)
	}
	return dropBody(tx, d)
}

// lockDelivery lets those who keep or drop the body of a delivery go one after the other.
func lockDelivery(tx *sqldb.Tx, provider, id string) error {
	if err := tx.Lock("SELECT 1 FROM deliveries WHERE provider = $1 AND id = $2", provider, id); err != nil {
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

// giveUp ends a dispatch that cannot be done, and tells the workspace. What the provider told is kept no longer: it can be asked to tell it
// again.
func (a *Accounts) giveUp(ctx context.Context, c claimed, why error) outbox.Verdict {
	d := c.Row
	a.Log.Error("delivery given up", "delivery", d.delivery, "kind", d.kind, "scope", d.scope, "attempt", c.Attempt, "error", why)
	return outbox.Dead(func(tx *sqldb.Tx) error {
		_, err := tx.Exec("UPDATE dispatches SET trouble = $4 WHERE provider = $1 AND delivery = $2 AND workspace = $3",
			d.provider, d.delivery, d.workspace, fault.From(why).Type)
		if err != nil {
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
