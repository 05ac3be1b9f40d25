// Package installation is where the app of the service is installed, which workspaces work with it there, and what the provider
// tells of it: a delivery is kept, and passed on to every workspace that it is for.
package installation

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/app"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/workspace"
)

// Config is what installations need. DB, Secrets, Audit, Accounts, Apps and GitHub are required.
type Config struct {
	DB       *sqldb.DB
	Secrets  *secret.Store
	Audit    *audit.Log
	Accounts *account.Accounts
	Apps     *app.Apps
	GitHub   *github.Client
	// Platform is the address of the account surface, without a slash at its end.
	Platform string
	// Keep is how long it stays known what was delivered, and what was installed once. Defaults to 30 days.
	Keep time.Duration
	// KeepPassed is how long it stays known what was passed on to workspaces. Defaults to 30 days.
	KeepPassed time.Duration
	// Memory is what deliveries take from while they are stored and passed on. Defaults to a budget of its own.
	Memory *memory.Budget
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log is told what no caller can be told. Defaults to slog.Default().
	Log *slog.Logger
}

// Installations are those of the app on accounts of the provider. Their tables are among those of account.Migrations.
type Installations struct {
	Config
	courier
}

// New is the installations of a database whose tables stand.
func New(c Config) *Installations {
	c.Keep, c.KeepPassed, c.Now, c.Log = cmp.Or(c.Keep, 30*day), cmp.Or(c.KeepPassed, 30*day), iso.Clock(c.Now), cmp.Or(c.Log, slog.Default())
	if c.Memory == nil {
		c.Memory = memory.New(0)
	}
	return &Installations{Config: c, courier: newCourier(c)}
}

const (
	day = 24 * time.Hour
	// life is how long somebody may stay away to install the app.
	life = time.Hour
)

// journey is somebody who went to a provider to install the app for a workspace.
type journey struct {
	account.Journey
	Scope string `json:"scope,omitempty"`
}

// Installed is how a visit to a provider's installation page ended.
type Installed struct {
	Pending  bool   // an owner at the provider has yet to approve
	Scope    string // the workspace; empty: the provider only told of a change
	ReturnTo string
}

// Start sends an administrator of a workspace to the provider, to choose the repositories that the workspace may
// work with. The person needs a connection of their own: it is what proves the installation when they come back.
func (a *Installations) Start(ctx context.Context, who account.Who, provider string, m workspace.Membership, returnTo string) (account.Redirect, error) {
	if err := account.KnownProvider(provider); err != nil {
		return account.Redirect{}, err
	}
	if err := a.Accounts.Sessions.NeedFresh(who); err != nil {
		return account.Redirect{}, err
	}
	state, browser := secret.Random(), secret.Random()
	j := journey{Journey: account.NewJourney(provider, browser), Scope: m.Scope}
	j.ReturnTo = returnTo
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (to account.Redirect, err error) {
		app, err := a.Apps.Known(tx, provider)
		if err != nil {
			return to, err
		}
		if _, err := mayInstall(tx, who, m.Scope); err != nil {
			return to, err
		}
		again := account.Route("", provider, "install") + "?workspace=" + strings.TrimPrefix(m.Scope, "users/")
		if returnTo != "" {
			again += "&returnTo=" + url.QueryEscape(returnTo)
		}
		if err := a.Accounts.Identities.NeedConnection(tx, who, provider, again); err != nil {
			return to, err
		}
		to = account.Redirect{URL: a.GitHub.InstallURL(app, state), Browser: browser, Life: life}
		return to, account.Depart(tx, a.Now(), account.State{Value: state, Purpose: account.ForInstall, Life: life, Who: &who}, &j)
	})
}

// mayInstall is the membership of an administrator of a workspace.
func mayInstall(tx *sqldb.Tx, who account.Who, scope string) (workspace.Membership, error) {
	m, found, err := workspace.Find(tx, who.Account.ID, scope)
	switch {
	case err != nil:
		return m, err
	case !found:
		return m, fault.New(fault.WorkspaceNotFound, "There is no such workspace.", "")
	case m.Suspended:
		return m, fault.New(fault.WorkspaceSuspended, "This workspace is suspended.", "Ask the people who run this service.")
	case m.Role != workspace.Owner && m.Role != workspace.Admin:
		return m, fault.New(fault.Forbidden, "Your role in this workspace does not allow this.", "").With("role", workspace.Admin)
	}
	return m, nil
}

// What a provider says has happened on its installation page.
const (
	installDone    = "install"
	installChanged = "update"
	installAsked   = "request"
)

// Finish binds an installation to the workspace that asked for it. The id is anybody's to write: it counts only once
// the person's own token shows the installation, and the app knows it as the same. A change that was begun at the provider
// comes without a state, and binds nothing.
func (a *Installations) Finish(ctx context.Context, who account.Who, provider, installationID, action, state, browser string) (Installed, error) {
	if err := account.KnownProvider(provider); err != nil {
		return Installed{}, err
	}
	if action != installDone && action != installChanged && action != installAsked {
		return Installed{}, strictjson.Refuse(strictjson.Field{Field: "setup_action", Type: strictjson.Invalid})
	}
	if state == "" && action == installChanged {
		i, err := a.verifyInstallation(ctx, who, provider, installationID)
		if err != nil {
			return Installed{}, err
		}
		return Installed{}, a.DB.Write(ctx, func(tx *sqldb.Tx) error { return a.storeInstallation(tx, provider, i) })
	}
	var j journey
	at := account.Arrival{Provider: provider, State: state, Browser: browser, Who: &who}
	if err := account.ComeBack(ctx, a.DB, a.Now(), account.ForInstall, at, &j); err != nil {
		return Installed{}, err
	}
	done := Installed{Scope: j.Scope, ReturnTo: j.ReturnTo}
	if action == installAsked {
		done.Pending = true
		return done, a.bind(ctx, who, j, nil)
	}
	i, err := a.verifyInstallation(ctx, who, provider, installationID)
	if err != nil {
		a.Audit.Refused(ctx, audit.Event{Action: "installation.refused", Outcome: audit.Deny})
		return Installed{}, err
	}
	return done, a.bind(ctx, who, j, &i)
}

// verifyInstallation believes an id that came with a redirect, or refuses it.
func (a *Installations) verifyInstallation(ctx context.Context, who account.Who, provider, installationID string) (github.Installation, error) {
	id, err := github.ParseInstallationID(installationID)
	if err != nil {
		return github.Installation{}, err
	}
	app, err := a.Apps.App(ctx, provider)
	if err != nil {
		return github.Installation{}, err
	}
	token, err := a.Accounts.Identities.Token(ctx, who.Account.ID, provider)
	if err != nil {
		return github.Installation{}, err
	}
	i, err := a.GitHub.VerifyInstallation(ctx, app, token, id)
	if errors.Is(err, github.ErrUnauthorized) {
		return i, a.Accounts.Identities.DropToken(ctx, who.Account.ID, provider, token)
	}
	return i, err
}
