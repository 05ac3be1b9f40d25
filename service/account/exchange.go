package account

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/audit"
)

// FinishManifest takes over the app that a provider made, with the code that it sent back. The code is good once: the state
// is used and the attempt is written down before it is asked for, so that whoever finds an attempt without an end knows
// that an app may exist whose credentials are lost.
func (a *Accounts) FinishManifest(ctx context.Context, who Who, provider, code, state, browser string) error {
	if err := knownProvider(provider); err != nil {
		return err
	}
	x, err := a.beginExchange(ctx, who, arrival{provider, state, browser, &who})
	if err != nil {
		a.refused(ctx, "provider.refused")
		return err
	}
	// Whether or not somebody still waits for it: the credentials are handed over once.
	ctx = sqldb.Regardless(ctx)
	app, err := a.github.Convert(ctx, code)
	if err != nil {
		return a.failExchange(ctx, x, "", err)
	}
	if !app.OwnedBy(x.Owner) {
		return a.failExchange(ctx, x, app.Owner, ownerMismatch(x.Owner))
	}
	if err := a.keepApp(ctx, who, x, app); err != nil {
		return a.failExchange(ctx, x, "", err)
	}
	return nil
}

// exchange is an attempt to take over an app.
type exchange struct {
	journey
	id string
}

func ownerMismatch(wanted string) error {
	details := "It was to belong to a person. Delete the app on GitHub and start again."
	if wanted != "" {
		details = fmt.Sprintf("It was to belong to %s. Delete the app on GitHub and start again.", wanted)
	}
	return fault.New(ManifestOwnerMismatch, "The app belongs to somebody else than was asked for.", details)
}

// beginExchange uses the state up and writes down that an exchange begins, in a transaction of its own.
func (a *Accounts) beginExchange(ctx context.Context, who Who, at arrival) (x exchange, err error) {
	var refusal error
	err = a.db.Write(ctx, func(tx *sqldb.Tx) error {
		x, refusal = exchange{id: ulid.Make().String()}, nil
		j, ok, err := a.arrive(tx, forManifest, at)
		if err != nil {
			return err
		}
		if !ok {
			refusal = invalidState()
			return nil
		}
		x.journey = j
		if _, refusal, err = mayExchange(tx, who, j); err != nil || refusal != nil {
			return err
		}
		return a.noteExchange(ctx, tx, who, x)
	})
	return x, cmp.Or(err, refusal)
}

// mayExchange says why an administrator who was allowed to ask is not allowed to finish, and else what is to be replaced.
func mayExchange(tx *sqldb.Tx, who Who, j journey) (s setting, refusal, err error) {
	p, err := acting(tx, who)
	switch {
	case err != nil && !fault.Is(err, Unauthenticated):
		return s, nil, err
	case err != nil || p.Role != RoleAdmin:
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

func (a *Accounts) noteExchange(ctx context.Context, tx *sqldb.Tx, who Who, x exchange) error {
	_, err := tx.Exec(`UPDATE providers SET attempt = $2, outcome = $3, wanted_name = $4, wanted_owner = $5, got_owner = '', attempted_at = $6
		WHERE provider = $1`, x.Provider, x.id, ProviderExchanging, x.App, x.Owner, a.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("note exchange: %w", err)
	}
	return a.Audit.Append(ctx, tx, providerEvent(who, x.Provider, "provider.exchanging"))
}

func providerEvent(who Who, provider, action string, changes ...string) audit.Event {
	return audit.Event{Actor: who.Account.Actor(), Action: action, Target: audit.Target{Kind: "provider", ID: provider}, Changes: changes}
}

// failExchange writes down how an exchange ended that brought nothing. Where that is not known it stays without an end.
func (a *Accounts) failExchange(ctx context.Context, x exchange, got string, cause error) error {
	outcome := fault.From(cause).Type
	switch outcome {
	case github.ManifestFailed, ManifestOwnerMismatch, ProviderAlreadyConfigured:
	default:
		return cause
	}
	err := a.db.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec("UPDATE providers SET outcome = $3, got_owner = $4 WHERE provider = $1 AND attempt = $2", x.Provider, x.id, outcome, got)
		return err
	})
	if err != nil {
		a.Log.ErrorContext(ctx, "outcome of an exchange was not kept", "provider", x.Provider, "error", err)
	}
	return cause
}

// keepApp stores the app with all its secrets, or nothing of it. Somebody who is no administrator by now brings none: every sign-in
// would be theirs to answer.
func (a *Accounts) keepApp(ctx context.Context, who Who, x exchange, app github.App) error {
	return a.db.Write(ctx, func(tx *sqldb.Tx) error {
		s, refusal, err := mayExchange(tx, who, x.journey)
		if err := cmp.Or(err, refusal); err != nil {
			return err
		}
		if err := a.sealApp(tx, who, x.Provider, s.version+1, app); err != nil {
			return err
		}
		if err := a.storeApp(tx, x, s.version+1, app); err != nil {
			return err
		}
		action := "provider.configured"
		if s.version > 0 {
			action = "provider.replaced"
		}
		return a.Audit.Append(ctx, tx, providerEvent(who, x.Provider, action, "clientId", "clientSecret", "pem", "webhookSecret", "permissions"))
	})
}

// sealApp keeps the secrets of a version of the app, beside those of the one before.
func (a *Accounts) sealApp(tx *sqldb.Tx, who Who, provider string, version int64, app github.App) error {
	for name, value := range sealed(app) {
		if _, err := a.Secrets.Delete(tx, ofService, appSecret(provider, version-2, name)); err != nil {
			return err
		}
		if value == "" {
			continue
		}
		if _, err := a.Secrets.Seal(tx, ofService, appSecret(provider, version, name), []byte(value), who.Account.ID); err != nil {
			return err
		}
	}
	return nil
}

func (a *Accounts) storeApp(tx *sqldb.Tx, x exchange, version int64, app github.App) error {
	text, err := json.Marshal(factsOf(app))
	if err != nil {
		return fmt.Errorf("keep app: %w", err)
	}
	_, err = tx.Exec(`UPDATE providers SET version = $2, app = $3, emails = $4, configured_at = $5, attempt = '', outcome = '',
		wanted_name = '', wanted_owner = '', got_owner = '' WHERE provider = $1`,
		x.Provider, version, string(text), bit(app.Permissions["emails"] != ""), a.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("keep app: %w", err)
	}
	return nil
}
