package installation

import (
	"context"

	"svc.dev/svc/internal/sqldb"
)

// SetMostWaiting bounds how many deliveries wait, of one installation and of all.
func (a *Installations) SetMostWaiting(one, all int64) {
	a.mostOfOne.count, a.mostOfAll.count = one, all
}

// WakeCourier lets deliveries that are due by the test's clock be passed on.
func (a *Installations) WakeCourier() { a.queue.Wake() }

// Bound is an installation that a workspace works with, as it is stored.
type Bound struct {
	ID        int64 // 0: an owner at the provider has yet to approve
	Account   string
	Selection string
	Suspended bool
	By        string
}

// List lists what a workspace works with, the oldest first.
func (a *Installations) List(ctx context.Context, workspace string) (all []Bound, err error) {
	err = a.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		all, err = sqldb.Collect(tx, func(row sqldb.Row) (b Bound, err error) {
			return b, row.Scan(&b.ID, &b.Account, &b.Selection, &b.Suspended, &b.By)
		}, `SELECT b.installation, COALESCE(i.account_login, ''), COALESCE(i.selection, ''), i.suspended_at IS NOT NULL, b.account
			FROM installation_bindings b LEFT JOIN installations i ON i.provider = b.provider AND i.id = b.installation
			WHERE b.workspace = $1 ORDER BY b.created_at, b.installation`, workspace)
		return err
	})
	return all, err
}
