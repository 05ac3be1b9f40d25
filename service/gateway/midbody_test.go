package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

// slow is a request whose head the server has, and of whose body the first byte.
type slow struct {
	name   string
	rest   []byte
	body   *io.PipeWriter
	answer chan reply
}

// begin sends a request but for the rest of its body.
func (s *scene) begin(t *testing.T, name, method, path string, header http.Header, body any) *slow {
	t.Helper()
	text, isText := body.(string)
	whole := []byte(text)
	if !isText {
		whole, _ = json.Marshal(body)
	}
	out, in := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), method, s.server.URL+path, out)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength, r.Host, r.Header = int64(len(whole)), s.hosts[gateway.Agents], header
	r.Header.Set("Content-Type", "application/json")
	w := &slow{name: name, rest: whole[1:], body: in, answer: make(chan reply, 1)}
	go func() {
		answer, err := client.Do(r)
		if err != nil {
			w.answer <- reply{body: err.Error()}
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		w.answer <- reply{Response: answer, body: string(text)}
	}()
	go func() { _, _ = in.Write(whole[:1]) }()
	return w
}

// finish sends the rest, and is what came of it.
func (w *slow) finish() reply {
	go func() {
		_, _ = io.Copy(w.body, bytes.NewReader(w.rest))
		_ = w.body.Close()
	}()
	return <-w.answer
}

// bereft is somebody who loses a right while their requests are under way.
type bereft struct {
	how  string
	lose func(t *testing.T, p account.Registered)
	key  bool // they come with an API key
}

// TestARightLostWhileABodyComesChangesNothing has members send the body of every route that changes something, loses their right in
// every way there is before the body has come, and finds nothing changed.
func TestARightLostWhileABodyComesChangesNothing(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, s *scene) {
		ada := s.settle(t, "ada")
		const scope = "users/ada/acme"
		member := func(set string) func(*testing.T, account.Registered) {
			return func(t *testing.T, p account.Registered) {
				execute(t, s, set+" WHERE account = $1 AND workspace = (SELECT id FROM workspaces WHERE scope = $2)", p.Account.ID, scope)
			}
		}
		removed, demoted := member("DELETE FROM members"), member("UPDATE members SET role = 'viewer'")
		suspended := func(t *testing.T, p account.Registered) {
			execute(t, s, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", p.Account.ID)
		}
		out := func(t *testing.T, p account.Registered) {
			if err := s.Sessions.Logout(t.Context(), p.Token); err != nil {
				t.Fatal(err)
			}
		}
		revoked := func(t *testing.T, p account.Registered) {
			execute(t, s, "UPDATE api_keys SET revoked_at = 1 WHERE creator = $1", p.Account.ID)
		}
		s.bereave(t, ada, []bereft{
			{"removed", removed, false}, {"demoted", demoted, false}, {"suspended", suspended, false}, {"signed out", out, false},
			{"removed", removed, true}, {"demoted", demoted, true}, {"suspended", suspended, true}, {"revoked", revoked, true},
		})
		closed := func(t *testing.T, _ account.Registered) {
			execute(t, s, "UPDATE workspaces SET suspended_at = 1 WHERE scope = $1", scope)
		}
		opened := func() { execute(t, s, "UPDATE workspaces SET suspended_at = NULL WHERE scope = $1", scope) }
		s.bereave(t, ada, []bereft{{"shut out", closed, false}, {"shut out", closed, true}}, opened)
	}, roomy)
}

// bereave begins every change as each of them, takes their rights, and ends what has begun. Again is done before it looks.
func (s *scene) bereave(t *testing.T, of tenant, all []bereft, again ...func()) {
	t.Helper()
	var begun []*slow
	var lose []func()
	headers := make([]http.Header, len(all)) // of all, before the first begins: bodies have their time
	for i, b := range all {
		p, header := s.join(t, of, fmt.Sprintf("%s-%d", strings.ReplaceAll(b.how, " ", "-"), i), b.key)
		headers[i] = header
		lose = append(lose, func() { b.lose(t, p) })
	}
	for i, b := range all {
		begun = append(begun, s.changes(t, of, b, headers[i])...)
	}
	takes(300 * time.Millisecond) // until all of them are let in; one who is not yet is refused all the same
	for _, f := range lose {
		f()
	}
	before := s.unaudited(t, of, again...)
	for _, f := range lose {
		f()
	}
	takes(1100 * time.Millisecond) // what is passed on to the runtime is judged again a second later
	var asked sync.WaitGroup
	for _, w := range begun {
		asked.Go(func() { w.refused(t) })
	}
	asked.Wait()
	if after := s.unaudited(t, of, again...); after != before {
		t.Errorf("the workspace changed from\n%s\nto\n%s", before, after)
	}
	t.Logf("%d requests", len(begun))
}

// join lets somebody new into the workspace as an administrator, and is what their requests say of them.
func (s *scene) join(t *testing.T, of tenant, username string, byKey bool) (account.Registered, http.Header) {
	t.Helper()
	p, err := s.Registrations.Register(accounttest.From(t), account.Registration{Email: username + "@example.com", Password: password, Username: username})
	if err != nil {
		t.Fatal(err)
	}
	execute(t, s, `INSERT INTO members (workspace, account, role, created_at) SELECT id, $2, $3, created_at FROM workspaces WHERE scope = $1`,
		"users/"+of.name+"/acme", p.Account.ID, workspace.Admin)
	cookie := "svc_session=" + p.Token
	header := s.page(gateway.Agents)
	header.Set("Cookie", cookie)
	if !byKey {
		return p, header
	}
	var made struct{ Key string }
	body := map[string]any{"name": "k", "scopes": keyScopes}
	s.do(t, call{on: gateway.Agents, method: "POST", path: of.space() + "/keys", cookie: cookie, body: body}).wants(t, 201, "").read(t, &made)
	return p, by(made.Key)
}

// bodiless are the ends of routes that are done when their head has come, whatever follows it.
var bodiless = []string{"/pull", "/test", "/resend", "/cancel", "/abort", "/archive", "/unarchive", "/restore", "/enable", "/disable", "/connect", "/refresh"}

// changes begins every change of the workspace that takes a body.
func (s *scene) changes(t *testing.T, of tenant, b bereft, header http.Header) (begun []*slow) {
	t.Helper()
	for _, line := range tenantRoutes() {
		method, route := line[0], line[1]
		body := bodyOf(method, route)
		if strings.HasSuffix(route, "/files/{path}") && method == http.MethodPut {
			body = "text"
		}
		done := func(end string) bool { return strings.HasSuffix(route, end) }
		if method == http.MethodGet || method == http.MethodHead || method == http.MethodDelete || body == nil || slices.ContainsFunc(bodiless, done) {
			continue
		}
		name := fmt.Sprintf("%s %s by somebody %s (key: %t)", method, route, b.how, b.key)
		begun = append(begun, s.begin(t, name, method, of.fill(of.at(route)), header.Clone(), body))
	}
	return begun
}

// barred are the refusals of somebody who may not, or who never might.
var barred = map[string]bool{
	"unauthenticated": true, "forbidden": true, "workspace_not_found": true, "workspace_suspended": true, "invalid_api_key": true, "insufficient_scope": true,
}

func (w *slow) refused(t *testing.T) {
	if got := w.finish(); !got.isBarred() {
		t.Errorf("%s: %s", w.name, got.body)
	}
}

// unaudited is what a workspace holds but for its log, which tells of refusals.
func (s *scene) unaudited(t *testing.T, of tenant, before ...func()) string {
	t.Helper()
	for _, f := range before {
		f()
	}
	var kept []string
	for line := range strings.Lines(s.all(t, of)) {
		if !strings.HasPrefix(line, "W/audit") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
