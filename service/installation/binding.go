package installation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/workspace"
)

// bind lets a workspace work with an installation, or with none yet.
func (a *Installations) bind(ctx context.Context, who account.Who, j journey, i *github.Installation) error {
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := account.Acting(tx, who); err != nil {
			return err
		}
		return a.bindIn(ctx, tx, who, j, i)
	})
}

func (a *Installations) bindIn(ctx context.Context, tx *sqldb.Tx, who account.Who, j journey, i *github.Installation) error {
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
		if err := tx.Do("bind installation", "DELETE FROM installation_bindings WHERE workspace = $1 AND provider = $2 AND installation = 0", m.ID, j.Provider); err != nil {
			return err
		}
	}
	if err := tx.Do("bind installation", `INSERT INTO installation_bindings (workspace, provider, installation, scope, account, created_at)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`, m.ID, j.Provider, id, m.Scope, who.Account.ID, a.Now().UnixMilli()); err != nil {
		return err
	}
	return a.Audit.Append(ctx, tx, audit.Event{Actor: who.Account.Actor(), Action: action, Target: installationTarget(id), Scope: m.Scope})
}

func installationTarget(id int64) audit.Target {
	return audit.Target{Kind: "installation", ID: fmt.Sprint(id)}
}

// storeInstallation takes over what the provider itself says of an installation.
func (a *Installations) storeInstallation(tx *sqldb.Tx, provider string, i github.Installation) error {
	return tx.Do("store installation", `INSERT INTO installations (provider, id, app, account_id, account_login, account_type, selection, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
		ON CONFLICT (provider, id) DO UPDATE SET app = excluded.app, account_id = excluded.account_id, account_login = excluded.account_login,
			account_type = excluded.account_type, selection = excluded.selection, updated_at = excluded.updated_at, suspended_at = NULL, deleted_at = NULL`,
		provider, i.ID, i.AppID, i.Account.ID, i.Account.Login, i.Account.Type, i.Selection, a.Now().UnixMilli())
}

// Unbind takes from a workspace what it came to work with since a time, and says how much that was. What still waits for an
// installation that is bound no more is dropped when its turn comes.
func Unbind(tx *sqldb.Tx, workspace string, since time.Time) (int64, error) {
	n, err := tx.Exec("DELETE FROM installation_bindings WHERE workspace = $1 AND created_at >= $2", workspace, since.UnixMilli())
	if err != nil {
		return 0, fmt.Errorf("unbind installations: %w", err)
	}
	return n, nil
}

// RepositoryToken is a token that reads one repository of the provider and nothing else, through an installation that the
// workspace works with. A workspace that works with none is told where to get one.
func (a *Installations) RepositoryToken(ctx context.Context, provider, address string, installation int64, owner, name string) (string, error) {
	all, err := a.reachable(ctx, provider, address)
	if err != nil {
		return "", err
	}
	app, err := a.Apps.App(ctx, provider)
	if err != nil {
		return "", err
	}
	if !slices.Contains(all, reached{id: installation}) {
		return "", fault.New(github.NotYours, "The workspace does not work with this installation.", "Install the app for this workspace, then come back.")
	}
	token, err := a.GitHub.RepositoryToken(ctx, app, installation, owner, name, map[string]string{"contents": "read", "metadata": "read"})
	if errors.Is(err, github.ErrNotGranted) || errors.Is(err, github.ErrNotFound) || errors.Is(err, github.ErrSuspended) {
		return "", fault.New(github.NotYours, "This installation does not reach the repository.",
			"Choose the repository on the installation's page at the provider, then come back.").Because(err)
	}
	return token, err
}

// Need refuses a workspace that works with no installation, as RepositoryToken does.
func (a *Installations) Need(ctx context.Context, provider, address string) error {
	_, err := a.reachable(ctx, provider, address)
	return err
}

// reached is an installation that a workspace works with.
type reached struct {
	id     int64
	asleep bool
}

// reachable are the installations of a provider that the workspace of a scope works with; none is a refusal.
func (a *Installations) reachable(ctx context.Context, provider, address string) ([]reached, error) {
	if err := account.KnownProvider(provider); err != nil {
		return nil, err
	}
	all, err := sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) ([]reached, error) {
		w, found, err := workspace.At(tx, address)
		if err != nil || !found {
			return nil, err
		}
		return sqldb.Collect(tx, scanReached, `SELECT b.installation, i.suspended_at IS NOT NULL FROM installation_bindings b
			LEFT JOIN installations i ON i.provider = b.provider AND i.id = b.installation
			WHERE b.workspace = $1 AND b.provider = $2 AND b.installation <> 0`, w.ID, provider)
	})
	if err != nil {
		return nil, fmt.Errorf("list installations: %w", err)
	}
	if len(all) == 0 {
		return nil, a.installationRequired(provider, address)
	}
	return all, nil
}

func scanReached(row sqldb.Row) (r reached, err error) {
	err = row.Scan(&r.id, &r.asleep)
	return r, err
}

// installationRequired tells where a workspace gets an installation; whoever has no connection yet is led to make one.
func (a *Installations) installationRequired(provider, address string) error {
	to := account.Route(a.Platform, provider, "install")
	if business, found := strings.CutPrefix(address, "users/"); found {
		to += "?workspace=" + business
	}
	return fault.New(fault.ProviderConnectionRequired, "This workspace has no connection to the provider.", "Install the app for it first.").With("connectUrl", to)
}

// Forget deletes the bindings of a workspace that is being erased. What is gone already is no error.
func (a *Installations) Forget(ctx context.Context, workspace string) error {
	return a.DB.Do(ctx, "forget bindings", "DELETE FROM installation_bindings WHERE workspace = $1", workspace)
}
