package account

import (
	"context"
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/audit"
)

// Installation is the app on an account of the provider, as a workspace works with it.
type Installation struct {
	Provider  string
	ID        int64  // 0: an owner at the provider has yet to approve
	Account   string // login of whom it is on
	Selection string // of repositories: all or selected
	Suspended bool
	BoundBy   string // account
	BoundAt   time.Time
}

// Pending reports whether the installation waits for an owner at the provider.
func (i Installation) Pending() bool { return i.ID == 0 }

// bind lets a workspace work with an installation, or with none yet.
func (a *Accounts) bind(ctx context.Context, who Who, j journey, i *github.Installation) error {
	return a.db.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := acting(tx, who); err != nil {
			return err
		}
		return a.bindIn(ctx, tx, who, j, i)
	})
}

func (a *Accounts) bindIn(ctx context.Context, tx *sqldb.Tx, who Who, j journey, i *github.Installation) error {
	m, err := mayInstall(tx, who, j.Scope)
	if err != nil {
		return err
	}
	id, action := int64(0), "installation.requested"
	if i != nil {
		id, action = i.ID, "installation.bound"
		if err := a.storeInstallation(tx, j.Provider, *i); err != nil {
			return err
		}
		// What was waited for has come, or something in its place.
		if _, err := tx.Exec("DELETE FROM installation_bindings WHERE workspace = $1 AND provider = $2 AND installation = 0", m.ID, j.Provider); err != nil {
			return fmt.Errorf("bind installation: %w", err)
		}
	}
	_, err = tx.Exec(`INSERT INTO installation_bindings (workspace, provider, installation, scope, account, created_at)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`, m.ID, j.Provider, id, m.Scope, who.Account.ID, a.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("bind installation: %w", err)
	}
	return a.Audit.Append(ctx, tx, audit.Event{Actor: who.Account.Actor(), Action: action, Target: installationTarget(id), Scope: m.Scope})
}

func installationTarget(id int64) audit.Target {
	return audit.Target{Kind: "installation", ID: fmt.Sprint(id)}
}

// storeInstallation takes over what the provider itself says of an installation.
func (a *Accounts) storeInstallation(tx *sqldb.Tx, provider string, i github.Installation) error {
	_, err := tx.Exec(`INSERT INTO installations (provider, id, app, account_id, account_login, account_type, selection, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
		ON CONFLICT (provider, id) DO UPDATE SET app = excluded.app, account_id = excluded.account_id, account_login = excluded.account_login,
			account_type = excluded.account_type, selection = excluded.selection, updated_at = excluded.updated_at, suspended_at = NULL, deleted_at = NULL`,
		provider, i.ID, i.AppID, i.Account.ID, i.Account.Login, i.Account.Type, i.Selection, a.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("store installation: %w", err)
	}
	return nil
}

func scanInstallation(row sqldb.Row) (i Installation, err error) {
	var at int64
	err = row.Scan(&i.Provider, &i.ID, &i.Account, &i.Selection, &i.Suspended, &i.BoundBy, &at)
	i.BoundAt = time.UnixMilli(at)
	return i, err
}

// Installations lists what a workspace works with, the oldest first.
func (a *Accounts) Installations(ctx context.Context, workspaceID string) (all []Installation, err error) {
	err = a.db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		all, err = sqldb.Collect(tx, scanInstallation, `SELECT b.provider, b.installation, COALESCE(i.account_login, ''), COALESCE(i.selection, ''), i.suspended_at IS NOT NULL,
			b.account, b.created_at FROM installation_bindings b LEFT JOIN installations i ON i.provider = b.provider AND i.id = b.installation
			WHERE b.workspace = $1 ORDER BY b.created_at, b.installation`, workspaceID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list installations: %w", err)
	}
	return all, err
}
