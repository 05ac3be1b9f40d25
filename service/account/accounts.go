// Package account is people: how they sign up and in, what proves who they are, and what those do who run the service.
package account

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/secret"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of this room, and of apikey, app and installation: theirs were made here, and a sequence only goes
// forward.
var Migrations = sqldb.NewRoom("account", migrations)

// Config is what accounts need. All up to Apps is required.
type Config struct {
	DB      *sqldb.DB
	Secrets *secret.Store
	Audit   *audit.Log
	Mail    *mail.Outbox
	Keys    Keys
	// Unbind takes from a workspace the installations that it came to work with since a time, in the transaction that takes it back,
	// and says how many.
	Unbind func(tx *sqldb.Tx, workspace string, since time.Time) (int64, error)

	// GitHub is the GitHub that people sign in with, and Apps knows the app by which they do.
	GitHub *github.Client
	Apps   Apps
	// Platform is the address of the account surface, without a slash at its end; links in mails begin with it.
	Platform string
	// Brand is a word that no password may be. Defaults to "svc".
	Brand string
	// Printed says that links are printed to the log where no mail is sent, as in development. Defaults to false.
	Printed bool
	// Strict makes sign-up wait for a mail, so that it tells nobody who has an account. Defaults to false.
	Strict bool
	// Scrypt is what deriving a password costs. Defaults to DefaultScrypt.
	Scrypt Scrypt
	// Idle is how long a session lives that nobody uses. Defaults to 7 days.
	Idle time.Duration
	// Absolute is how long a session lives at most. Defaults to 30 days.
	Absolute time.Duration
	// Fresh is how long ago somebody may have proven who they are, for what needs it. Defaults to 10 minutes.
	Fresh time.Duration
	// AdminIdle is how long the authority of staff lives that nobody uses. Defaults to 30 minutes.
	AdminIdle time.Duration
	// AdminAbsolute is how long the authority of staff lives at most. Defaults to 12 hours.
	AdminAbsolute time.Duration
	// MaxSessions is how many sessions an account has at once; the oldest gives way. Defaults to 50.
	MaxSessions int
	// Hold is how long a deleted account can come back. Defaults to 14 days.
	Hold time.Duration
	// Keep is how long ended sessions and used tokens stay. Defaults to 30 days.
	Keep time.Duration
	// Memory is what deriving passwords takes from. Defaults to a budget of its own.
	Memory *memory.Budget
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log is told what no caller can be told. Defaults to slog.Default().
	Log *slog.Logger
}

// Keys are API keys, which are another room's: they end in the transaction that takes away what they rest on.
type Keys interface {
	// OfMaker ends all keys of an account, and OfStaff those that it made by the authority of the service.
	OfMaker(tx *sqldb.Tx, now time.Time, account string) error
	OfStaff(tx *sqldb.Tx, now time.Time, account string) error
	// Since ends the keys that were made for a workspace since a time, and says how many.
	Since(tx *sqldb.Tx, now time.Time, workspace string, since time.Time) (int64, error)
	// Erase deletes the keys of an account that is being erased.
	Erase(tx *sqldb.Tx, account string) error
}

// Apps is the app by which the service speaks to a provider, which is another room's.
type Apps interface {
	// App is the app as it is now, with its secrets.
	App(ctx context.Context, provider string) (github.App, error)
	// Known is the app with the ids by which the provider knows it, and none of its other secrets.
	Known(tx *sqldb.Tx, provider string) (github.App, error)
	// NoteEmails remembers whether the app may read addresses.
	NoteEmails(tx *sqldb.Tx, provider string, may bool) error
}

const day = 24 * time.Hour

func (c *Config) setDefaults() {
	c.Brand = cmp.Or(c.Brand, "svc")
	c.Scrypt = cmp.Or(c.Scrypt, DefaultScrypt)
	c.Idle, c.Absolute = cmp.Or(c.Idle, 7*day), cmp.Or(c.Absolute, 30*day)
	c.AdminIdle, c.AdminAbsolute = cmp.Or(c.AdminIdle, 30*time.Minute), cmp.Or(c.AdminAbsolute, 12*time.Hour)
	c.Fresh = cmp.Or(c.Fresh, 10*time.Minute)
	c.Hold, c.Keep = cmp.Or(c.Hold, 14*day), cmp.Or(c.Keep, 30*day)
	c.MaxSessions = cmp.Or(c.MaxSessions, 50)
	if c.Memory == nil {
		c.Memory = memory.New(0)
	}
	c.Now = iso.Clock(c.Now)
	c.Log = cmp.Or(c.Log, slog.Default())
}

// base is what every part of the room stands on.
type base struct {
	Config
	hasher *hasher
	emails []byte      // key of the hashes by which addresses are throttled
	box    *secret.Box // seals what a token must carry and nobody may read
}

// Accounts is the people of a service, on a database that all its nodes share.
type Accounts struct {
	*base
	Sessions      *Sessions
	Identities    *Identities
	Passwords     *Passwords
	Registrations *Registrations
	Emails        *Emails
	Staff         *Staff
	Views         *Views
}

// New makes the accounts of a database whose tables stand.
func New(c Config) (*Accounts, error) {
	if c.DB == nil || c.Secrets == nil || c.Audit == nil || c.Mail == nil || c.Keys == nil || c.Unbind == nil || c.GitHub == nil || c.Apps == nil {
		return nil, errors.New("accounts need a database, secrets, an audit log, an outbox, keys, bindings, a GitHub and its app")
	}
	c.setDefaults()
	a := &Accounts{base: &base{
		Config: c, hasher: newHasher(c.Scrypt, c.Memory, c.Log),
		emails: c.Secrets.Derive("throttle e-mail"), box: c.Secrets.Box("account token"),
	}}
	a.Sessions = &Sessions{a.base}
	a.Identities = &Identities{a.base, a.Sessions}
	a.Passwords = &Passwords{a.base, a.Sessions, a.Identities}
	a.Registrations = &Registrations{a.base, a.Sessions, a.Passwords}
	a.Emails = &Emails{a.base, a.Sessions, a.Registrations}
	a.Staff = &Staff{a.base, a.Sessions, a.Passwords, a.Registrations}
	a.Views = &Views{a.base}
	return a, nil
}

// CanMail reports whether a link reaches somebody: by mail, or in development by the log.
func (a *base) CanMail() bool { return a.Mail.Enabled() || a.Printed }

// Sweep deletes what has ended long ago, a little at a time, and says how many rows that were.
func (a *Accounts) Sweep(ctx context.Context) (int64, error) {
	now := a.Now()
	old := now.Add(-a.Keep).UnixMilli()
	total, err := a.Views.EndExpired(ctx)
	if err != nil {
		return total, err
	}
	for _, statement := range []struct {
		sql    string
		before int64
	}{
		// One that nobody ended has ended by itself, at the latest when its longest life was over.
		{fmt.Sprintf(`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE last_seen_at < $1 AND COALESCE(revoked_at, last_seen_at + %d) < $1 LIMIT 500)`,
			max(a.Idle, a.Absolute).Milliseconds()), old},
		{`DELETE FROM tokens WHERE hash IN (SELECT hash FROM tokens WHERE expires_at < $1 LIMIT 500)`, old},
		// What strangers began and left says nothing to anybody.
		{`DELETE FROM tokens WHERE hash IN (SELECT hash FROM tokens WHERE account = '' AND used_at IS NULL AND expires_at < $1 LIMIT 500)`, now.UnixMilli()},
		{`DELETE FROM elevations WHERE session IN (SELECT session FROM elevations WHERE created_at < $1 LIMIT 500)`, now.Add(-a.AdminAbsolute).UnixMilli()},
		{`DELETE FROM impersonations WHERE id IN (SELECT id FROM impersonations WHERE expires_at < $1 LIMIT 500)`, old},
		{`DELETE FROM devices WHERE token IN (SELECT token FROM devices WHERE created_at < $1 LIMIT 500)`, now.Add(-deviceLife).UnixMilli()},
	} {
		n, err := sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (int64, error) { return tx.Exec(statement.sql, statement.before) })
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

// change is tx.Do of a statement that must find a row: where it finds none it is that error.
func change(tx *sqldb.Tx, what string, none error, query string, args ...any) error {
	n, err := tx.Exec(query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if n == 0 {
		return none
	}
	return nil
}

// letters are the mails that accounts send. Somebody without an address gets none.
type letters struct{ outbox *mail.Outbox }

// post writes to the database and sends the mails that were written with it. What is to be written may stand as a list in
// cmp.Or: a transaction runs nothing after a statement that failed, and what runs after another error is undone with it.
func (a *base) post(ctx context.Context, fn func(tx *sqldb.Tx, out *letters) error) error {
	err := a.DB.Write(ctx, func(tx *sqldb.Tx) error { return fn(tx, &letters{a.Mail}) })
	if err == nil {
		a.Mail.Wake()
	}
	return err
}

func (l *letters) send(tx *sqldb.Tx, to string, content mail.Content) error {
	if to == "" {
		return nil
	}
	return l.outbox.Queue(tx, to, content)
}

// haveAccount answers somebody who signs up with an address that has an account.
func (l *letters) haveAccount(tx *sqldb.Tx, p Account) error {
	if p.deletedAt != 0 {
		return nil
	}
	return l.send(tx, p.Email, mail.HaveAccount())
}
