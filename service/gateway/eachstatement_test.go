package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
)

// thief takes a right away before one statement of a request, whichever it is to be.
type thief struct {
	mu     sync.Mutex
	asked  int    // statements of the request
	before int    // the one before which it strikes; 0: none
	late   bool   // what was asked for is being written, or the runtime has it
	done   string // how far it came
	steal  func()
	after  chan struct{} // closed when it has what it wanted

	heard []string        // what the request asked
	blind map[string]bool // statements of a judgement but its first: it sees what was when it began
}

// What is written, but for what is noted of whoever comes, and what the runtime keeps.
var (
	noted  = regexp.MustCompile(`^\s*(?i:INSERT INTO|UPDATE|DELETE FROM) (?:sessions|api_keys|staff_elevations|audit\w*|throttle\w*)\b`)
	writes = regexp.MustCompile(`^\s*(?i:INSERT|UPDATE|DELETE)\b`)
	passed = regexp.MustCompile(`(?i)\b(?:FROM|INTO|UPDATE|JOIN)\s+(?:streams|submissions|batches|messages|runs|blobs|inputs|workers)\b`)
)

func (f *thief) hear(query string, _ []any) {
	if !f.isDue(query) {
		return
	}
	go func() { defer close(f.after); f.steal() }()
	// Whoever writes keeps others from writing: what is taken from them now is taken afterwards.
	select {
	case <-f.after:
	case <-time.After(50 * time.Millisecond):
		f.mu.Lock()
		f.done = "late"
		f.mu.Unlock()
	}
}

// isDue reports whether it is the statement to strike before.
func (f *thief) isDue(query string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before == 0 {
		return false
	}
	f.heard = append(f.heard, query)
	f.late = f.late || writes.MatchString(query) && !noted.MatchString(query) || passed.MatchString(query)
	if f.asked++; f.asked != f.before {
		return false
	}
	if f.blind[query] {
		f.before++
		return false
	}
	f.before, f.done = 0, "in time"
	if f.late {
		f.done = "late"
	}
	return true
}

// lurk has the thief strike before the nth statement from now on.
func (f *thief) lurk(n int, steal func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, f.before, f.late, f.done, f.steal, f.after, f.heard = 0, n, false, "", steal, make(chan struct{}), nil
}

// learn takes what a request asked for a judgement, something, and the judgement again.
func (f *thief) learn(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.heard) - slices.Index(f.reversed(), f.heard[0]) - 1
	if last == 0 {
		t.Fatalf("no judgement at the end of %q", f.heard)
	}
	for _, query := range f.heard[last+1:] {
		f.blind[query] = true
	}
}

func (f *thief) reversed() []string {
	all := slices.Clone(f.heard)
	slices.Reverse(all)
	return all
}

// struck is how far it came: in time, late, or not at all.
func (f *thief) struck() string {
	f.mu.Lock()
	done, after := f.done, f.after
	f.before = 0
	f.mu.Unlock()
	if done != "" {
		<-after
	}
	return done
}

// robbed is somebody who loses a right before some statement of a request.
type robbed struct {
	how        string
	header     http.Header
	take, give string // statements, about of
	of         string
}

// Of a person, whatever they do.
const (
	suspend  = "UPDATE accounts SET suspended_at = 1 WHERE id = $1"
	pardon   = "UPDATE accounts SET suspended_at = NULL WHERE id = $1"
	signOut  = "UPDATE sessions SET revoked_at = 1 WHERE account = $1 AND revoked_at IS NULL"
	signBack = "UPDATE sessions SET revoked_at = NULL WHERE account = $1 AND revoked_at = 1"
)

// TestARightLostBeforeAnyStatementIsLost asks for everything there is, and takes the right away before each statement of each
// request, until what was asked for is being written or the runtime has it: all of that is refused.
func TestARightLostBeforeAnyStatementIsLost(t *testing.T) {
	t.Parallel()
	f := &thief{blind: map[string]bool{}}
	s := open(t, sqldbtest.SQLite(t), accounttest.Options{Observe: f.hear}, roomy, func(c *gateway.Config) { c.Stale = time.Nanosecond })
	s.start(t, false)
	t.Run("in a workspace", func(t *testing.T) {
		ada := s.settle(t, "ada")
		p, session := s.join(t, ada, "member", false)
		q, key := s.join(t, ada, "keyed", true)
		var all []call
		for _, line := range tenantRoutes() {
			all = append(all, call{on: gateway.Agents, method: line[0], path: ada.fill(ada.at(line[1])), body: bodyOf(line[0], line[1])})
		}
		s.rob(t, f, []call{{on: gateway.Agents, path: ada.space() + "/projects"}}, all, []robbed{
			{"removed", session, "UPDATE members SET account = 'x' || account WHERE account = $1", "UPDATE members SET account = $1 WHERE account = 'x' || $1", p.Account.ID},
			{"revoked", key, "UPDATE api_keys SET revoked_at = 1 WHERE creator = $1", "UPDATE api_keys SET revoked_at = NULL WHERE creator = $1", q.Account.ID},
			{"suspended", session, suspend, pardon, p.Account.ID},
			{"signed out", session, signOut, signBack, p.Account.ID},
		})
	})
	t.Run("of one's own", func(t *testing.T) {
		cookie, who := s.session(t, "eve@example.com")
		all := s.lines(gateway.Platform, func(l gateway.Line) bool {
			_, inside := l.Need.Inside()
			return !l.Need.IsPublic() && !inside && strings.HasPrefix(l.Path, "/api/") && !strings.HasSuffix(l.Path, "/logout")
		})
		header := s.page(gateway.Platform)
		header.Set("Cookie", cookie)
		s.rob(t, f, []call{{path: "/api/account/sessions"}}, all, []robbed{
			{"suspended", header, suspend, pardon, who.Account.ID}, {"signed out", header, signOut, signBack, who.Account.ID},
		})
	})
	t.Run("over the service", func(t *testing.T) {
		admin, who := s.hire(t, "chief", account.RoleAdmin)
		all := s.lines(gateway.Admin, func(l gateway.Line) bool { return l.Need.Elevated(gateway.Admin) && strings.HasPrefix(l.Path, "/api/") })
		header := s.page(gateway.Admin)
		header.Set("Cookie", s.elevate(t, admin))
		samples := []call{{on: gateway.Admin, path: "/api/admin/people"}, {on: gateway.Admin, path: somewhere("/api/workspaces/{username}/{business}/teams")}}
		s.rob(t, f, samples, all, []robbed{
			{"dismissed", header, "UPDATE accounts SET service_role = 'none' WHERE id = $1", "UPDATE accounts SET service_role = 'admin' WHERE id = $1", who.Account.ID},
			{"suspended", header, suspend, pardon, who.Account.ID}, {"signed out", header, signOut, signBack, who.Account.ID},
		})
	})
}

// lines are requests for routes of a surface, for things that may not be there.
func (s *scene) lines(on gateway.Surface, wanted func(gateway.Line) bool) (all []call) {
	for _, l := range gateway.Lines() {
		if !slices.Contains(l.Surfaces, on) || !wanted(l) {
			continue
		}
		c := call{on: on, method: l.Method, path: somewhere(l.Path)}
		if l.Method != http.MethodGet && l.Method != http.MethodHead {
			c.body = "{}"
		}
		all = append(all, c)
	}
	return all
}

// rob asks for each as everybody who is robbed, before each statement, and as two of them where time is short. The samples are lists
// that all of them may read.
func (s *scene) rob(t *testing.T, f *thief, samples, all []call, losses []robbed) {
	t.Helper()
	if !soak {
		losses = losses[:2]
	}
	for _, l := range losses {
		for _, sample := range samples {
			sample.header = l.header.Clone()
			f.lurk(1_000_000, nil)
			s.do(t, sample).wants(t, 200, "")
			f.learn(t)
		}
	}
	asked, taken := 0, 0
	for _, c := range inOrder(all) {
		for _, l := range losses {
			for n := 1; ; n++ {
				f.lurk(n, func() { execute(t, s, l.take, l.of) })
				c.header = l.header.Clone()
				got := s.do(t, c)
				struck := f.struck()
				execute(t, s, l.give, l.of)
				asked++
				if struck != "in time" {
					break
				}
				taken++
				if !got.isBarred() {
					t.Errorf("%s %s by somebody %s before statement %d: %d %.300s", c.method, c.path, l.how, n, got.StatusCode, got.body)
				}
			}
		}
	}
	t.Logf("%d requests, %d of them by somebody who lost the right meanwhile", asked, taken)
	if taken < len(losses)*len(all) {
		t.Errorf("only %d of them, for %d routes", taken, len(all))
	}
}

// isBarred reports whether the answer is the refusal of somebody who may not.
func (r reply) isBarred() bool {
	if r.Request.Method == http.MethodHead {
		return slices.Contains([]int{401, 403, 404}, r.StatusCode)
	}
	var envelope struct{ Error struct{ Type string } }
	_ = json.Unmarshal([]byte(r.body), &envelope)
	return barred[envelope.Error.Type] || slices.Contains(barriers, envelope.Error.Type) && envelope.Error.Type != "route_not_found"
}

// inOrder has what deletes last, and what is within before what it is in. What is long is left out: streams and exports are broken
// off, which others try.
func inOrder(all []call) []call {
	all = slices.DeleteFunc(slices.Clone(all), func(c call) bool { return strings.Contains(c.path, "live=") || strings.HasSuffix(c.path, "/export") })
	slices.SortStableFunc(all, func(a, b call) int {
		if d := strings.Compare(fmt.Sprint(a.method == http.MethodDelete), fmt.Sprint(b.method == http.MethodDelete)); d != 0 {
			return d
		}
		return len(b.path) - len(a.path)
	})
	return all
}
