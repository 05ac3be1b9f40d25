package device_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/device"
	"svc.dev/svc/service/workspace"
)

// wrong reports whether a code was refused as wrong.
func wrong(err error) bool { return fault.Is(err, fault.InvalidRequest) }

// TestCodesCannotBeGuessed counts wrong ones: five of an account and twenty of an address in an hour, whatever is done with them.
func TestCodesCannotBeGuessed(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		a := s.ask(t)
		acts := map[string]func(code string) error{
			"look": func(code string) error { return s.look(accounttest.From(t), s.bob.Who, code) },
			"approve": func(code string) error {
				return s.Devices.Approve(accounttest.From(t), s.bob.Who, s.acme, device.Approval{UserCode: code, Scopes: []string{"runs:read"}, Life: day})
			},
			"deny": func(code string) error { return s.Devices.Deny(accounttest.From(t), s.bob.Who, code) },
		}
		for i, name := range []string{"look", "approve", "deny", "approve", "look"} {
			if err := acts[name](guess(i)); !wrong(err) {
				t.Fatalf("%s, the %d. time: %v", name, i+1, err)
			}
		}
		for name, act := range acts {
			for _, code := range []string{guess(9), a.UserCode} { // the right one too: who guesses learns nothing more
				err := act(code)
				if f := fault.From(err); f.Type != fault.RateLimited || f.Meta["limit"] != "device_code" || f.RetryAfter < time.Minute || f.RetryAfter > 12*time.Minute {
					t.Errorf("%s %s: %v after %s", name, code, err, f.RetryAfter)
				}
			}
		}
		accounttest.Check(t, s.look(accounttest.From(t), s.ada.Who, a.UserCode)) // others do not pay for it
		s.tells(t, a, device.Pending)
		s.Clock.Pass(time.Hour)
		if err := acts["look"](guess(10)); !wrong(err) {
			t.Errorf("an hour later: %v", err)
		}
	})
}

func TestAnAddressGuessesNoMoreByManyAccounts(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		a, from := s.ask(t), accounttest.Request(t, "2001:db8::1")
		for i := range 5 {
			p := s.Join(t, fmt.Sprintf("eve%d@example.com", i))
			for j := range 4 {
				if err := s.look(accounttest.Request(t, fmt.Sprintf("2001:db8::%d:%d", i+1, j)), p.Who, guess(10*i+j)); !wrong(err) {
					t.Fatalf("%d of account %d: %v", j, i, err)
				}
			}
		}
		accounttest.Is(t, s.look(from, s.bob.Who, guess(99)), fault.RateLimited)
		accounttest.Is(t, s.look(from, s.bob.Who, a.UserCode), fault.RateLimited)
		accounttest.Check(t, s.look(accounttest.Request(t, "2001:db8:0:1::1"), s.bob.Who, a.UserCode))
	})
}

// TestOfCodesThatComeAtOnceFewAreTried guesses by many requests at a time, on two nodes.
func TestOfCodesThatComeAtOnceFewAreTried(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		s := set(t, accounttest.New(t, address, accounttest.Options{}), workspace.Viewer)
		other := accounttest.New(t, address, accounttest.Options{Beside: s.World})
		var tried, limited atomic.Int64
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				at := []*device.Devices{s.Devices, other.Devices}[i%2]
				err := accounttest.ErrOf(at.Look(accounttest.From(t), s.bob.Who, guess(i)))
				switch {
				case wrong(err):
					tried.Add(1)
				case fault.Is(err, fault.RateLimited):
					limited.Add(1)
				default:
					t.Errorf("a guess: %v", err)
				}
			})
		}
		all.Wait()
		if tried.Load() != 5 || limited.Load() != 35 {
			t.Errorf("%d tried, %d limited", tried.Load(), limited.Load())
		}
	})
}

// TestTheRightCodeCostsNothing looks at what people do who do nothing wrong, many times.
func TestTheRightCodeCostsNothing(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		from := accounttest.From(t)
		for range 30 {
			a := s.ask(t)
			accounttest.Check(t, s.look(from, s.bob.Who, a.UserCode))
			accounttest.Check(t, s.Devices.Deny(from, s.bob.Who, a.UserCode))
		}
		for range 30 { // what can be no code is no guess
			if err := s.look(from, s.bob.Who, "AEIO-UUUU"); !wrong(err) {
				t.Fatal(err)
			}
		}
	})
}

// TestACodeIsAnsweredOnce takes it to another session, account and answer when somebody has answered: it is as good as a wrong one, and
// nothing changes.
func TestACodeIsAnsweredOnce(t *testing.T) {
	for name, answer := range map[string]struct {
		do   func(t *testing.T, s *scene, a device.Asked)
		want device.Verdict
	}{
		"approved": {func(t *testing.T, s *scene, a device.Asked) { s.approve(t, runs(a)) }, ""},
		"denied": {func(t *testing.T, s *scene, a device.Asked) {
			accounttest.Check(t, s.Devices.Deny(accounttest.From(t), s.bob.Who, a.UserCode))
		}, device.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *scene) {
				a := s.ask(t)
				accounttest.Check(t, s.look(accounttest.From(t), s.ada.Who, a.UserCode)) // she has the page open
				answer.do(t, s, a)
				again, err := s.Passwords.Login(accounttest.From(t), "bob@example.com", accounttest.Password, "")
				accounttest.Check(t, err)
				for who, err := range map[string]error{
					"another looks":                 s.look(accounttest.From(t), s.ada.Who, a.UserCode),
					"another approves":              s.Devices.Approve(accounttest.From(t), s.ada.Who, s.acme, runs(a)),
					"another denies":                s.Devices.Deny(accounttest.From(t), s.ada.Who, a.UserCode),
					"another session approves":      s.Devices.Approve(accounttest.From(t), again.Who, s.acme, device.Approval{UserCode: a.UserCode, Scopes: []string{"agents:write"}, Life: 90 * day}),
					"whoever has answered denies":   s.Devices.Deny(accounttest.From(t), s.bob.Who, a.UserCode),
					"whoever has answered approves": s.Devices.Approve(accounttest.From(t), s.bob.Who, s.acme, runs(a)),
				} {
					if !wrong(err) {
						t.Errorf("%s: %v", who, err)
					}
				}
				g, v := s.fetch(t, a)
				if v != answer.want || v == "" && (g.Creator != s.bob.Account.ID || !slices.Equal(g.Scopes, []string{"runs:read"})) {
					t.Errorf("%q, %+v", v, g.Key)
				}
			})
		})
	}
}

func TestOfAnswersAtOnceOneCounts(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		s := set(t, accounttest.New(t, address, accounttest.Options{}), workspace.Builder)
		other := accounttest.New(t, address, accounttest.Options{Beside: s.World})
		for range 5 {
			a := s.ask(t)
			var done sync.Map
			var all sync.WaitGroup
			for name, answer := range map[string]func() error{
				s.bob.Account.ID: func() error { return s.Devices.Approve(accounttest.From(t), s.bob.Who, s.acme, runs(a)) },
				s.ada.Account.ID: func() error { return other.Devices.Approve(accounttest.From(t), s.ada.Who, s.acme, runs(a)) },
				"nobody":         func() error { return other.Devices.Deny(accounttest.From(t), s.ada.Who, a.UserCode) },
			} {
				all.Go(func() {
					if err := answer(); err == nil {
						done.Store(name, true)
					} else if !wrong(err) {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			all.Wait()
			var by []any
			done.Range(func(name, _ any) bool { by = append(by, name); return true })
			if g, _ := s.fetch(t, a); len(by) != 1 || g.Creator != by[0] && by[0] != "nobody" {
				t.Errorf("answered by %v, the key is of %q", by, g.Creator)
			}
			s.Execute(t, "DELETE FROM throttles") // those who came late have counted
		}
	})
}

// TestOfPollsAtOnceOneWins on two nodes, and the key that it got works.
func TestOfPollsAtOnceOneWins(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		s := set(t, accounttest.New(t, address, accounttest.Options{}), workspace.Builder)
		other := accounttest.New(t, address, accounttest.Options{Beside: s.World})
		for range 5 {
			a := s.ask(t)
			s.approve(t, runs(a))
			var keys, slowed sync.Map
			var all sync.WaitGroup
			for i := range 16 {
				all.Go(func() {
					g, v, err := []*device.Devices{s.Devices, other.Devices}[i%2].Fetch(accounttest.From(t), a.Code)
					switch {
					case err == nil && v == "":
						keys.Store(g.Value, g.ID)
					case err == nil && v == device.SlowDown:
						slowed.Store(i, true)
					default:
						t.Errorf("told %q, %v", v, err)
					}
				})
			}
			all.Wait()
			var given, late []any
			keys.Range(func(key, _ any) bool { given = append(given, key); return true })
			slowed.Range(func(i, _ any) bool { late = append(late, i); return true })
			if len(given) != 1 || len(late) != 15 {
				t.Fatalf("%d got a key, and %d were late", len(given), len(late))
			}
			if !s.opens(t, given[0].(string)) {
				t.Error("the key does not work")
			}
		}
		if n := s.Count(t, "SELECT count(*) FROM api_keys"); n != 5 {
			t.Errorf("%d keys were made", n)
		}
	})
}

// TestACodeThatComesAgainEndsItsKey holds what becomes of an answer that was lost: the key that nobody has is not left behind, and nobody
// else gets one.
func TestACodeThatComesAgainEndsItsKey(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		a := s.ask(t)
		s.approve(t, runs(a))
		g, _ := s.fetch(t, a)
		s.Clock.Pass(time.Second)
		if _, v, _ := s.Devices.Fetch(t.Context(), a.Code); v != device.SlowDown || !s.opens(t, g.Value) {
			t.Errorf("a moment later: %q", v)
		}
		s.Clock.Pass(time.Minute)
		for range 3 {
			s.tells(t, a, device.Expired)
			s.Clock.Pass(time.Minute)
		}
		if s.opens(t, g.Value) {
			t.Error("the key works on")
		}
		told := s.told(t, s.acme.Scope)
		if told[len(told)-1] != "key.withdrawn" || strings.Count(strings.Join(told, " "), "key.withdrawn") != 1 {
			t.Errorf("told: %v", told)
		}
	})
}
