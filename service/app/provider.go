package app

import (
	"context"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
)

// The types of refusals that this room raises. Those of the protocol itself stand in package github.
const (
	AlreadyConfigured = "provider_already_configured"
	OwnerMismatch     = "manifest_owner_mismatch"
)

// Exchanging is the outcome of an attempt whose end is not known: an app may exist at the provider whose credentials never
// arrived.
const Exchanging = "exchanging"

// Provider is a service that vouches for people, without anything secret.
type Provider struct {
	Provider           string
	Configured         bool // there is an app, also while another one is tried
	Login              bool // people can sign in by it
	MissingPermissions []string
	InstallURL         string // empty: there is nothing to install

	AppName      string
	Slug         string
	Owner        string
	Organization bool // the owner is one
	PageURL      string
	Web          string    // where the provider is, with or without an app
	ConfiguredAt time.Time // zero: never

	// Attempt is the last one to make an app, if it did not end well.
	Attempt Attempt
}

// Attempt is an app that was asked for. Its zero value is none.
type Attempt struct {
	Outcome string // Exchanging, or the type of the refusal
	Name    string // of the app as it was asked for; its owner may have chosen another
	Wanted  string // the owner that was asked for; empty: the person's own account
	Got     string // the owner that it has, if that is another
}

// Provider is what may be known of a provider.
func (a *Apps) Provider(ctx context.Context, name string) (Provider, error) {
	if err := account.KnownProvider(name); err != nil {
		return Provider{}, err
	}
	return sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (Provider, error) {
		s, err := readSetting(tx, name, "")
		return a.shown(name, s), err
	})
}

func (a *Apps) shown(name string, s setting) Provider {
	p := Provider{Provider: name, Web: a.GitHub.Origin(), MissingPermissions: []string{}, Attempt: s.attempt}
	if s.version > 0 {
		p.Configured, p.Login = true, true
		p.InstallURL = account.Route(a.Platform, name, "install")
		p.MissingPermissions = append(p.MissingPermissions, s.missing()...)
		p.AppName, p.Slug, p.Owner, p.PageURL = s.app.Name, s.app.Slug, s.app.Owner, s.app.HTMLURL
		p.Organization = s.app.OwnerType == "Organization"
		p.ConfiguredAt = time.UnixMilli(s.configuredAt)
	}
	return p
}
