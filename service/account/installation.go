package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/workspace"
)

// The types of refusals that have to do with the workspace of an installation.
const (
	Forbidden          = "forbidden"
	WorkspaceNotFound  = "workspace_not_found"
	WorkspaceSuspended = "workspace_suspended"
)

// Installed is how a visit to a provider's installation page ended.
type Installed struct {
	Pending  bool   // an owner at the provider has yet to approve
	Scope    string // the workspace; empty: the provider only told of a change
	ReturnTo string
}

// StartInstall sends an administrator of a workspace to the provider, to choose the repositories that the workspace may
// work with. The person needs a connection of their own: it is what proves the installation when they come back.
func (a *Accounts) StartInstall(ctx context.Context, who Who, provider string, m workspace.Membership, returnTo string) (Redirect, error) {
	if err := knownProvider(provider); err != nil {
		return Redirect{}, err
	}
	if err := a.NeedFresh(who); err != nil {
		return Redirect{}, err
	}
	state := random()
	to := Redirect{Browser: random(), Life: installLife}
	j := journey{Provider: provider, Browser: fingerprint(to.Browser), ReturnTo: returnTo, Scope: m.Scope}
	var app github.App
	err := a.db.Write(ctx, func(tx *sqldb.Tx) error {
		s, err := readSetting(tx, provider, "")
		if err != nil {
			return err
		}
		if app = s.app; s.version == 0 {
			return notConfigured()
		}
		if _, err := mayInstall(tx, who, m.Scope); err != nil {
			return err
		}
		if err := a.needConnection(tx, who, provider, m.Scope); err != nil {
			return err
		}
		return a.depart(tx, state, forInstall, j, &who, installLife)
	})
	if err != nil {
		return Redirect{}, err
	}
	to.URL = a.github.InstallURL(app, state)
	return to, nil
}

// mayInstall is the membership of an administrator of a workspace.
func mayInstall(tx *sqldb.Tx, who Who, scope string) (workspace.Membership, error) {
	m, found, err := workspace.Find(tx, who.Account.ID, scope)
	switch {
	case err != nil:
		return m, err
	case !found:
		return m, fault.New(WorkspaceNotFound, "There is no such workspace.", "")
	case m.Suspended:
		return m, fault.New(WorkspaceSuspended, "This workspace is suspended.", "Ask the people who run this service.")
	case m.Role != workspace.Owner && m.Role != workspace.Admin:
		return m, fault.New(Forbidden, "Your role in this workspace does not allow this.", "").With("role", workspace.Admin)
	}
	return m, nil
}

func (a *Accounts) needConnection(tx *sqldb.Tx, who Who, provider, scope string) error {
	var n int
	err := tx.QueryRow("SELECT count(*) FROM identities WHERE account = $1 AND provider = $2 AND status = $3", who.Account.ID, provider, connected).Scan(&n)
	if err != nil {
		return fmt.Errorf("find connection: %w", err)
	}
	if n == 0 {
		return a.connectionRequired(provider, "/api/auth/oauth/"+provider+"/install?workspace="+strings.TrimPrefix(scope, "users/"))
	}
	return nil
}

// What a provider says has happened on its installation page.
const (
	installDone    = "install"
	installChanged = "update"
	installAsked   = "request"
)

// FinishInstall binds an installation to the workspace that asked for it. The id is anybody's to write: it counts only once
// the person's own token shows the installation, and the app knows it as the same. A change that was begun at the provider
// comes without a state, and binds nothing.
func (a *Accounts) FinishInstall(ctx context.Context, who Who, provider, installationID, action, state, browser string) (Installed, error) {
	if err := knownProvider(provider); err != nil {
		return Installed{}, err
	}
	if action != installDone && action != installChanged && action != installAsked {
		return Installed{}, fields{{Field: "setup_action", Type: invalid}}.refusal()
	}
	if state == "" && action == installChanged {
		return a.noteInstallation(ctx, who, provider, installationID)
	}
	j, err := a.returnFromInstall(ctx, arrival{provider, state, browser, &who})
	if err != nil {
		return Installed{}, err
	}
	done := Installed{Scope: j.Scope, ReturnTo: j.ReturnTo}
	if action == installAsked {
		done.Pending = true
		return done, a.bind(ctx, who, j, nil)
	}
	i, err := a.verifyInstallation(ctx, who, provider, installationID)
	if err != nil {
		a.refused(ctx, "installation.refused")
		return Installed{}, err
	}
	return done, a.bind(ctx, who, j, &i)
}

func (a *Accounts) returnFromInstall(ctx context.Context, at arrival) (j journey, err error) {
	var ok bool
	err = a.db.Write(ctx, func(tx *sqldb.Tx) (err error) {
		j, ok, err = a.arrive(tx, forInstall, at)
		return err
	})
	if err == nil && !ok {
		err = invalidState()
	}
	return j, err
}

// verifyInstallation believes an id that came with a redirect, or refuses it.
func (a *Accounts) verifyInstallation(ctx context.Context, who Who, provider, installationID string) (github.Installation, error) {
	id, err := github.ParseInstallationID(installationID)
	if err != nil {
		return github.Installation{}, err
	}
	app, err := a.app(ctx, provider)
	if err != nil {
		return github.Installation{}, err
	}
	token, err := a.ProviderToken(ctx, who.Account.ID, provider)
	if err != nil {
		return github.Installation{}, err
	}
	i, _, err := a.github.VerifyInstallation(ctx, app, token, id)
	if errors.Is(err, github.ErrUnauthorized) {
		return i, cmp.Or(a.dropToken(ctx, who.Account.ID, provider, token), a.connectionRequired(provider, ""))
	}
	return i, err
}

// dropToken gives up the connection whose token the provider refused, if that is still the one it has.
func (a *Accounts) dropToken(ctx context.Context, account, provider, token string) error {
	c, err := a.connection(ctx, account, provider)
	if fault.Is(err, ProviderConnectionRequired) {
		return nil
	}
	if err != nil || c.Access != token {
		return err
	}
	return a.loseGrant(ctx, c)
}

// noteInstallation takes over a change that somebody made at the provider.
func (a *Accounts) noteInstallation(ctx context.Context, who Who, provider, installationID string) (Installed, error) {
	i, err := a.verifyInstallation(ctx, who, provider, installationID)
	if err != nil {
		return Installed{}, err
	}
	return Installed{}, a.db.Write(ctx, func(tx *sqldb.Tx) error { return a.storeInstallation(tx, provider, i) })
}
