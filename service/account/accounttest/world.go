// Package accounttest opens accounts and the rooms beside them on a real database, with a clock that tests move and mail that
// tests read.
package accounttest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/app"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/device"
	"svc.dev/svc/service/installation"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/mail/mailtest"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

// Platform is the address of the account surface in tests.
const Platform = "http://svc.localhost:8080"

// Weak makes deriving a password cheap.
var Weak = account.Scrypt{LogN: 10, R: 1, P: 1}

// World is a node's accounts, the rooms beside them and what they stand on.
type World struct {
	*account.Accounts
	Keys          *apikey.Keys
	Devices       *device.Devices
	Apps          *app.Apps
	Manifests     *app.Manifests
	Installations *installation.Installations

	DB    *sqldb.DB
	Ring  *secret.Ring
	Store *secret.Store
	Log   *audit.Log
	Box   *mail.Outbox
	Clock *Clock
	Inbox *mailtest.Server // nil: there is no mail
}

// Clock is a time that tests move. Nodes of one world share it.
type Clock struct {
	now atomic.Int64 // nanoseconds
}

// NewClock begins at the real time, to the millisecond.
func NewClock() *Clock {
	c := new(Clock)
	c.now.Store(time.Now().Truncate(time.Millisecond).UnixNano())
	return c
}

// Now is the time.
func (c *Clock) Now() time.Time { return time.Unix(0, c.now.Load()) }

// Pass lets time go by.
func (c *Clock) Pass(d time.Duration) { c.now.Add(int64(d)) }

// Options are what a test wants to be otherwise.
type Options struct {
	// Mail gives the world a mail server.
	Mail bool
	// Beside makes another node of that world's database.
	Beside *World
	// After opens the database of a world whose handle was closed, as a restart does.
	After *World
	// GitHub is the address of a GitHub. Defaults to github.com.
	GitHub string
	// Edit changes the configuration of the accounts.
	Edit func(*account.Config)
	// Log hears what the rooms have to say. Defaults to nobody.
	Log *slog.Logger
	// Observe hears of every statement before it runs. Defaults to nobody.
	Observe func(query string, args []any)
}

// New opens the accounts of the database at an address, and closes them at the end of the test.
func New(t testing.TB, address string, o Options) *World {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	w := &World{Clock: NewClock()}
	if o.Beside != nil {
		w.Clock, w.Ring, w.Inbox = o.Beside.Clock, o.Beside.Ring, o.Beside.Inbox
	}
	if o.After != nil {
		w.Clock, w.Ring = o.After.Clock, o.After.Ring
	}
	w.open(t, address, o)
	w.openMail(t, o)
	w.openAccounts(t, o)
	return w
}

// openAccounts makes the accounts, and the rooms that stand on them.
func (w *World) openAccounts(t testing.TB, o Options) {
	t.Helper()
	c := account.Config{
		DB: w.DB, Secrets: w.Store, Audit: w.Log, Mail: w.Box, Keys: device.Ends{}, Unbind: installation.Unbind, Platform: Platform, Strict: o.Mail, Scrypt: Weak,
		Now: w.Clock.Now, Log: o.Log,
	}
	if o.Edit != nil {
		o.Edit(&c)
	}
	var err error
	c.GitHub, err = github.New(github.Config{URL: o.GitHub, APIURL: o.GitHub, Now: c.Now})
	must(t, "open GitHub", err)
	w.Apps = app.New(app.Config{DB: c.DB, Secrets: c.Secrets, GitHub: c.GitHub, Platform: c.Platform})
	c.Apps = w.Apps
	w.Accounts, err = account.New(c)
	must(t, "open accounts", err)
	w.Keys = apikey.New(apikey.Config{DB: c.DB, Audit: c.Audit, Mail: c.Mail, Accounts: w.Accounts, Now: c.Now})
	w.Devices = device.New(device.Config{DB: c.DB, Secrets: c.Secrets, Audit: c.Audit, Accounts: w.Accounts, Keys: w.Keys, Now: c.Now})
	w.Manifests = app.NewManifests(app.ManifestsConfig{Apps: w.Apps, Accounts: w.Accounts, Audit: c.Audit, Now: c.Now, Log: c.Log})
	w.Installations = installation.New(installation.Config{
		DB: c.DB, Secrets: c.Secrets, Audit: c.Audit, Accounts: w.Accounts, Apps: w.Apps, GitHub: c.GitHub, Platform: c.Platform, Memory: c.Memory, Now: c.Now, Log: c.Log,
	})
}

// open makes the rooms that hold nobody's account.
func (w *World) open(t testing.TB, address string, o Options) {
	t.Helper()
	ctx := t.Context()
	var err error
	if w.DB = o.Beside.shared(); w.DB == nil {
		w.DB, err = sqldb.Open(ctx, address, sqldb.Options{Log: o.Log, Synchronous: "NORMAL", Observe: o.Observe, Timeout: time.Minute})
		must(t, "open database", err)
		t.Cleanup(func() { _ = w.DB.Close() })
	}
	must(t, "migrate", w.DB.Migrate(ctx, secret.Migrations, audit.Migrations, throttle.Migrations, mail.Migrations, workspace.Migrations, account.Migrations, device.Migrations))
	if w.Ring == nil {
		w.Ring, err = secret.NewRing()
		must(t, "make ring", err)
	}
	w.Store, err = secret.Open(ctx, w.DB, w.Ring, secret.Config{Now: w.Clock.Now, Log: o.Log})
	must(t, "open secrets", err)
	w.Log, err = audit.Open(ctx, w.DB, audit.Config{
		Key: w.Store.Derive("audit hmac"), Seed: w.Store.Derive("audit signing"), Folder: t.TempDir(), Now: w.Clock.Now, Log: o.Log,
	})
	must(t, "open audit log", err)
}

// openMail makes the outbox, and sends what is queued if there is a mail server.
func (w *World) openMail(t testing.TB, o Options) {
	t.Helper()
	c := mail.Config{URL: Platform, Box: w.Store.Box("mail"), Log: o.Log, Poll: 20 * time.Millisecond}
	if o.Mail && w.Inbox == nil {
		w.Inbox = mailtest.Start(t, mailtest.Options{})
	}
	if o.Mail {
		c.SMTP, c.From = w.Inbox.URL(), "svc@example.com"
	}
	var err error
	w.Box, err = mail.New(w.DB, c)
	must(t, "open outbox", err)
	if o.Mail {
		Run(t, w.Box.Run)
	}
}

// shared is the handle of another node where a database belongs to one process.
func (w *World) shared() *sqldb.DB {
	if w != nil && !w.DB.Shared() {
		return w.DB
	}
	return nil
}

func must(t testing.TB, doing string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", doing, err)
	}
}

// Run keeps something running until the test ends.
func Run(t testing.TB, fn func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = fn(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}

// Request is the context of a request that comes from an address.
func Request(t testing.TB, ip string) context.Context {
	return audit.With(t.Context(), audit.Source{RequestID: "req_test", IP: ip, UserAgent: "test", Surface: "platform", Authority: "customer"})
}

var last atomic.Int64

// From is a request from an address that no other request of the process came from.
func From(t testing.TB) context.Context {
	n := last.Add(1)
	return Request(t, fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255))
}
