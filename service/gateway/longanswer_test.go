package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/operation"
)

// TestALongAnswerEndsWithTheRightToIt exports a log that no buffer holds: to a member who is removed meanwhile, and to a client
// that reads nothing of it.
func TestALongAnswerEndsWithTheRightToIt(t *testing.T) {
	t.Parallel()
	ended := make(chan time.Duration, 10)
	s := withRuntime(t, sqldbtest.SQLite(t), false, func(c *gateway.Config) {
		c.WriteTimeout = 2 * time.Second
		c.Observe = func(_, route string, _ int, took time.Duration) {
			if strings.HasSuffix(route, "/audit/export") {
				ended <- took
			}
		}
	})
	ada := s.settle(t, "ada")
	events := make([]audit.Event, 20_000)
	for i := range events {
		events[i] = audit.Event{Action: "test.event", Scope: "users/ada/acme", Target: audit.Target{Kind: "text", ID: strings.Repeat("x", 400)}}
	}
	if err := s.DB.Write(t.Context(), func(tx *sqldb.Tx) error { return s.Log.Append(t.Context(), tx, events...) }); err != nil {
		t.Fatal(err)
	}
	p, header := s.join(t, ada, "removed", false)
	// Some systems keep more for a client that does not read than the whole export.
	narrow := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
		}
		return conn, err
	}}}
	ask := func() *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+ada.space()+"/audit/export", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host, r.Header = s.hosts[gateway.Agents], header
		answer, err := narrow.Do(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("export: %v %v", answer, err)
		}
		return answer
	}
	unread := ask()
	defer unread.Body.Close()
	select {
	case took := <-ended:
		if took < time.Second || took > 20*time.Second {
			t.Errorf("a client that reads nothing is given up after %v", took)
		}
	case <-time.After(time.Minute):
		t.Fatal("a client that reads nothing is not given up")
	}
	whole, err := io.Copy(io.Discard, ask().Body)
	if err != nil || whole < 8_000_000 {
		t.Fatalf("an export is %d bytes, %v", whole, err)
	}
	answer := ask()
	defer answer.Body.Close()
	execute(t, s, "DELETE FROM members WHERE account = $1", p.Account.ID)
	takes(1200 * time.Millisecond) // a judgement of the last second counts
	got, err := io.Copy(io.Discard, answer.Body)
	if err == nil || got >= whole {
		t.Errorf("a member who was removed got %d of %d bytes, %v", got, whole, err)
	}
}

// TestManagingAWorkspaceCountsOnTheRate renames a workspace as fast as it goes.
func TestManagingAWorkspaceCountsOnTheRate(t *testing.T) {
	s := quick(t, func(c *gateway.Config) { c.Rate, c.Burst = 60, 20 })
	cookie, _ := s.session(t, "ada@example.com")
	s.do(t, call{method: "POST", path: "/api/workspaces", cookie: cookie, body: map[string]string{"business": "acme", "name": "Acme"}}).wants(t, 201, "")
	refused := 0
	for range 40 {
		got := s.do(t, call{on: gateway.Agents, method: "PATCH", path: "/api/workspaces/ada/acme", cookie: cookie, body: map[string]string{"name": "A"}})
		if got.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 10 {
		t.Errorf("%d of 40 changes within moments are refused", refused)
	}
}

// TestTheFormsForKeysRefuseInASuspendedWorkspace tries what the JSON routes refuse.
func TestTheFormsForKeysRefuseInASuspendedWorkspace(t *testing.T) {
	s := quick(t)
	cookie, _ := s.session(t, "ada@example.com")
	form := func() reply {
		header := s.page(gateway.Platform)
		header.Set("Content-Type", "application/x-www-form-urlencoded")
		return s.do(t, call{method: "POST", path: "/account/keys", cookie: cookie, header: header, body: "workspace=ada%2Fpersonal&name=k&scopes=agents%3Aread&expiresAt="})
	}
	if got := form(); got.StatusCode != http.StatusCreated {
		t.Fatalf("a key: %d %.300s", got.StatusCode, got.body)
	}
	execute(t, s, "UPDATE workspaces SET suspended_at = 1 WHERE scope = 'users/ada/personal'")
	if got := form(); got.StatusCode != http.StatusForbidden || !strings.Contains(got.body, "suspended") {
		t.Errorf("a key in a suspended workspace: %d %.300s", got.StatusCode, got.body)
	}
	var keys int
	err := s.DB.Read(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow("SELECT count(*) FROM api_keys").Scan(&keys) })
	if err != nil || keys != 1 {
		t.Errorf("%d keys, %v; want 1", keys, err)
	}
}

// TestAnAnswerThatIsLateIsNotForWhoLostTheRight has an operation take longer than a judgement counts, and its visitor lose the
// authority meanwhile.
func TestAnAnswerThatIsLateIsNotForWhoLostTheRight(t *testing.T) {
	t.Parallel()
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	s := quick(t, func(c *gateway.Config) {
		c.Health = func(context.Context) operation.Health {
			began <- struct{}{}
			<-goOn
			return operation.Health{}
		}
	})
	cookies := map[string]string{}
	for _, name := range []string{"lowered", "kept"} {
		cookie, _ := s.hire(t, name, account.RoleAdmin)
		cookies[name] = s.elevate(t, cookie)
	}
	lowered := s.listen(t, "lowered", gateway.Admin, "/api/admin/health", http.Header{"Cookie": {cookies["lowered"]}})
	kept := s.listen(t, "kept", gateway.Admin, "/api/admin/health", http.Header{"Cookie": {cookies["kept"]}})
	<-began
	<-began
	s.on(t, cookies["lowered"], "DELETE", elevatePath, nil).wants(t, 204, "")
	<-time.After(1100 * time.Millisecond)
	close(goOn)
	<-lowered.ended
	<-kept.ended
	if !strings.HasPrefix(lowered.text, "403 ") || !strings.Contains(lowered.text, "reauth_required") {
		t.Errorf("whoever lost the authority is told %s", lowered.text)
	}
	if !strings.HasPrefix(kept.text, "200 ") {
		t.Errorf("whoever has it is told %s", kept.text)
	}
}
