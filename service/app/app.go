// Package app is the GitHub App of a service: how one comes to be, and what is known and kept secret of it.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
)

// Config is what the app needs. DB, Secrets and GitHub are required.
type Config struct {
	DB      *sqldb.DB
	Secrets *secret.Store
	GitHub  *github.Client
	// Platform is the address of the account surface, without a slash at its end: the app leads there.
	Platform string
}

// Apps are the apps by which the service speaks to providers. Their tables are among those of account.Migrations.
type Apps struct{ Config }

// New is the apps of a database whose tables stand.
func New(c Config) *Apps { return &Apps{c} }

// setting is a provider as it is stored: the app without its secrets, and how the last attempt to make one went.
type setting struct {
	version      int64 // of the app; 0: there is none
	app          github.App
	emails       bool // the app may read addresses, as far as the last sign-in could tell
	configuredAt int64
	attempt      Attempt
}

// facts are what may be read of an app, which is converted to them and back. Its id and client id lie in the secret store; here they stand for nodes of the release
// before, which look nowhere else, and go with the next release.
type facts struct {
	ID            int64             `json:"id"`
	Slug          string            `json:"slug"`
	Name          string            `json:"name"`
	ClientID      string            `json:"clientId"`
	ClientSecret  string            `json:"-"`
	PEM           string            `json:"-"`
	WebhookSecret string            `json:"-"`
	HTMLURL       string            `json:"pageUrl"`
	Owner         string            `json:"owner"`
	OwnerType     string            `json:"ownerType"`
	Permissions   map[string]string `json:"permissions"`
	Events        []string          `json:"events"`
}

// missing are the permissions that the app lacks. Of addresses the last sign-in knows more than the app's first day.
func (s setting) missing() []string {
	app := s.app
	app.Permissions = map[string]string{}
	maps.Copy(app.Permissions, s.app.Permissions)
	delete(app.Permissions, "emails")
	if s.emails {
		app.Permissions["emails"] = "read"
	}
	return app.MissingPermissions()
}

// readSetting is a provider that nothing is stored of when there is none. End is what the SELECT ends with.
func readSetting(tx *sqldb.Tx, provider, end string) (setting, error) {
	s, _, err := sqldb.First(tx, "read provider", scanSetting, `SELECT version, app, emails, configured_at, outcome, wanted_name, wanted_owner, got_owner
		FROM providers WHERE provider = $1`+end, provider)
	return s, err
}

func scanSetting(row sqldb.Row) (s setting, err error) {
	var app []byte
	if err := row.Scan(&s.version, &app, &s.emails, &s.configuredAt, &s.attempt.Outcome, &s.attempt.Name, &s.attempt.Wanted, &s.attempt.Got); err != nil {
		return s, err
	}
	var f facts
	err = json.Unmarshal(app, &f)
	s.app = github.App(f)
	return s, err
}

// lockSetting is the provider, which nobody else changes until the transaction ends.
func lockSetting(tx *sqldb.Tx, provider string) (setting, error) {
	if err := tx.Do("make provider", "INSERT INTO providers (provider) VALUES ($1) ON CONFLICT (provider) DO NOTHING", provider); err != nil {
		return setting{}, err
	}
	return readSetting(tx, provider, tx.ForUpdate())
}

// NoteEmails remembers whether the app may read addresses.
func (a *Apps) NoteEmails(tx *sqldb.Tx, provider string, may bool) error {
	return tx.Do("note permission", "UPDATE providers SET emails = $2 WHERE provider = $1 AND emails <> $2", provider, sqldb.Bit(may))
}

// ofService owns the secrets of the app.
var ofService = secret.Owner{Kind: secret.Service}

// What the secret store holds of an app.
const (
	appID         = "id"
	clientID      = "client_id"
	clientSecret  = "client_secret"
	privateKey    = "pem"
	webhookSecret = "webhook_secret"
)

// sealed are the values of an app that the secret store holds; an empty one is not kept.
func sealed(app github.App) map[string]string {
	return map[string]string{
		appID: strconv.FormatInt(app.ID, 10), clientID: app.ClientID, clientSecret: app.ClientSecret, privateKey: app.PEM, webhookSecret: app.WebhookSecret,
	}
}

// appSecret is the name of a secret of a version of the app.
func appSecret(provider string, version int64, name string) string {
	return fmt.Sprintf("%s/%d/%s", provider, version, name)
}

// App is the app as it is now, with its secrets: whatever node configured it, the next call sees it.
func (a *Apps) App(ctx context.Context, provider string) (github.App, error) {
	return sqldb.Snapshot(ctx, a.DB, func(tx *sqldb.Tx) (github.App, error) {
		s, err := a.configured(tx, provider)
		if err != nil {
			return s.app, err
		}
		app := s.app
		for name, to := range map[string]*string{clientSecret: &app.ClientSecret, privateKey: &app.PEM, webhookSecret: &app.WebhookSecret} {
			if *to, err = a.open(tx, provider, s.version, name); err != nil {
				return app, err
			}
		}
		return app, nil
	})
}

// Known is an app that people can be sent to, with the ids by which the provider knows it, and none of its other secrets.
func (a *Apps) Known(tx *sqldb.Tx, provider string) (github.App, error) {
	s, err := a.configured(tx, provider)
	return s.app, err
}

// Signer is the id of the app, and the secret that deliveries for it are signed with. It is empty where nobody signs: there is no
// app, or it has no webhook.
func (a *Apps) Signer(ctx context.Context, provider string) (id int64, key string, err error) {
	err = a.DB.Snapshot(ctx, func(tx *sqldb.Tx) error {
		id, key = 0, ""
		s, err := a.configured(tx, provider)
		if fault.Is(err, fault.ProviderNotConfigured) {
			return nil
		}
		if err != nil {
			return err
		}
		id = s.app.ID
		key, err = a.open(tx, provider, s.version, webhookSecret)
		return err
	})
	if err != nil {
		return 0, "", err
	}
	return id, key, nil
}

func (a *Apps) configured(tx *sqldb.Tx, provider string) (setting, error) {
	s, err := readSetting(tx, provider, "")
	if err != nil {
		return s, err
	}
	if s.version == 0 {
		return s, fault.New(fault.ProviderNotConfigured, "GitHub login is not configured. An administrator must approve the app manifest.", "")
	}
	return s, a.openIDs(tx, provider, &s)
}

// openIDs takes the ids of the app from the secret store. Where a node of the release before has configured the app they are
// not there, and those that it left in clear count.
func (a *Apps) openIDs(tx *sqldb.Tx, provider string, s *setting) error {
	client, err := a.open(tx, provider, s.version, clientID)
	if errors.Is(err, secret.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	id, err := a.open(tx, provider, s.version, appID)
	if err != nil {
		return err
	}
	s.app.ClientID = client
	if s.app.ID, err = strconv.ParseInt(id, 10, 64); err != nil {
		return errors.New("read id of the app: it is no number") // the cause would quote it
	}
	return nil
}

// Seal moves the ids of apps that a release before has configured into the secret store, as a service does when it starts.
// Doing it again changes nothing.
func (a *Apps) Seal(ctx context.Context) error {
	err := a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		s, err := readSetting(tx, account.ByGitHub, "")
		if err != nil || s.version == 0 {
			return err
		}
		if s, err = lockSetting(tx, account.ByGitHub); err != nil {
			return err
		}
		for _, name := range []string{appID, clientID} {
			_, err := a.open(tx, account.ByGitHub, s.version, name)
			if errors.Is(err, secret.ErrNotFound) {
				_, err = a.Secrets.Seal(tx, ofService, appSecret(account.ByGitHub, s.version, name), []byte(sealed(s.app)[name]), audit.System)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("seal what is known of the provider's app: %w", err)
	}
	return nil
}

// open is a secret of the app. An app without a webhook has none for it.
func (a *Apps) open(tx *sqldb.Tx, provider string, version int64, name string) (string, error) {
	value, err := a.Secrets.OpenIn(tx, ofService, appSecret(provider, version, name))
	if errors.Is(err, secret.ErrNotFound) && name == webhookSecret {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("open %s of the app: %w", name, err)
	}
	defer clear(value)
	return string(value), nil
}
