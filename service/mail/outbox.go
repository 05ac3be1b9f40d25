// Package mail is the outbox. A mail is written down in the transaction of the act that it tells of, so that there is one
// exactly if the act took place; it is sent afterwards, as often as the mail server needs to be asked.
//
// A mail is sent at least once. Nobody can tell whether a server took a mail whose answer was lost, by a crash or by a
// network, so it is sent again; its Message-ID stays the same, and mailboxes show it once.
package mail

import (
	"cmp"
	"context"
	"crypto/x509"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"svc.dev/svc/internal/outbox"
	"svc.dev/svc/internal/sqldb"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("mail", migrations)

// Sealer makes what is written down unreadable to whoever steals the database. What was sealed under one aad does not open
// under another.
type Sealer interface {
	Seal(aad string, plain []byte) []byte
	Open(aad string, sealed []byte) ([]byte, error)
}

// Config is how mail leaves. Without SMTP none does.
type Config struct {
	// SMTP is the mail server: smtp://USER:PASSWORD@HOST:587, which speaks TLS where the server offers it, or smtps://…:465,
	// which speaks nothing else. With a password TLS is required, but on loopback. Defaults to none: mail is off.
	SMTP string
	// From is who mails come from, "Name <address>" or an address. Required with SMTP.
	From string
	// Brand is how the service is called in mails. Defaults to "svc".
	Brand string
	// URL is where the pages are that mails link to, https://HOST. Required.
	URL string
	// Box seals mails until they are sent. Required where mails are kept: with SMTP, and in development.
	Box Sealer
	// Development prints links to the log when there is no SMTP. Defaults to false: nothing is printed.
	Development bool
	// Keep is how long it is remembered that a mail was sent. Defaults to 7 days.
	Keep time.Duration
	// Timeout is how long one attempt to send may take, at most a minute. Defaults to 30 seconds.
	Timeout time.Duration
	// Parallel is how many mails are sent at once. Defaults to 4.
	Parallel int
	// Poll is how long a mail may wait that was queued on another node, or without a Wake. Defaults to 5 seconds.
	Poll time.Duration
	// Roots are the certificates that a mail server is believed by. Defaults to those of the system.
	Roots *x509.CertPool
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log hears of mails that could not be sent. Defaults to slog.Default().
	Log *slog.Logger
}

// Outbox queues mails and sends them.
type Outbox struct {
	db     *sqldb.DB
	config Config
	relay  *relay // nil: mail is off
	queue  *outbox.Queue[queued]
}

// New makes the outbox of a database whose tables stand. Its errors never repeat the address of the mail server.
func New(db *sqldb.DB, c Config) (*Outbox, error) {
	c.setDefaults()
	o := &Outbox{db: db, config: c}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	o.queue = o.newQueue()
	if c.SMTP == "" {
		return o, nil
	}
	var err error
	if o.relay, err = newRelay(c); err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	return o, nil
}

func (c *Config) setDefaults() {
	c.Brand = cmp.Or(c.Brand, "svc")
	c.Keep = cmp.Or(c.Keep, 7*24*time.Hour)
	c.Timeout = min(cmp.Or(c.Timeout, 30*time.Second), time.Minute)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	c.URL = strings.TrimSuffix(c.URL, "/")
}

func (c *Config) check() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || c.URL != u.Scheme+"://"+u.Host:
		return errors.New("the URL of the pages must be https://HOST")
	case !isLine(c.Brand):
		return errors.New("the brand must be one line of text")
	case c.Box == nil && (c.SMTP != "" || c.Development):
		return errors.New("mails need a box to be sealed in")
	}
	return nil
}

// Enabled says whether mails reach people.
func (o *Outbox) Enabled() bool { return o.relay != nil }

// works says whether Run has anything to do: to send, or to print.
func (o *Outbox) works() bool { return o.relay != nil || o.config.Development }

// Queue writes a mail to one person down in the caller's transaction, sealed; Run sends it once that is committed. Without SMTP
// nothing is kept in production, and in development only what has a link, for Run to print. What is no address alone, in ASCII, is
// an error, and fails the transaction.
func (o *Outbox) Queue(tx *sqldb.Tx, to string, c Content) error {
	l, err := o.compose(to, c)
	if err == nil && (o.relay != nil || o.config.Development && l.secret) {
		err = o.insert(tx, l)
	}
	if err != nil {
		return fmt.Errorf("queue mail: %w", err)
	}
	return nil
}

// Wake tells Run that a mail may have been queued. Call it after the commit; a lost wake costs Poll, never a mail.
func (o *Outbox) Wake() { o.queue.Wake() }

// Sweep forgets the mails that were sent, or given up, longer ago than Keep, and says how many.
func (o *Outbox) Sweep(ctx context.Context, now time.Time) (int64, error) {
	before := now.Add(-o.config.Keep).UnixMilli()
	total, err := sqldb.Drain(ctx, o.db, sweepRows, func(tx *sqldb.Tx) (int64, error) {
		// A queued mail that is as old waits where mail was switched off.
		return tx.Exec(`DELETE FROM outbox WHERE id IN (SELECT id FROM outbox
			WHERE created_at < $1 AND (state <> 'queued' AND next_at < $1 OR expires_at < $1) ORDER BY created_at LIMIT $2)`, before, sweepRows)
	})
	if err != nil {
		return total, fmt.Errorf("sweep mails: %w", err)
	}
	return total, nil
}

const sweepRows = 500
