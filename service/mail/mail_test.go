package mail_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/notepad"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/mail/mailtest"
)

const (
	platform = "https://platform.example"
	token    = "Zq8-T0ken_that-stands_in-no-log-and-no-database"
	ada      = "ada@example.com"
)

var reset = mail.ResetPassword(token, 30*time.Minute)

// each runs fn on both databases, beside other tests: most of their time is waiting for a new one.
func each(t *testing.T, fn func(t *testing.T, address string)) {
	t.Helper()
	t.Parallel()
	sqldbtest.EachSchema(t, fn)
}

// box seals as the secret store does.
type box struct{ aead cipher.AEAD }

func newBox(key byte) box {
	block, err := aes.NewCipher(bytes.Repeat([]byte{key}, 32))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return box{aead}
}

func (b box) Seal(aad string, plain []byte) []byte {
	nonce := make([]byte, b.aead.NonceSize())
	_, _ = rand.Read(nonce)
	return b.aead.Seal(nonce, nonce, plain, []byte(aad))
}

func (b box) Open(aad string, sealed []byte) ([]byte, error) {
	n := b.aead.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("too short")
	}
	return b.aead.Open(nil, sealed[:n], sealed[n:], []byte(aad))
}

// clock stands still until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 14, 10, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// node is a process with an outbox.
type node struct {
	*mail.Outbox
	db     *sqldb.DB
	clock  *clock
	log    *notepad.Pad
	rounds atomic.Int64 // that Run has begun
}

// newNode opens a database and an outbox on it; Poll is short, so that a moved clock is seen.
func newNode(t *testing.T, address string, c mail.Config) *node {
	t.Helper()
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context(), mail.Migrations); err != nil {
		t.Fatal(err)
	}
	n := &node{db: db, clock: newClock(), log: &notepad.Pad{}}
	if c.Now == nil {
		c.Now = n.clock.now
	}
	c.Log = slog.New(slog.NewTextHandler(n.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c.URL, c.Poll = platform, 10*time.Millisecond
	if c.Box == nil {
		c.Box = newBox(7)
	}
	if c.From == "" {
		c.From = "no-reply@svc.example"
	}
	if n.Outbox, err = mail.New(db, c); err != nil {
		t.Fatal(err)
	}
	mail.OnRound(n.Outbox, func() { n.rounds.Add(1) })
	return n
}

// run runs the outbox until stop, at the latest to the end of the test.
func (n *node) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := n.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return stop
}

func (n *node) queue(t *testing.T, to string, c mail.Content) {
	t.Helper()
	err := n.db.Write(t.Context(), func(tx *sqldb.Tx) error { return n.Queue(tx, to, c) })
	if err != nil {
		t.Fatal(err)
	}
	n.Wake()
}

// row is what the table says of a mail.
type row struct {
	Kind, State string
	Sealed      bool
	Attempts    int
	Next        time.Duration // since the mail was queued
	Sent        bool
}

func (n *node) rows(t *testing.T) (all []row) {
	t.Helper()
	err := n.db.Read(t.Context(), func(tx *sqldb.Tx) error {
		all = nil
		rows, err := tx.Query("SELECT kind, state, sealed IS NOT NULL, attempts, next_at - created_at, sent_at IS NOT NULL FROM outbox ORDER BY id")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r row
			var next int64
			if err := rows.Scan(&r.Kind, &r.State, &r.Sealed, &r.Attempts, &next, &r.Sent); err != nil {
				return err
			}
			r.Next = time.Duration(next) * time.Millisecond
			all = append(all, r)
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

// looks waits until a whole round has begun and ended: what was due before has been claimed.
func (n *node) looks(t *testing.T) {
	t.Helper()
	before := n.rounds.Load()
	eventually(t, "the outbox looked for what is due", func() bool { return n.rounds.Load() >= before+2 })
}

// eventually waits until the one row of the table is as wanted.
func (n *node) eventually(t *testing.T, want func(row) bool) row {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		rows := n.rows(t)
		if len(rows) == 1 && want(rows[0]) {
			return rows[0]
		}
		if time.Now().After(end) {
			t.Fatalf("the row did not come to it: %+v\n%s", rows, n.log)
		}
	}
}

func state(name string) func(row) bool { return func(r row) bool { return r.State == name } }

// tried is a mail that was tried so often and waits for the next attempt.
func tried(attempts int, next time.Duration) func(row) bool {
	return func(r row) bool { return r.State == "queued" && r.Attempts == attempts && r.Next == next }
}

// quiet fails when the log tells what it must not.
func (n *node) quiet(t *testing.T) {
	t.Helper()
	for _, secret := range []string{token, "ada@", "example.com", "hunter2", "Choose a new"} {
		if strings.Contains(n.log.String(), secret) {
			t.Errorf("the log tells %q:\n%s", secret, n.log)
		}
	}
}

func smtp(s *mailtest.Server) mail.Config { return mail.Config{SMTP: s.URL(), Roots: s.Roots()} }
