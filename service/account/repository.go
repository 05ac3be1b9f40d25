package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account/github"
)

// RepositoryToken is a token that reads one repository of the provider and nothing else, through an installation that the
// workspace works with. A workspace that works with none is told where to get one.
func (a *Accounts) RepositoryToken(ctx context.Context, provider, address string, installation int64, owner, name string) (string, error) {
	if err := knownProvider(provider); err != nil {
		return "", err
	}
	all, err := a.reachable(ctx, provider, address)
	if err != nil {
		return "", err
	}
	app, err := a.app(ctx, provider)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(all, func(i Installation) bool { return i.ID == installation && !i.Suspended }) {
		return "", fault.New(github.NotYours, "The workspace does not work with this installation.", "Install the app for this workspace, then come back.")
	}
	t, err := a.github.RepositoryToken(ctx, app, installation, owner, name, map[string]string{"contents": "read", "metadata": "read"})
	if errors.Is(err, github.ErrNotGranted) || errors.Is(err, github.ErrNotFound) || errors.Is(err, github.ErrSuspended) {
		return "", fault.New(github.NotYours, "This installation does not reach the repository.",
			"Choose the repository on the installation's page at the provider, then come back.").Because(err)
	}
	return t.Token, err
}

// NeedInstallation refuses a workspace that works with no installation, as RepositoryToken does.
func (a *Accounts) NeedInstallation(ctx context.Context, provider, address string) error {
	if err := knownProvider(provider); err != nil {
		return err
	}
	_, err := a.reachable(ctx, provider, address)
	return err
}

// reachable are the installations of a provider that the workspace of a scope works with; none is a refusal.
func (a *Accounts) reachable(ctx context.Context, provider, address string) ([]Installation, error) {
	w, found, err := a.WorkspaceAt(ctx, address)
	if err != nil {
		return nil, err
	}
	var all []Installation
	if found {
		if all, err = a.Installations(ctx, w.ID); err != nil {
			return nil, err
		}
	}
	all = slices.DeleteFunc(all, func(i Installation) bool { return i.Provider != provider || i.Pending() })
	if len(all) == 0 {
		return nil, a.installationRequired(provider, address)
	}
	return all, nil
}

// installationRequired tells where a workspace gets an installation; whoever has no connection yet is led to make one.
func (a *Accounts) installationRequired(provider, address string) error {
	to := a.route(provider, "install")
	if business, found := strings.CutPrefix(address, "users/"); found {
		to += "?workspace=" + business
	}
	return fault.New(ProviderConnectionRequired, "This workspace has no connection to the provider.", "Install the app for it first.").With("connectUrl", to)
}

// ForgetWorkspace deletes the API keys and the bindings of a workspace that is being erased. What is gone already is no
// error.
func (a *Accounts) ForgetWorkspace(ctx context.Context, workspace string) error {
	err := a.db.Write(ctx, func(tx *sqldb.Tx) error {
		for _, table := range []string{"api_keys", "installation_bindings"} {
			if _, err := tx.Exec("DELETE FROM "+table+" WHERE workspace = $1", workspace); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget workspace: %w", err)
	}
	return nil
}
