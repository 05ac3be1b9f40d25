package account

import (
	"context"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
)

// The types of refusals that have to do with providers. Those of the protocol itself stand in package github.
const (
	UnknownProvider            = "unknown_provider"
	ProviderNotConfigured      = "provider_not_configured"
	ProviderAlreadyConfigured  = "provider_already_configured"
	ProviderConnectionRequired = "provider_connection_required"
	ManifestOwnerMismatch      = "manifest_owner_mismatch"
	AdminRequired              = "admin_required"
	InvalidSignature           = "invalid_signature"
)

// The states of a provider.
const (
	ProviderNone       = "none"
	ProviderExchanging = "exchanging" // an app may exist at the provider whose credentials never arrived
	ProviderConfigured = "configured"
)

// Provider is a service that vouches for people, without anything secret.
type Provider struct {
	Provider           string
	Configured         bool // there is an app, also while another one is tried
	Login              bool // people can sign in by it
	MissingPermissions []string
	InstallURL         string // empty: there is nothing to install
	State              string // ProviderNone, ProviderExchanging or ProviderConfigured

	AppName      string
	Slug         string
	Owner        string
	Organization bool // the owner is one
	PageURL      string
	ConfiguredAt time.Time // zero: never

	// Attempt is the last one to make an app, if it did not end well.
	Attempt Attempt
}

// Attempt is an app that was asked for. Its zero value is none.
type Attempt struct {
	Outcome string // ProviderExchanging, or the type of the refusal
	Name    string // of the app as it was asked for; its owner may have chosen another
	Wanted  string // the owner that was asked for; empty: the person's own account
	Got     string // the owner that it has, if that is another
	At      time.Time
}

// Provider is what may be known of a provider.
func (a *Accounts) Provider(ctx context.Context, name string) (Provider, error) {
	if err := knownProvider(name); err != nil {
		return Provider{}, err
	}
	s, err := a.setting(ctx, name)
	if err != nil {
		return Provider{}, err
	}
	return a.shown(name, s), nil
}

func (a *Accounts) setting(ctx context.Context, name string) (s setting, err error) {
	err = a.db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		s, err = readSetting(tx, name, "")
		return err
	})
	return s, err
}

// configured is a provider that people can be sent to.
func (a *Accounts) configured(ctx context.Context, name string) (s setting, err error) {
	err = a.db.Snapshot(ctx, func(tx *sqldb.Tx) (err error) {
		s, err = a.configuredIn(tx, name)
		return err
	})
	return s, err
}

func (a *Accounts) shown(name string, s setting) Provider {
	p := Provider{Provider: name, State: ProviderNone, MissingPermissions: []string{}, Attempt: s.attempt}
	if s.version > 0 {
		p.State, p.Configured, p.Login = ProviderConfigured, true, true
		p.InstallURL = a.route(name, "install")
		p.MissingPermissions = append(p.MissingPermissions, s.missing()...)
		p.AppName, p.Slug, p.Owner, p.PageURL = s.app.Name, s.app.Slug, s.app.Owner, s.app.HTMLURL
		p.Organization = s.app.OwnerType == "Organization"
		p.ConfiguredAt = time.UnixMilli(s.configuredAt)
	}
	if s.attempt.Outcome == ProviderExchanging {
		p.State = ProviderExchanging
	}
	return p
}

// knownProvider refuses every name but the one there is.
func knownProvider(name string) error {
	if name == byGitHub {
		return nil
	}
	return fault.New(UnknownProvider, "There is no such sign-in provider.", "")
}

func notConfigured() error {
	return fault.New(ProviderNotConfigured, "GitHub login is not configured. An administrator must approve the app manifest.", "")
}

// route is an address of ours that has to do with a provider.
func (a *Accounts) route(provider, name string) string {
	return a.Platform + "/api/auth/oauth/" + provider + "/" + name
}
