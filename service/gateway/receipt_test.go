package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/operation"
)

// keyed sends what a target takes, with a key.
func (s *onslaught) keyed(t *testing.T, target target, body, key string) reply {
	t.Helper()
	at := s.filled(target.path)
	if query := target.encoded("", ""); query != "" {
		at += "?" + query
	}
	r, err := http.NewRequestWithContext(t.Context(), target.method, s.server.URL+at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Header = s.hosts[target.on], s.page(target.on)
	r.Header.Set("Cookie", s.cookie)
	r.Header.Set("Idempotency-Key", key)
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return reply{answer, string(text)}
}

// TestEveryWriteIsDoneOnceForItsKey sends what every route takes that changes something, and sends it again.
func TestEveryWriteIsDoneOnceForItsKey(t *testing.T) {
	keeps := map[string]bool{}
	for _, l := range gateway.Lines() {
		keeps[l.Method+" "+l.Path] = l.Keeps
	}
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := newOnslaught(t, address)
		done := 0
		for n, target := range s.targets(t) {
			if !keeps[target.method+" "+target.path] {
				continue
			}
			s.Clock.Pass(time.Hour)
			s.signIn(t)
			key, body := fmt.Sprint("key-", n), target.encode("", vile{})
			first := s.keyed(t, target, body, key)
			s.signIn(t)
			if first.StatusCode >= 300 {
				if again := s.keyed(t, target, body, key); again.Header.Get("Idempotency-Replayed") != "" {
					t.Errorf("%s: a refusal is kept: %d %s", target, first.StatusCode, first.body)
				}
				continue
			}
			done++
			again := s.keyed(t, target, body, key)
			if again.StatusCode != first.StatusCode || again.body != first.body || again.Header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%s: %d %s, then %d %s", target, first.StatusCode, first.body, again.StatusCode, again.body)
			}
			for _, name := range []string{"ETag", "Location", "Content-Type", "Cache-Control"} {
				if first.Header.Get(name) != again.Header.Get(name) {
					t.Errorf("%s: %s is %q, then %q", target, name, first.Header.Get(name), again.Header.Get(name))
				}
			}
			if body != "" {
				s.keyed(t, target, body+" ", key).wants(t, 409, "idempotency_conflict")
			}
		}
		if done < 30 {
			t.Errorf("only %d routes did something", done)
		}
		t.Logf("%d routes", done)
	})
}

// TestRacingRequestsWithOneKeyMakeOneThing makes teams, which may have equal names in different tries and never twice in one.
func TestRacingRequestsWithOneKeyMakeOneThing(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := newOnslaught(t, address)
		s.signIn(t)
		for try := range 10 {
			var all sync.WaitGroup
			answers := make([]reply, 8)
			make := target{on: gateway.Agents, method: "POST", path: "/api/workspaces/{username}/{business}/teams"}
			for i := range answers {
				all.Go(func() {
					answers[i] = s.keyed(t, make, fmt.Sprintf(`{"name":"Team %d"}`, try), fmt.Sprint("race-", try))
				})
			}
			all.Wait()
			fresh := slices.DeleteFunc(slices.Clone(answers), func(r reply) bool { return r.Header.Get("Idempotency-Replayed") != "" })
			for _, got := range answers {
				if got.StatusCode != 201 || got.body != answers[0].body || len(fresh) != 1 {
					t.Fatalf("%d %s, of %d first ones", got.StatusCode, got.body, len(fresh))
				}
			}
		}
		var teams int
		err := s.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
			return tx.QueryRow("SELECT count(*) FROM teams WHERE name LIKE 'Team %'").Scan(&teams)
		})
		if err != nil || teams != 10 {
			t.Errorf("%d teams, %v", teams, err)
		}
	})
}

func TestWhatHoldsASecretIsShownAgainForTenMinutes(t *testing.T) {
	s := newOnslaught(t, address(t))
	s.signIn(t)
	make := target{on: gateway.Agents, method: "POST", path: "/api/workspaces/{username}/{business}/keys"}
	body := `{"name":"ci","scopes":["agents:read"]}`
	first := s.keyed(t, make, body, "once").wants(t, 201, "")
	s.Clock.Pass(9 * time.Minute)
	if again := s.keyed(t, make, body, "once").wants(t, 201, ""); again.body != first.body {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	s.Clock.Pass(2 * time.Minute)
	s.signIn(t)
	s.keyed(t, make, body, "once").wants(t, 409, "idempotency_conflict")
}

func TestAKeyIsAFewVisibleCharacters(t *testing.T) {
	s := newOnslaught(t, address(t))
	s.signIn(t)
	make := target{on: gateway.Agents, method: "POST", path: "/api/workspaces/{username}/{business}/teams"}
	for _, key := range []string{"", "a b", "é", strings.Repeat("x", 257)} {
		s.keyed(t, make, `{"name":"T"}`, key).wants(t, 400, "invalid_request")
	}
}

// TestAPanicIsAnsweredThoughTheAnswerIsHeldBack has a route fall over that a key came with.
func TestAPanicIsAnsweredThoughTheAnswerIsHeldBack(t *testing.T) {
	s := &onslaught{scene: quick(t, func(c *gateway.Config) {
		c.Receipts.Patience = 50 * time.Millisecond
		c.Rotate = func(context.Context) (operation.Rotation, error) { panic("it fell over") }
	})}
	cookie, _ := s.hire(t, "root1", account.RoleAdmin)
	s.cookie = s.elevate(t, cookie)
	rotate := target{on: gateway.Admin, method: "POST", path: "/api/admin/secret-store/rotate"}
	s.keyed(t, rotate, "", "k").wants(t, 500, "internal_error")
	s.keyed(t, rotate, "", "k").wants(t, 409, "idempotency_conflict") // that it was asked for is on record, and nobody knows what came of it
}
