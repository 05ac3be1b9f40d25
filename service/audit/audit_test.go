package audit_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/audit"
)

const (
	ada = "users/ada/northwind"
	bo  = "users/bo/personal"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

var soak = os.Getenv("SVC_SOAK") != ""

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.UnixMilli(1_782_907_500_000).Truncate(time.Minute)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// node is a log on its handle of the database.
type node struct {
	*audit.Log
	t      testing.TB
	db     *sqldb.DB
	clock  *clock
	folder string
}

func openDB(t testing.TB, address string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{Synchronous: "NORMAL", Log: quiet, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Migrate(t.Context(), audit.Migrations); err != nil {
		t.Fatal(err)
	}
	return db
}

func open(t testing.TB, address string) *node {
	t.Helper()
	n := &node{t: t, db: openDB(t, address), clock: newClock(), folder: filepath.Join(t.TempDir(), "audit")}
	n.reopen()
	return n
}

// reopen is what a restart does to a log.
func (n *node) reopen() {
	n.t.Helper()
	n.Log = openLog(n.t, n.db, n.config())
}

func (n *node) config() audit.Config {
	return audit.Config{
		Key: bytes.Repeat([]byte{1}, 32), Seed: bytes.Repeat([]byte{2}, 32), Folder: n.folder, Now: n.clock.Now,
		Log: quiet,
	}
}

func openLog(t testing.TB, db *sqldb.DB, c audit.Config) *audit.Log {
	t.Helper()
	l, err := audit.Open(t.Context(), db, c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// second is another node on the same database: on SQLite it shares the handle.
func (n *node) second(address string) *node {
	n.t.Helper()
	other := &node{t: n.t, db: n.db, clock: n.clock, folder: filepath.Join(n.t.TempDir(), "audit")}
	if n.db.Dialect() == sqldb.Postgres {
		other.db = openDB(n.t, address)
	}
	other.reopen()
	return other
}

func (n *node) append(events ...audit.Event) {
	n.t.Helper()
	if err := n.write(n.t.Context(), events...); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) write(ctx context.Context, events ...audit.Event) error {
	return n.db.Write(context.WithoutCancel(ctx), func(tx *sqldb.Tx) error { return n.Append(ctx, tx, events...) })
}

// fill appends so many events to a scope's chain, of which no two are alike and no column is empty.
func (n *node) fill(scope string, count int) {
	n.t.Helper()
	for done := 0; done < count; {
		err := n.db.Write(n.t.Context(), func(tx *sqldb.Tx) error {
			for i := done; i < min(done+100, count); i++ {
				if err := n.Append(source(n.t.Context(), i), tx, event(scope, i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			n.t.Fatal(err)
		}
		done += 100
		n.clock.Advance(time.Second)
	}
}

func source(ctx context.Context, i int) context.Context {
	return audit.With(ctx, audit.Source{
		RequestID: fmt.Sprintf("req_%d", i), IP: "192.0.2.1", UserAgent: "curl/8", Surface: "agents", Authority: "customer",
		Impersonator: &audit.Actor{Kind: audit.Account, ID: "acc_staff", Username: "sam"},
	})
}

func event(scope string, i int) audit.Event {
	return audit.Event{
		Actor: audit.Actor{Kind: audit.Account, ID: fmt.Sprintf("acc_%d", i%3), Username: "ada"}, Subject: &audit.Actor{Kind: audit.Account, ID: "acc_9", Username: "li"},
		Action: fmt.Sprintf("key.create%d", i%2), Target: audit.Target{Kind: "key", ID: fmt.Sprintf("key_%d", i)}, Scope: scope,
		Changes: []string{"name", "scopes"},
	}
}

func (n *node) exec(query string, args ...any) {
	n.t.Helper()
	err := n.db.Write(n.t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
	if err != nil {
		n.t.Fatalf("%s: %v", query, err)
	}
}

func (n *node) count(query string, args ...any) (count int64) {
	n.t.Helper()
	err := n.db.Read(n.t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow(query, args...).Scan(&count) })
	if err != nil {
		n.t.Fatalf("%s: %v", query, err)
	}
	return count
}

func (n *node) checkpoint() {
	n.t.Helper()
	if err := n.Checkpoint(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) verify() audit.Report {
	n.t.Helper()
	r, err := n.Verify(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

func (n *node) mustHold() {
	n.t.Helper()
	if r := n.verify(); !r.OK() {
		n.t.Errorf("found %v", r.Faults)
	}
}

// mustBlame expects one fault in that chain, at that event.
func (n *node) mustBlame(chain string, seq int64) {
	n.t.Helper()
	r := n.verify()
	for _, f := range r.Faults {
		if f.File == "" && f.Chain == chain {
			if f.Seq != seq {
				n.t.Errorf("blamed event %d of %q, want %d: %s", f.Seq, chain, seq, f.Reason)
			}
			return
		}
	}
	n.t.Errorf("did not blame event %d of %q: %v", seq, chain, r.Faults)
}

func (n *node) events(scope string) (list []audit.Event) {
	n.t.Helper()
	err := n.Export(n.t.Context(), scope, func(e audit.Event) error {
		list = append(list, e)
		return nil
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return list
}

func TestEventIsReadAsItWasMeant(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		ctx := audit.With(t.Context(), audit.Source{
			RequestID: "req_1", IP: "2001:db8::1", UserAgent: "curl/8", Surface: "admin", Authority: "admin",
			Actor: audit.Actor{Kind: audit.Account, ID: "acc_1", Username: "sam"},
		})
		err := n.write(ctx, audit.Event{
			Action: "account.suspend", Target: audit.Target{Kind: "account", ID: "acc_2"},
			Subject: &audit.Actor{Kind: audit.Account, ID: "acc_2", Username: "ada"}, Changes: []string{"status"}, Scope: ada,
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(n.events(ada)[0])
		if err != nil {
			t.Fatal(err)
		}
		hash := n.events(ada)[0].Hash
		want := `{"action":"account.suspend","actor":{"id":"acc_1","kind":"account","username":"sam"},"authority":"admin",` +
			`"chain":"users/ada/northwind","changes":["status"],"hash":"` + hex.EncodeToString(hash) + `","ip":"2001:db8::1",` +
			`"outcome":"allow","prevHash":"` + strings.Repeat("00", 32) + `","requestId":"req_1","scope":"users/ada/northwind","seq":1,` +
			`"subject":{"id":"acc_2","kind":"account","username":"ada"},"surface":"admin","target":{"id":"acc_2","kind":"account"},` +
			`"ts":"2026-07-01T12:05:00.000Z","userAgent":"curl/8"}`
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// TestExportIsVerifiedWithNothingButSHA256 does what a customer can do with a file of ours and no code of ours.
func TestExportIsVerifiedWithNothingButSHA256(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.fill(ada, 20)
		n.append(audit.Event{Action: "x", Scope: ada, Target: audit.Target{ID: "<&>\"\\é\u2028🎉"}})
		prev := make([]byte, 32)
		for _, e := range n.events(ada) {
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var fields map[string]any
			decoder := json.NewDecoder(bytes.NewReader(line))
			decoder.UseNumber()
			if err := decoder.Decode(&fields); err != nil {
				t.Fatal(err)
			}
			hash := fields["hash"]
			delete(fields, "hash")
			var text bytes.Buffer
			encoder := json.NewEncoder(&text)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(fields); err != nil { // keys of a map are sorted
				t.Fatal(err)
			}
			sum := sha256.Sum256(append(prev, bytes.TrimSpace(text.Bytes())...))
			if hex.EncodeToString(sum[:]) != hash {
				t.Fatalf("event %d has another hash: %s", e.Seq, text.Bytes())
			}
			prev = sum[:]
		}
	})
}

func TestActAndEventStandTogetherOrNotAtAll(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.exec(`CREATE TABLE acts (id INTEGER)`)
		n.fill(ada, 3)
		act := func(after func(tx *sqldb.Tx) error) error {
			return n.db.Write(t.Context(), func(tx *sqldb.Tx) error {
				if _, err := tx.Exec(`INSERT INTO acts VALUES (1)`); err != nil {
					return err
				}
				return after(tx)
			})
		}
		crash := errors.New("crash")
		hostile := map[string]func(tx *sqldb.Tx) error{
			"the act fails after its event": func(tx *sqldb.Tx) error {
				return errors.Join(n.Append(t.Context(), tx, event(ada, 1), event("", 1)), crash)
			},
			"a statement fails after the event and is swallowed": func(tx *sqldb.Tx) error {
				err := n.Append(t.Context(), tx, event(ada, 1))
				_, _ = tx.Exec(`INSERT INTO nowhere VALUES (1)`)
				return err
			},
			"the process dies between act and event": func(tx *sqldb.Tx) error { panic("killed") },
			"the process dies after the event": func(tx *sqldb.Tx) error {
				_ = n.Append(t.Context(), tx, event(ada, 1))
				panic("killed")
			},
			"the event has no action":  func(tx *sqldb.Tx) error { return n.Append(t.Context(), tx, audit.Event{}) },
			"the event has no outcome": func(tx *sqldb.Tx) error { return n.Append(t.Context(), tx, audit.Event{Action: "x", Outcome: "maybe"}) },
			"the scope ends the line": func(tx *sqldb.Tx) error {
				return n.Append(t.Context(), tx, event(ada, 1), audit.Event{Action: "x", Scope: "users/ada\n"})
			},
		}
		for name, after := range hostile {
			if act(after) == nil {
				t.Errorf("%s: no error", name)
			}
			if acts, events := n.count(`SELECT count(*) FROM acts`), n.count(`SELECT count(*) FROM audit_events`); acts != 0 || events != 3 {
				t.Errorf("%s: %d acts, %d events", name, acts, events)
			}
		}
		if err := act(func(tx *sqldb.Tx) error { return n.Append(t.Context(), tx, event(ada, 1)) }); err != nil {
			t.Fatal(err)
		}
		if n.count(`SELECT count(*) FROM acts`) != 1 || len(n.events(ada)) != 4 {
			t.Error("the act that succeeded is not there")
		}
		n.mustHold()
	})
}

func TestWritersOnTwoNodesKeepOneChain(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		a := open(t, address)
		nodes := []*node{a, a.second(address)}
		const writers, each = 8, 25
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range each {
					// Two chains in one act, named in either order.
					list := []audit.Event{event(ada, i), event(bo, i)}
					if w%2 == 1 {
						slices.Reverse(list)
					}
					list[1].Service = true
					if err := nodes[w%2].write(t.Context(), list...); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		a.mustHold()
		for _, chain := range []string{ada, bo, ""} {
			list := a.events(chain)
			if len(list) != writers*each {
				t.Errorf("%q has %d events", chain, len(list))
			}
			for i, e := range list {
				if e.Seq != int64(i)+1 {
					t.Fatalf("event %d of %q has seq %d", i, chain, e.Seq)
				}
			}
		}
	})
}

func TestActOfStaffStandsInBothChains(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.append(audit.Event{Action: "workspace.suspend", Scope: ada, Service: true}, audit.Event{Action: "login", Service: true})
		if list := n.events(ada); len(list) != 1 || list[0].Chain != ada || list[0].Scope != ada {
			t.Errorf("the customer sees %v", list)
		}
		if list := n.events(""); len(list) != 2 || list[0].Chain != "" || list[0].Scope != ada || list[1].Scope != "" {
			t.Errorf("the service sees %v", list)
		}
		n.mustHold()
	})
}

func TestNobodyIsAnonymous(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.append(audit.Event{Action: "x", Subject: &audit.Actor{}})
	if e := n.events("")[0]; e.Actor != (audit.Actor{Kind: audit.Anonymous}) || e.Subject != nil {
		t.Errorf("actor %v, subject %v", e.Actor, e.Subject)
	}
}

func TestWhatTheLogSetsACallerCannot(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.append(audit.Event{
		Action: "x", Chain: ada, Seq: 77, At: time.Unix(0, 0), Count: 9, PrevHash: []byte{1}, Hash: []byte{2},
		Source: audit.Source{IP: "forged"},
	})
	e := n.events("")[0]
	if e.Chain != "" || e.Seq != 1 || !e.At.Equal(n.clock.Now()) || e.Count != 0 || e.Source.IP != "" {
		t.Errorf("got %+v", e)
	}
	n.mustHold()
}

func TestNoValuePassesForAnotherLine(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		hostile := []struct{ value, want string }{
			{"a\nlevel=INFO msg=\"forged\"", `a\u000alevel=INFO msg="forged"`},
			{"a\r\nb\tc", `a\u000d\u000ab\u0009c`},
			{"zero\x00byte", `zero\u0000byte`},
			{"\x1b[2Jcleared", `\u001b[2Jcleared`},
			{"\u202egnp.exe", `\u202egnp.exe`},
			{"line\u2028separator\u2029", `line\u2028separator\u2029`},
			{"c1\u009bcontrol\u0085", `c1\u009bcontrol\u0085`},
			{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`},
			{"broken\xff\xc0", `broken\xff\xc0`},
			{"tag\U000e0001", `tag\U000e0001`},
			{`","hash":"0"}`, `","hash":"0"}`},
			{`\u000a`, `\u000a`},
			{"é 日本 🎉", "é 日本 🎉"},
			{strings.Repeat("a", 300), strings.Repeat("a", 256)},
			{strings.Repeat("é", 200), strings.Repeat("é", 128)},
			{strings.Repeat("\n", 100_000), strings.Repeat(`\u000a`, 42)},
			{strings.Repeat("x", 255) + "é", strings.Repeat("x", 255)},
		}
		for i, h := range hostile {
			v := h.value
			actor := audit.Actor{Kind: v, ID: v, Username: v}
			ctx := audit.With(t.Context(), audit.Source{RequestID: v, IP: v, UserAgent: v, Surface: v, Authority: v, Impersonator: &actor})
			err := n.write(ctx, audit.Event{Actor: actor, Subject: &actor, Action: "x", Target: audit.Target{Kind: v, ID: v}, Changes: []string{v}})
			if err != nil {
				t.Fatalf("%.20q: %v", v, err)
			}
			e := n.events("")[i]
			for _, got := range []string{
				e.Actor.Kind, e.Actor.ID, e.Actor.Username, e.Subject.Username, e.Source.Impersonator.ID, e.Target.Kind, e.Target.ID,
				e.Source.RequestID, e.Source.IP, e.Source.UserAgent, e.Source.Surface, e.Source.Authority, e.Changes[0],
			} {
				if got != h.want {
					t.Errorf("%.20q is %.300q, want %.300q", v, got, h.want)
				}
			}
			if line, err := json.Marshal(e); err != nil || bytes.ContainsAny(line, "\n\r\x00\x1b") {
				t.Errorf("line %q, error %v", line, err)
			}
		}
		n.mustHold()
	})
}

func TestManyChangesAreCut(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.append(audit.Event{Action: "x", Changes: make([]string, 5000)})
	if got := len(n.events("")[0].Changes); got != 100 {
		t.Errorf("%d names", got)
	}
	n.mustHold()
}

func TestHashMatchesAndHides(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	c := n.config()
	c.Key = bytes.Repeat([]byte{7}, 32)
	other := openLog(t, n.db, c)
	a := n.Hash("ada@example.com")
	if a != n.Hash("ada@example.com") || a == n.Hash("bo@example.com") || a == other.Hash("ada@example.com") {
		t.Error("hashes do not tell apart what they should")
	}
	if strings.Contains(a, "ada") || len(a) != len("hmac-sha256:")+64 {
		t.Errorf("hash %s", a)
	}
}

func TestKeysThatAreNoneAreRefused(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	for _, c := range []audit.Config{{}, {Key: make([]byte, 31), Seed: make([]byte, 32)}, {Key: make([]byte, 32), Seed: make([]byte, 31)}, {Key: make([]byte, 32), Seed: make([]byte, 64)}} {
		if _, err := audit.Open(t.Context(), n.db, c); err == nil {
			t.Errorf("opened with %d and %d bytes", len(c.Key), len(c.Seed))
		}
	}
}
