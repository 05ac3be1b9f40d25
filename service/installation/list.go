package installation

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/workspace"
)

// The states of what a workspace works with at a provider.
const (
	Ready     = "ready"
	Suspended = "suspended"        // the provider lets nobody through it for now
	Pending   = "pending_approval" // an owner at the provider has yet to approve
)

// Installation is one that a workspace works with, or waits for.
type Installation struct {
	Provider string     `json:"provider"`
	ID       int64      `json:"id,omitzero"`      // absent: it is waited for
	Account  string     `json:"account,omitzero"` // whose repositories it reaches, by the provider's name of them
	State    string     `json:"state" enum:"ready suspended pending_approval"`
	At       iso.Moment `json:"at"` // since when
}

// Of are the installations that the workspace of a scope works with, the first first.
func (a *Installations) Of(ctx context.Context, scope string) ([]Installation, error) {
	all, err := sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) ([]Installation, error) {
		w, found, err := workspace.At(tx, scope)
		if err != nil || !found {
			return nil, err
		}
		return sqldb.Collect(tx, scanInstallation, `SELECT b.provider, b.installation, COALESCE(i.account_login, ''), i.suspended_at IS NOT NULL, b.created_at
			FROM installation_bindings b LEFT JOIN installations i ON i.provider = b.provider AND i.id = b.installation
			WHERE b.workspace = $1 ORDER BY b.created_at, b.installation`, w.ID)
	})
	if err != nil {
		return nil, fmt.Errorf("list installations: %w", err)
	}
	return all, nil
}

func scanInstallation(row sqldb.Row) (i Installation, err error) {
	var suspended bool
	err = row.Scan(&i.Provider, &i.ID, &i.Account, &suspended, sqldb.Time(&i.At.Time))
	switch {
	case i.ID == 0:
		i.State = Pending
	case suspended:
		i.State = Suspended
	default:
		i.State = Ready
	}
	return i, err
}
