package gateway_test

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
)

// seenOf is all that a stranger sees of an answer but what differs from request to request.
func seenOf(r reply) string {
	var lines []string
	for name, values := range r.Header {
		if name != "Date" && name != "X-Request-Id" {
			lines = append(lines, name+": "+strings.Join(values, ","))
		}
	}
	slices.Sort(lines)
	return fmt.Sprint(r.StatusCode) + "\n" + strings.Join(lines, "\n") + "\n\n" + r.body
}

// TestAWebhookThatNobodyWaitsForLearnsNothing asks for channels of workspaces that are there, were there and never were, with
// everything wrong that can be: each time there is one answer, to the byte.
func TestAWebhookThatNobodyWaitsForLearnsNothing(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		for _, name := range []string{"ada", "suspended", "deleted", "frozen", "full"} {
			s.session(t, name+"@example.com")
		}
		execute(t, s, "UPDATE accounts SET suspended_at = 1 WHERE username = 'suspended'")
		execute(t, s, "UPDATE accounts SET deleted_at = 1 WHERE username = 'deleted'")
		execute(t, s, "UPDATE workspaces SET suspended_at = 1 WHERE scope = 'users/frozen/personal'")
		execute(t, s, "INSERT INTO storage_quotas (scope, limit_bytes, used) VALUES ('users/full/personal', 1, 2)")
		ask := func(method, path string) reply {
			return s.do(t, call{on: gateway.Agents, method: method, path: path, header: http.Header{"Content-Type": {"application/json"}}, body: "{}"})
		}
		want := seenOf(ask("POST", "/v1/nobody/personal/channels/github/events").wants(t, 404, "route_not_found"))
		for _, path := range []string{
			"suspended/personal/channels/github/events", "deleted/personal/channels/github/events", "frozen/personal/channels/github/events",
			"ada/none/channels/github/events", "Ada/personal/channels/github/events", "a/personal/channels/github/events", "ada/per_sonal/channels/github/events",
			"ada/personal/channels/github/webhook", "ada/personal/channels/github/events/x", "ada/personal/channels/github", "ada/personal/channels/slack/events",
			"ada/personal/channels/x/y/z", "ada/personal/channels", "full/personal/channels/github/webhook", "full/personal/channels/x/y",
			"admin/channels/github/events", "ada/personal/channels/ho%6fk/in", "suspended/personal/channels/github/webhook", "nobody/personal/channels/x/y",
		} {
			for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "GET", "BREW"} {
				if got := seenOf(ask(method, "/v1/"+path)); got != want {
					t.Errorf("%s %s:\n%s\nwant\n%s", method, path, got, want)
				}
			}
		}
		for _, method := range []string{"PUT", "GET", "DELETE"} {
			if got := seenOf(ask(method, "/v1/ada/personal/channels/github/events")); got != want {
				t.Errorf("%s of one that is there:\n%s", method, got)
			}
		}
		for _, who := range []string{"ada", "full"} {
			ask("POST", "/v1/"+who+"/personal/channels/github/events").wants(t, 401, "invalid_signature")
		}
		large := func(path string) string {
			return s.raw(t, "POST "+path+" HTTP/1.1\r\nHost: agents.svc.localhost:8080\r\nContent-Length: 2000000\r\n\r\n")
		}
		if there, not := large("/v1/ada/personal/channels/x/y"), large("/v1/nobody/personal/channels/x/y"); there != not {
			t.Errorf("a long body: %s where there is a workspace, %s where there is none", there, not)
		}
	}, func(c *gateway.Config) { c.ChannelRate = 10_000 })
}

// TestChannelsOfNobodyAreCountedLikeOthers finds out by the rate whether there is a workspace, and does not.
func TestChannelsOfNobodyAreCountedLikeOthers(t *testing.T) {
	s := quick(t, func(c *gateway.Config) { c.ChannelRate = 5 })
	s.session(t, "ada@example.com")
	for _, who := range []string{"ada", "nobody"} {
		var statuses []int
		for range 7 {
			statuses = append(statuses, s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/" + who + "/personal/channels/x/y", header: http.Header{}}).StatusCode)
		}
		if !slices.Equal(statuses, []int{404, 404, 404, 404, 404, 429, 429}) {
			t.Errorf("%s: %v", who, statuses)
		}
	}
}

// TestOneSlowSourceKeepsNoDeliveryOut holds deliveries open from all addresses of one network, long ones and common ones.
func TestOneSlowSourceKeepsNoDeliveryOut(t *testing.T) {
	s := open(t, sqldbtest.SQLite(t), accounttest.Options{Edit: func(c *account.Config) { c.Now = nil }}, trusting)
	s.session(t, "ada@example.com")
	for n := range 150 {
		for _, length := range []string{"Content-Length: 1000", "Content-Length: 2000000"} {
			conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST %swebhook HTTP/1.1\r\nHost: svc.localhost:8080\r\nX-Forwarded-For: 2001:db8:0:1::%x\r\n%s\r\n\r\n{", oauthPath, n, length)
		}
	}
	for _, long := range []bool{false, true} {
		accounttest.Eventually(t, "the network has all its places", func() bool { return !s.gateway.TakesDelivery("2001:db8:0:1::", long) })
	}
	for _, size := range []int{10, 2_000_000} {
		began := time.Now()
		got := s.do(t, call{method: "POST", path: oauthPath + "webhook", header: http.Header{"Content-Type": {"application/json"}}, body: strings.Repeat(" ", size), from: "2001:db8:0:2::1"})
		if took := time.Since(began); got.StatusCode == 503 || took > 4*time.Second {
			t.Errorf("%d bytes from elsewhere: %d after %s", size, got.StatusCode, took)
		}
	}
}
