package service

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/project/projecttest"
	"svc.dev/svc/service/workspace"
	"svc.dev/svc/sqlstore"
)

// aging is a house and its store whose time is moved by hand, and what they keep for how long.
type aging struct {
	*node
	clock   *projecttest.Clock
	metrics *metrics
}

func newAging(t *testing.T, address string, set ...string) *aging {
	t.Helper()
	a := &aging{clock: projecttest.NewClock(time.UnixMilli(1_782_907_500_000)), metrics: newMetrics()}
	a.node = &node{house: furnished(t, address, func(h *house) {
		h.now, h.swept = a.clock.Now, a.metrics.swept
		for i := 0; i < len(set); i += 2 {
			setTo(t, &h.config, set[i], set[i+1])
		}
	})}
	var err error
	if a.store, err = sqlstore.New(t.Context(), a.db, a.storeConfig(nil)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.store.Close() })
	return a
}

func setTo(t *testing.T, c *config.Config, key, value string) {
	t.Helper()
	for _, s := range c.Settings() {
		if s.Key != key {
			continue
		}
		if err := s.Set(value); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no setting %s", key)
}

// pass lets time go by, and sweeps.
func (a *aging) pass(t *testing.T, d time.Duration) {
	t.Helper()
	a.clock.Advance(d)
	a.sweep(t.Context())
	if _, err := a.store.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (a *aging) rows(t *testing.T, from string) int64 {
	t.Helper()
	n, err := sqldb.Read(t.Context(), a.db, func(tx *sqldb.Tx) (int64, error) {
		return sqldb.Value[int64](tx, "count", "SELECT count(*) FROM "+from)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// mustCount looks for a count where operators see it.
func (a *aging) mustCount(t *testing.T, kind string, n int) {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if want := fmt.Sprintf("%s{kind=%q} %d\n", sweptTotal.Name, kind, n); !strings.Contains(w.Body.String(), want) {
		t.Errorf("/metrics does not say %s", want)
	}
}

// fill makes rows as of now.
func (a *aging) fill(t *testing.T, k kept) {
	t.Helper()
	for i, statement := range strings.Split(k.fill, ";\n") {
		var args []any
		if strings.Contains(statement, "$1") {
			args = append(args, []byte{byte(i)})
		}
		a.exec(t, strings.ReplaceAll(statement, "NOW", fmt.Sprint(a.clock.Now().UnixMilli())), args...)
	}
}

// kept is what one key of retention decides about: how some of it comes to be at a time, and what is left of it.
type kept struct {
	key, kind string
	age       time.Duration // for which it stays
	fill      string        // statements, NOW for the time and $1 for some bytes
	left      string        // rows, of which there are two at first
}

const keptDay = 24 * time.Hour

var keeps = []kept{
	{"retention.sessions", sweptSessions, 3 * keptDay, `
INSERT INTO sessions (id, token, account, created_at, last_seen_at, auth_time, auth_method, ip, user_agent, surface, revoked_at) VALUES ('s', 't', 'a', NOW, NOW, NOW, 'password', '', '', 'platform', NOW);
INSERT INTO tokens (hash, purpose, account, created_at, expires_at, used_at) VALUES ('h', 'reset', 'a', NOW, NOW, NOW)`,
		"(SELECT id FROM sessions UNION ALL SELECT hash FROM tokens) AS ended"},
	{"retention.sessions", sweptDeliveries, 3 * keptDay, `
INSERT INTO deliveries (provider, id, event, action, received_at) VALUES ('github', '1', 'push', '', NOW);
INSERT INTO deliveries (provider, id, event, action, received_at) VALUES ('github', '2', 'push', '', NOW)`, "deliveries"},
	{"retention.deliveries", sweptDeliveries, 4 * keptDay, `
INSERT INTO dispatches (provider, delivery, workspace, kind, scope, event, installation, bytes, state, next_at, created_at) VALUES ('github', '1', 'w', 'channel', 's', 'push', 1, 1, 'dead', NOW, NOW);
INSERT INTO delivery_bodies (provider, delivery, sealed, received_at) VALUES ('github', '1', '', NOW)`,
		"(SELECT delivery FROM dispatches UNION ALL SELECT delivery FROM delivery_bodies) AS passed"},
	{"retention.outbox", sweptMails, 5 * keptDay, `
INSERT INTO outbox (id, kind, state, next_at, created_at, expires_at) VALUES ('1', 'x', 'sent', NOW, NOW, NOW);
INSERT INTO outbox (id, kind, state, next_at, created_at, expires_at) VALUES ('2', 'x', 'dead', NOW, NOW, NOW)`, "outbox"},
	{"retention.idempotency", sweptReceipts, 6 * keptDay, `
INSERT INTO receipts (id, request, body, made_at) VALUES ($1, 'r', $1, NOW);
INSERT INTO receipts (id, request, body, made_at) VALUES ($1, 'r', $1, NOW)`, "receipts"},
	{"retention.idempotency", sweptKeys, 6 * keptDay, `
INSERT INTO submissions (stream, seq, id, kind, tail, admitted_at, outcome, idem) VALUES (0, 0, 'a', 'direct', 0, NOW, 'completed', 'one');
INSERT INTO submissions (stream, seq, id, kind, tail, admitted_at, outcome, idem) VALUES (0, 1, 'b', 'direct', 0, NOW, 'completed', 'two')`,
		"submissions WHERE idem IS NOT NULL"},
	{"retention.runs", sweptRuns, 9 * keptDay, `
INSERT INTO streams (scope, kind, name, instance, next_seq, done_seq, closed) VALUES ('users/ada/shop', 'run', 'w', 'run_0', 1, 1, TRUE);
INSERT INTO runs (scope, id, stream, workflow, status, started_at, ended_at) SELECT scope, instance, id, name, 'completed', NOW, NOW FROM streams WHERE instance = 'run_0';
INSERT INTO streams (scope, kind, name, instance, next_seq, done_seq, closed) VALUES ('admin', 'run', 'w', 'run_00', 1, 1, TRUE);
INSERT INTO runs (scope, id, stream, workflow, status, started_at, ended_at) SELECT scope, instance, id, name, 'errored', NOW, NOW FROM streams WHERE instance = 'run_00'`, "runs"},
	{"retention.conversations", sweptConversations, 10 * keptDay, `
INSERT INTO streams (scope, kind, name, instance, next_seq, done_seq, used_at) VALUES ('users/ada/shop', 'agent', 'central', 'c', 1, 1, NOW);
INSERT INTO streams (scope, kind, name, instance, next_seq, done_seq, used_at) VALUES ('admin', 'agent', 'central', 'c', 1, 1, NOW)`, "streams WHERE kind = 'agent' AND NOT dropped"},
}

// TestEachRetentionIsKeptAndNoLonger moves the clock to an hour before the end of each, and an hour past it.
func TestEachRetentionIsKeptAndNoLonger(t *testing.T) {
	var set []string
	for _, k := range keeps {
		set = append(set, k.key, fmt.Sprintf("%dd", k.age/keptDay))
	}
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		a := newAging(t, address, set...)
		for _, k := range keeps {
			a.fill(t, k)
		}
		begun, counted := a.clock.Now(), map[string]int{}
		look := func(age time.Duration, want int64) {
			t.Helper()
			for _, k := range keeps {
				if n := a.rows(t, k.left); k.age == age && n != want {
					t.Errorf("%s: after %s %d of %s are left, want %d", k.key, a.clock.Now().Sub(begun), n, k.kind, want)
				}
			}
		}
		for i, k := range keeps {
			if i == 0 || k.age != keeps[i-1].age {
				a.pass(t, begun.Add(k.age-time.Hour).Sub(a.clock.Now()))
				look(k.age, 2)
				a.pass(t, 2*time.Hour)
				look(k.age, 0)
			}
			counted[k.kind] += 2
			a.mustCount(t, k.kind, counted[k.kind])
		}
	})
}

func TestTheAuditLogIsKeptForItsRetention(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		a := newAging(t, address, "retention.audit", "400d")
		tell := func(scope string) {
			t.Helper()
			err := a.db.Write(t.Context(), func(tx *sqldb.Tx) error {
				return a.audit.Append(t.Context(), tx, audit.Event{Action: "test.done", Scope: scope, Target: audit.Target{Kind: "test", ID: "1"}})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, scope := range []string{"", "users/ada/shop", "users/bo/shop"} {
			tell(scope)
		}
		// What somebody changed is not deleted, and keeps nothing else.
		a.exec(t, "UPDATE audit_events SET actor_id = 'acc_eve' WHERE chain = 'users/bo/shop'")
		a.pass(t, 399*keptDay)
		tell("users/ada/shop")
		before := a.rows(t, "audit_events")
		a.pass(t, 2*keptDay)
		if n := a.rows(t, "audit_events"); n != before-2 {
			t.Errorf("%d events are left of %d, want two less", n, before)
		}
		a.mustCount(t, sweptAudit, 2)
	})
}

func TestWhatIsKeptIsKept(t *testing.T) {
	a := newAging(t, sqldbtest.SQLite(t))
	for _, k := range keeps {
		if k.kind != sweptRuns && k.kind != sweptConversations {
			continue
		}
		a.exec(t, "DELETE FROM streams")
		a.fill(t, k)
		a.pass(t, 10_000*keptDay)
		if n := a.rows(t, k.left); n != 2 {
			t.Errorf("%s: %d are left, want 2", k.key, n)
		}
	}
}

func TestADeletedWorkspaceIsHeld(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		a := newAging(t, address, "retention.hold", "3d")
		ada := a.person(t, "ada", true)
		shop, err := a.spaces.Create(t.Context(), workspace.Caller{Actor: ada.Actor()}, "shop", "Shop")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.spaces.Delete(t.Context(), workspace.Caller{Actor: ada.Actor()}, shop.Scope, "shop"); err != nil {
			t.Fatal(err)
		}
		a.pass(t, 3*keptDay-time.Hour)
		if n := a.rowsWith(t, "members", "workspace", shop.ID); n != 1 {
			t.Errorf("while it is held %d people are left in it", n)
		}
		a.pass(t, 2*time.Hour)
		if n := a.rowsWith(t, "members", "workspace", shop.ID); n != 0 {
			t.Errorf("past its hold %d people are left in it", n)
		}
		a.mustCount(t, sweptWorkspaces, 1)
	})
}

// TestASweepBeginsWithTheStart looks at the pauses before sweeps: the first is short.
func TestASweepBeginsWithTheStart(t *testing.T) {
	for range 100 {
		pause := sweepPauses()
		if first := pause(); first > sweepFirst {
			t.Fatalf("the first sweep begins after %s", first)
		}
		if next := pause(); next < sweepEvery/2 || next > 2*sweepEvery {
			t.Fatalf("the next begins after %s", next)
		}
	}
}
