package audit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/audit"
)

func (n *node) flush() {
	n.t.Helper()
	if err := n.Flush(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
}

// counted sums the refusals that a chain's events stand for.
func (n *node) counted(scope string) (sum int64) {
	n.t.Helper()
	for _, e := range n.events(scope) {
		sum += e.Count
	}
	return sum
}

func TestFloodOfRefusalsIsAFewEvents(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		var all sync.WaitGroup
		for w := range 10 {
			all.Go(func() {
				for i := range 1000 {
					e := audit.Event{Action: "login", Target: audit.Target{Kind: "email", ID: n.Hash(fmt.Sprint(w, i))}}
					if i%4 == 0 {
						e = audit.Event{Action: "agents.read", Scope: ada, Outcome: audit.Error}
					}
					n.Refused(source(t.Context(), i), e)
					if i == 500 {
						n.flush()
					}
				}
			})
		}
		all.Wait()
		n.flush()
		if len(n.events("")) != 0 || n.count(`SELECT count(*) FROM audit_refusals`) != 2 {
			t.Error("the flood was written before its minute was over")
		}
		n.clock.Advance(64 * time.Second)
		n.flush()
		if len(n.events("")) != 0 {
			t.Error("the minute was closed while other nodes may still write to it")
		}
		n.clock.Advance(time.Second)
		n.flush()
		n.flush()
		login, denied := n.events(""), n.events(ada)
		if len(login) != 1 || login[0].Count != 7500 || login[0].Outcome != audit.Deny || login[0].Action != "login" {
			t.Errorf("sign-ins %+v", login)
		}
		if len(denied) != 1 || denied[0].Count != 2500 || denied[0].Outcome != audit.Error {
			t.Errorf("denials %+v", denied)
		}
		if rest := n.count(`SELECT count(*) FROM audit_refusals`); rest != 0 {
			t.Errorf("%d counts are left", rest)
		}
		n.mustHold()
	})
}

func TestRefusalCarriesTheDetailsOfTheFirst(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.clock.Advance(7 * time.Second)
		at := n.clock.Now()
		n.Refused(source(t.Context(), 1), event("", 1))
		n.clock.Advance(time.Second)
		n.Refused(source(t.Context(), 2), event("", 3)) // the same action
		n.flush()
		n.Refused(source(t.Context(), 3), event("", 5))
		n.clock.Advance(2 * time.Minute)
		n.flush()
		list := n.events("")
		if len(list) != 1 {
			t.Fatalf("%d events", len(list))
		}
		e := list[0]
		if e.Count != 3 || e.Source.RequestID != "req_1" || e.Target.ID != "key_1" || e.Subject == nil || e.Source.Impersonator == nil ||
			!e.At.Equal(at) || e.Actor.ID != "acc_1" || len(e.Changes) != 2 {
			t.Errorf("event %+v", e)
		}
		n.mustHold()
	})
}

func TestEachMinuteIsAnEvent(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	for range 5 {
		n.Refused(t.Context(), audit.Event{Action: "login"})
		n.clock.Advance(time.Minute)
	}
	n.clock.Advance(time.Minute)
	n.flush()
	if list := n.events(""); len(list) != 5 || n.counted("") != 5 {
		t.Errorf("%d events for %d refusals", len(list), n.counted(""))
	}
}

func TestOneNodeClosesAMinuteForAll(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		a := open(t, address)
		nodes := []*node{a, a.second(address)}
		for round := range 5 {
			for i := range 100 {
				nodes[i%2].Refused(t.Context(), audit.Event{Action: fmt.Sprintf("login%d", i%20), Scope: []string{"", ada}[i/2%2]})
			}
			nodes[0].flush()
			nodes[1].flush()
			a.clock.Advance(2 * time.Minute)
			var all sync.WaitGroup
			for i := range 6 {
				all.Go(func() {
					if err := nodes[i%2].Flush(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if sum := a.counted("") + a.counted(ada); sum != int64(round+1)*100 {
				t.Errorf("round %d: %d counted", round, sum)
			}
		}
		if got := len(a.events("")) + len(a.events(ada)); got != 5*20 {
			t.Errorf("%d events for 20 kinds in each of 5 minutes", got)
		}
		a.mustHold()
	})
}

func TestFloodOfScopesIsFolded(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		for i := range 5000 {
			n.Refused(t.Context(), audit.Event{Action: "agents.read", Scope: fmt.Sprintf("users/u%d/personal", i)})
		}
		n.flush()
		for i := range 5000 {
			n.Refused(t.Context(), audit.Event{Action: "agents.read", Scope: fmt.Sprintf("users/v%d/personal", i)})
		}
		n.flush()
		if rows := n.count(`SELECT count(*) FROM audit_refusals`); rows > 1001 {
			t.Errorf("%d rows", rows)
		}
		n.clock.Advance(2 * time.Minute)
		n.flush()
		if sum := n.count(`SELECT sum(count) FROM audit_events`); sum != 10_000 {
			t.Errorf("%d counted", sum)
		}
		if list := n.events(""); len(list) != 1 || list[0].Action != "audit.folded" || list[0].Count != 9000 {
			t.Errorf("folded %+v", list)
		}
		n.Refused(t.Context(), audit.Event{Action: "agents.read", Scope: ada})
		n.clock.Advance(2 * time.Minute)
		n.flush()
		if len(n.events(ada)) != 1 {
			t.Error("the next minute is folded too")
		}
	})
}

func TestRefusalThatIsNoEventIsCountedAllTheSame(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	for _, e := range []audit.Event{{}, {Action: "A B"}, {Action: "x", Outcome: "maybe"}, {Action: "x", Scope: "a\nb"}} {
		n.Refused(t.Context(), e)
	}
	n.clock.Advance(2 * time.Minute)
	n.flush()
	if list := n.events(""); len(list) != 1 || list[0].Count != 4 {
		t.Errorf("events %+v", list)
	}
}

func TestCountsOutliveAFlushThatFails(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	ended, end := context.WithCancel(t.Context())
	end()
	for range 3 {
		n.Refused(t.Context(), audit.Event{Action: "login"})
		if n.Flush(ended) == nil {
			t.Error("flushed on a context that has ended")
		}
		n.clock.Advance(time.Minute)
	}
	n.clock.Advance(time.Minute)
	n.flush()
	if n.counted("") != 3 {
		t.Errorf("%d counted", n.counted(""))
	}
}

func TestSpoiledDetailsDoNotHoldUpACount(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.Refused(t.Context(), audit.Event{Action: "login"})
	n.flush()
	n.exec(`UPDATE audit_refusals SET first = 'spoiled'`)
	n.clock.Advance(2 * time.Minute)
	n.flush()
	if list := n.events(""); len(list) != 1 || list[0].Action != "login" || list[0].Count != 1 {
		t.Errorf("events %+v", list)
	}
	n.mustHold()
}
