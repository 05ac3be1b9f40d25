package account

import (
	"context"
	"encoding/json"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account/github"
)

// ManifestForm is what the browser of an administrator posts to the provider, as the field manifest. Browser is the value
// of the cookie by which it is recognised when it comes back; the cookie lives as long as Life.
type ManifestForm struct {
	Action   string
	Manifest string
	Browser  string
	Life     time.Duration
}

// StartManifest asks a provider for an app of this service, by a form. An empty owner is the person's own account there.
// Only an administrator who proved a short while ago who they are may ask, and an app that is there gives way only to
// replace.
func (a *Accounts) StartManifest(ctx context.Context, who Who, provider, owner string, replace bool) (ManifestForm, error) {
	if err := a.mayConfigure(ctx, who, provider); err != nil {
		return ManifestForm{}, err
	}
	if owner != "" && !github.ValidOwner(owner) {
		return ManifestForm{}, fields{{Field: "owner", Type: invalid}}.refusal()
	}
	manifest, err := github.Manifest(a.Brand, a.Platform)
	if err != nil {
		return ManifestForm{}, err
	}
	state := random()
	form := ManifestForm{Manifest: string(manifest), Browser: random(), Life: manifestLife}
	if form.Action, err = a.github.ManifestURL(owner, state); err != nil {
		return ManifestForm{}, err
	}
	j := journey{Provider: provider, Browser: fingerprint(form.Browser), Owner: owner, App: nameOf(manifest), Replace: replace}
	err = a.db.Write(ctx, func(tx *sqldb.Tx) error {
		s, err := readSetting(tx, provider, "")
		if err != nil {
			return err
		}
		if s.version > 0 && !replace {
			return alreadyConfigured()
		}
		j.Version = s.version
		return a.depart(tx, state, forManifest, j, &who, manifestLife)
	})
	return form, err
}

func (a *Accounts) mayConfigure(ctx context.Context, who Who, provider string) error {
	if err := knownProvider(provider); err != nil {
		return err
	}
	if who.Account.Role != RoleAdmin {
		a.refused(ctx, "provider.refused")
		return adminRequired()
	}
	return a.NeedFresh(who)
}

// nameOf is how the app is to be called.
func nameOf(manifest []byte) string {
	var m struct{ Name string }
	_ = json.Unmarshal(manifest, &m) // it was made a moment ago
	return m.Name
}

func adminRequired() error {
	return fault.New(AdminRequired, "Only an administrator of this service may do this.", "")
}

func alreadyConfigured() error {
	return fault.New(ProviderAlreadyConfigured, "GitHub login is configured already.", "Replace the app if that is what you want.")
}
