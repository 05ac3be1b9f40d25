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

// List lists what a workspace works with, the oldest first.
func (a *Installations) List(ctx context.Context, workspace string) (all []Installation, err error) {
	err = a.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		all, err = installationsOf(tx, workspace)
		return err
	})
	return all, err
}
