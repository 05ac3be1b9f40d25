package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/audit"
)

// Finish takes over the app that a provider made, with the code that it sent back. The code is good once: the state
// is used and the attempt is written down before it is asked for, so that whoever finds an attempt without an end knows
// that an app may exist whose credentials are lost.
func (m *Manifests) Finish(ctx context.Context, who account.Who, provider, code, state, browser string) error {
	if err := account.KnownProvider(provider); err != nil {
		return err
	}
	x, err := m.beginExchange(ctx, who, account.Arrival{Provider: provider, State: state, Browser: browser, Who: &who})
	if err != nil {
		m.Audit.Refused(ctx, audit.Event{Action: "provider.refused", Outcome: audit.Deny})
		return err
	}
	// Whether or not somebody still waits for it: the credentials are handed over once.
	ctx = sqldb.Regardless(ctx)
	app, err := m.Apps.GitHub.Convert(ctx, code)
	if err != nil {
		return m.failExchange(ctx, x, "", err)
	}
	if !app.OwnedBy(x.Owner) {
		return m.failExchange(ctx, x, app.Owner, ownerMismatch(x.Owner))
	}
	if err := m.keepApp(ctx, who, x, app); err != nil {
		return m.failExchange(ctx, x, "", err)
	}
	return nil
}

// takeover is an attempt to take over an app.
type takeover struct {
	journey
	id string
}

func ownerMismatch(wanted string) error {
	details := "It was to belong to a person. Delete the app on GitHub and start again."
	if wanted != "" {
		details = fmt.Sprintf("It was to belong to %s. Delete the app on GitHub and start again.", wanted)
	}
	return fault.New(OwnerMismatch, "The app belongs to somebody else than was asked for.", details)
}

// beginExchange uses the state up and writes down that an exchange begins, in a transaction of its own.
func (m *Manifests) beginExchange(ctx context.Context, who account.Who, at account.Arrival) (x takeover, err error) {
	var refusal error
	err = m.Apps.DB.Write(ctx, func(tx *sqldb.Tx) error {
		x, refusal = takeover{id: ulid.Make().String()}, nil
		ok, err := account.Arrive(tx, m.Now(), account.ForManifest, at, &x.journey)
		if err != nil {
			return err
		}
		if !ok {
			refusal = account.StateRefused()
			return nil
		}
		if _, refusal, err = mayExchange(tx, who, x.journey); err != nil || refusal != nil {
			return err
		}
		return m.noteExchange(ctx, tx, who, x)
	})
	if err != nil {
		return takeover{}, err
	}
	return x, refusal
}

// mayExchange says why an administrator who was allowed to ask is not allowed to finish, and else what is to be replaced.
func mayExchange(tx *sqldb.Tx, who account.Who, j journey) (s setting, refusal, err error) {
	p, err := account.Acting(tx, who)
	switch {
	case err != nil && !fault.Is(err, account.Unauthenticated):
		return s, nil, err
	case err != nil || p.Role != account.RoleAdmin:
		return s, adminRequired(), nil
	}
	if s, err = lockSetting(tx, j.Provider); err != nil {
		return s, nil, err
	}
	return s, s.replaceable(j), nil
}

// replaceable refuses to put an app over one that the journey did not set out to replace.
func (s setting) replaceable(j journey) error {
	if s.version != j.Version || s.version > 0 && !j.Replace {
		return alreadyConfigured()
	}
	return nil
}

func (m *Manifests) noteExchange(ctx context.Context, tx *sqldb.Tx, who account.Who, x takeover) error {
	if err := tx.Do("note exchange", `UPDATE providers SET attempt = $2, outcome = $3, wanted_name = $4, wanted_owner = $5, got_owner = '', attempted_at = $6
		WHERE provider = $1`, x.Provider, x.id, Exchanging, x.App, x.Owner, m.Now().UnixMilli()); err != nil {
		return err
	}
	return m.Audit.Append(ctx, tx, providerEvent(who, x.Provider, "provider.exchanging"))
}

func providerEvent(who account.Who, provider, action string, changes ...string) audit.Event {
	return audit.Event{Actor: who.Account.Actor(), Action: action, Target: audit.Target{Kind: "provider", ID: provider}, Changes: changes}
}

// failExchange writes down how an exchange ended that brought nothing. Where that is not known it stays without an end.
func (m *Manifests) failExchange(ctx context.Context, x takeover, got string, cause error) error {
	outcome := fault.From(cause).Type
	switch outcome {
	case github.ManifestFailed, OwnerMismatch, AlreadyConfigured:
	default:
		return cause
	}
	err := m.Apps.DB.Do(ctx, "note outcome", "UPDATE providers SET outcome = $3, got_owner = $4 WHERE provider = $1 AND attempt = $2", x.Provider, x.id, outcome, got)
	if err != nil {
		m.Log.ErrorContext(ctx, "outcome of an exchange was not kept", "provider", x.Provider, "error", err)
	}
	return cause
}

// keepApp stores the app with all its secrets, or nothing of it. Somebody who is no administrator by now brings none: every sign-in
// would be theirs to answer.
func (m *Manifests) keepApp(ctx context.Context, who account.Who, x takeover, app github.App) error {
	return m.Apps.DB.Write(ctx, func(tx *sqldb.Tx) error {
		s, refusal, err := mayExchange(tx, who, x.journey)
		if err := cmp.Or(err, refusal); err != nil {
			return err
		}
		action := "provider.configured"
		if s.version > 0 {
			action = "provider.replaced"
		}
		return cmp.Or(
			m.sealApp(tx, who, x.Provider, s.version+1, app),
			m.storeApp(tx, x, s.version+1, app),
			m.Audit.Append(ctx, tx, providerEvent(who, x.Provider, action, "clientId", "clientSecret", "pem", "webhookSecret", "permissions")),
		)
	})
}

// sealApp keeps the secrets of a version of the app, beside those of the one before.
func (m *Manifests) sealApp(tx *sqldb.Tx, who account.Who, provider string, version int64, app github.App) error {
	for name, value := range sealed(app) {
		if _, err := m.Apps.Secrets.Delete(tx, ofService, appSecret(provider, version-2, name)); err != nil {
			return err
		}
		if value == "" {
			continue
		}
		if _, err := m.Apps.Secrets.Seal(tx, ofService, appSecret(provider, version, name), []byte(value), who.Account.ID); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manifests) storeApp(tx *sqldb.Tx, x takeover, version int64, app github.App) error {
	text, err := json.Marshal(facts(app))
	if err != nil {
		return fmt.Errorf("keep app: %w", err)
	}
	return tx.Do("keep app", `UPDATE providers SET version = $2, app = $3, emails = $4, configured_at = $5, attempt = '', outcome = '',
		wanted_name = '', wanted_owner = '', got_owner = '' WHERE provider = $1`,
		x.Provider, version, string(text), sqldb.Bit(app.Permissions["emails"] != ""), m.Now().UnixMilli())
}
