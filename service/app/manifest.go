package app

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/strictjson"
)

// life is how long somebody may stay away to make an app.
const life = time.Hour

// ManifestsConfig is what making apps needs. All but Brand, Now and Log is required.
type ManifestsConfig struct {
	Apps     *Apps
	Accounts *account.Accounts
	Audit    *audit.Log
	// Brand is what apps are called after. Defaults to "svc".
	Brand string
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log is told what no caller can be told. Defaults to slog.Default().
	Log *slog.Logger
}

// Manifests are how apps come to be: a provider is asked for one by a manifest, and hands it over for a code.
type Manifests struct{ ManifestsConfig }

// NewManifests makes apps.
func NewManifests(c ManifestsConfig) *Manifests {
	c.Brand, c.Now, c.Log = cmp.Or(c.Brand, "svc"), iso.Clock(c.Now), cmp.Or(c.Log, slog.Default())
	return &Manifests{c}
}

// journey is an administrator who went to a provider to make an app.
type journey struct {
	account.Journey
	Owner   string `json:"owner,omitempty"`
	App     string `json:"app,omitempty"` // its name
	Replace bool   `json:"replace,omitempty"`
	Version int64  `json:"version,omitempty"` // of the app that it replaces
}

// ManifestForm is what the browser of an administrator posts to the provider, as the field manifest. Browser is the value
// of the cookie by which it is recognised when it comes back; the cookie lives as long as Life.
type ManifestForm struct {
	Action   string
	Manifest string
	Browser  string
	Life     time.Duration
}

// Start asks a provider for an app of this service, by a form. An empty owner is the person's own account there.
// Only an administrator who proved a short while ago who they are may ask, and an app that is there gives way only to
// replace.
func (m *Manifests) Start(ctx context.Context, who account.Who, provider, owner string, replace bool) (ManifestForm, error) {
	if err := m.mayConfigure(ctx, who, provider); err != nil {
		return ManifestForm{}, err
	}
	if owner != "" && !github.ValidOwner(owner) {
		return ManifestForm{}, strictjson.Refuse(strictjson.Field{Field: "owner", Type: strictjson.Invalid})
	}
	manifest, err := github.Manifest(m.Brand, m.Apps.Platform)
	if err != nil {
		return ManifestForm{}, err
	}
	state := secret.Random()
	form := ManifestForm{Manifest: string(manifest), Browser: secret.Random(), Life: life}
	if form.Action, err = m.Apps.GitHub.ManifestURL(owner, state); err != nil {
		return ManifestForm{}, err
	}
	j := journey{Journey: account.NewJourney(provider, form.Browser), Owner: owner, App: nameOf(manifest), Replace: replace}
	err = m.Apps.DB.Write(ctx, func(tx *sqldb.Tx) error {
		s, err := readSetting(tx, provider, "")
		if err != nil {
			return err
		}
		if s.version > 0 && !replace {
			return alreadyConfigured()
		}
		j.Version = s.version
		return account.Depart(tx, m.Now(), account.State{Value: state, Purpose: account.ForManifest, Life: life, Who: &who}, &j)
	})
	return form, err
}

func (m *Manifests) mayConfigure(ctx context.Context, who account.Who, provider string) error {
	if err := account.KnownProvider(provider); err != nil {
		return err
	}
	if who.Account.Role != account.RoleAdmin {
		m.Audit.Refused(ctx, audit.Event{Action: "provider.refused", Outcome: audit.Deny})
		return adminRequired()
	}
	return m.Accounts.Sessions.NeedFresh(who)
}

// nameOf is how the app is to be called.
func nameOf(manifest []byte) string {
	var m struct{ Name string }
	_ = json.Unmarshal(manifest, &m) // it was made a moment ago
	return m.Name
}

func adminRequired() error {
	return fault.New(fault.AdminRequired, "Only an administrator of this service may do this.", "")
}

func alreadyConfigured() error {
	return fault.New(AlreadyConfigured, "GitHub login is configured already.", "Replace the app if that is what you want.")
}
