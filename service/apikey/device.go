package apikey

import (
	"cmp"
	"context"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/workspace"
)

// ForDevice makes the key that somebody has approved for a device, in the transaction that hands it out. A person has so many of them in
// one workspace: then the one that was unused for longest gives way, since not everybody who approves one may end one.
func (a *Keys) ForDevice(ctx context.Context, tx *sqldb.Tx, by account.Account, in workspace.Membership, d Draft) (k Key, value string, err error) {
	now := a.Now()
	if err := d.check(now); err != nil {
		return k, "", err
	}
	if most := now.Add(DeviceLife); d.expiry(now).After(most) {
		d.ExpiresAt = &most
	}
	k = Key{
		Kind: Device, Name: d.Name, Scopes: inOrder(d.Scopes), Workspace: in.ID, Scope: in.Scope, Creator: by.ID, ExpiresAt: iso.At(d.expiry(now)),
	}
	gone, err := giveWay(tx, now, k)
	if err != nil {
		return k, "", err
	}
	value, err = k.insert(tx, now, "")
	var events []audit.Event
	for _, id := range append(gone, k.ID) {
		events = append(events, audit.Event{Actor: by.Actor(), Action: "key.revoked", Target: audit.Target{Kind: "key", ID: id}, Scope: in.Scope})
	}
	events[len(gone)].Action = "key.created"
	return k, value, cmp.Or(err, a.Audit.Append(ctx, tx, events...))
}

// giveWay ends the keys of a person's devices that are too many beside another one, and says which.
func giveWay(tx *sqldb.Tx, now time.Time, k Key) ([]string, error) {
	return sqldb.Collect(tx, sqldb.Column[string], `UPDATE api_keys SET revoked_at = $4 WHERE id IN (SELECT id FROM api_keys
		WHERE creator = $1 AND workspace = $2 AND kind = $3 AND revoked_at IS NULL AND expires_at > $4
		ORDER BY COALESCE(last_used_at, created_at) DESC, id DESC LIMIT 1000 OFFSET $5) RETURNING id`,
		k.Creator, k.Workspace, Device, now.UnixMilli(), maxPaired-1)
}

// Withdraw ends a key that may have reached nobody, or another than it was meant for. One that has ended stays as it is.
func (a *Keys) Withdraw(ctx context.Context, tx *sqldb.Tx, id string) error {
	k, found, err := sqldb.First(tx, "find key", scan, "SELECT "+columns+" FROM api_keys k WHERE k.id = $1", id)
	if err != nil || !found {
		return err
	}
	n, err := revoke(tx, a.Now(), "id = $2", id)
	if err != nil || n == 0 {
		return err
	}
	return a.Audit.Append(ctx, tx, audit.Event{
		Actor: audit.Actor{Kind: audit.Anonymous}, Action: "key.withdrawn", Target: audit.Target{Kind: "key", ID: id}, Scope: k.Scope,
	})
}
