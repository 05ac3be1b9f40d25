// Package account is people: how they sign up and in, what proves who they are, and what acts in their name.
package account

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/secret"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("account", migrations)

// Config is what accounts need. DB, Secrets, Audit and Mail are required.
type Config struct {
	DB      *sqldb.DB
	Secrets *secret.Store
	Audit   *audit.Log
	Mail    *mail.Outbox

	// GitHub is the GitHub that people sign in with. Defaults to github.com.
	GitHub github.Config
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
	// Memory is what deriving passwords and passing deliveries on takes from. Defaults to a budget of its own.
	Memory *memory.Budget
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log is told what no caller can be told. Defaults to slog.Default().
	Log *slog.Logger
}

const day = 24 * time.Hour

func (c *Config) setDefaults() {
	if c.Brand == "" {
		c.Brand = "svc"
	}
	if c.Scrypt == (Scrypt{}) {
		c.Scrypt = DefaultScrypt
	}
	for _, d := range []struct {
		to *time.Duration
		is time.Duration
	}{{&c.Idle, 7 * day}, {&c.Absolute, 30 * day}, {&c.Fresh, 10 * time.Minute}, {&c.Hold, 14 * day}, {&c.Keep, 30 * day},
		{&c.AdminIdle, 30 * time.Minute}, {&c.AdminAbsolute, 12 * time.Hour}} {
		if *d.to == 0 {
			*d.to = d.is
		}
	}
	if c.Memory == nil {
		c.Memory = memory.New(0)
	}
	if c.MaxSessions == 0 {
		c.MaxSessions = 50
	}
	clock := c.Now
	if clock == nil {
		clock = time.Now
	}
	// What is answered at once and what is read back later are the same time.
	c.Now = func() time.Time { return clock().Truncate(time.Millisecond) }
	if c.GitHub.Now == nil {
		c.GitHub.Now = c.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
}

// Accounts is the people of a service, on a database that all its nodes share.
type Accounts struct {
	Config
	db     *sqldb.DB
	hasher *hasher
	github *github.Client
	emails []byte      // key of the hashes by which addresses are throttled
	box    *secret.Box // seals what a token must carry and nobody may read
	courier
}

// New makes the accounts of a database whose tables stand.
func New(c Config) (*Accounts, error) {
	if c.DB == nil || c.Secrets == nil || c.Audit == nil || c.Mail == nil {
		return nil, errors.New("accounts need a database, secrets, an audit log and an outbox")
	}
	c.setDefaults()
	client, err := github.New(c.GitHub)
	if err != nil {
		return nil, err
	}
	return &Accounts{
		Config: c, db: c.DB, hasher: newHasher(c.Scrypt, c.Memory, c.Log), github: client,
		emails: c.Secrets.Derive("throttle e-mail"), box: c.Secrets.Box("account token"), courier: newCourier(c),
	}, nil
}

// CanMail reports whether a link reaches somebody: by mail, or in development by the log.
func (a *Accounts) CanMail() bool { return a.Mail.Enabled() || a.Printed }

// Derivations is how many passwords have been derived since the start.
func (a *Accounts) Derivations() int64 { return a.hasher.count.Load() }

// Sweep deletes what has ended long ago, a little at a time, and says how many rows that were.
func (a *Accounts) Sweep(ctx context.Context) (int64, error) {
	now := a.Now()
	old := now.Add(-a.Keep).UnixMilli()
	total, err := a.EndExpiredViews(ctx)
	if err != nil {
		return total, err
	}
	for _, statement := range []struct {
		sql    string
		before int64
	}{
		{`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE COALESCE(revoked_at, last_seen_at) < $1 LIMIT 500)`, old - max(a.Idle, a.Absolute).Milliseconds()},
		{`DELETE FROM tokens WHERE hash IN (SELECT hash FROM tokens WHERE expires_at < $1 LIMIT 500)`, old},
		// What strangers began and left says nothing to anybody.
		{`DELETE FROM tokens WHERE hash IN (SELECT hash FROM tokens WHERE account = '' AND used_at IS NULL AND expires_at < $1 LIMIT 500)`, now.UnixMilli()},
		{`DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE received_at < $1 LIMIT 500)`, old},
		{`DELETE FROM dispatches WHERE delivery IN (SELECT delivery FROM dispatches WHERE created_at < $1 LIMIT 500) AND created_at < $1`, old},
		{`DELETE FROM delivery_bodies WHERE delivery IN (SELECT delivery FROM delivery_bodies WHERE received_at < $1 LIMIT 500) AND received_at < $1`, old},
		{`DELETE FROM installations WHERE id IN (SELECT id FROM installations WHERE deleted_at < $1 LIMIT 500)`, old},
		{`DELETE FROM elevations WHERE session IN (SELECT session FROM elevations WHERE created_at < $1 LIMIT 500)`, now.Add(-a.AdminAbsolute).UnixMilli()},
		{`DELETE FROM impersonations WHERE id IN (SELECT id FROM impersonations WHERE expires_at < $1 LIMIT 500)`, old},
		{`DELETE FROM devices WHERE token IN (SELECT token FROM devices WHERE created_at < $1 LIMIT 500)`, now.Add(-deviceLife).UnixMilli()},
	} {
		err := a.db.Write(ctx, func(tx *sqldb.Tx) error {
			n, err := tx.Exec(statement.sql, statement.before)
			total += n
			return err
		})
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
