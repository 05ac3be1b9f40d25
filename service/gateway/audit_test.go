package gateway_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/gateway"
)

// actions are what the audit log tells of all chains.
func (s *scene) actions(t *testing.T) (all []string) {
	t.Helper()
	p, err := s.Log.Page(t.Context(), audit.Query{All: true, Query: listing.Query{Limit: 200}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p.Items {
		all = append(all, e.Action+" "+e.Outcome)
	}
	return all
}

func TestSignInsAndTheirRefusalsAreInTheAuditLog(t *testing.T) {
	s := quick(t, trusting)
	s.session(t, "ada@example.com")
	for _, word := range []string{password, "wrong", "wrong too"} {
		s.do(t, call{method: "POST", path: loginPath, body: map[string]string{"email": "ada@example.com", "password": word}, from: fresh()})
	}
	s.Clock.Pass(2 * time.Minute)
	if err := s.Log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := s.actions(t)
	for _, want := range []string{"account.created allow", "login.password allow", "login.refused deny"} {
		if !slices.Contains(all, want) {
			t.Errorf("%q is not in %v", want, all)
		}
	}
	p, err := s.Log.Page(t.Context(), audit.Query{Scope: "users/ada/personal", Action: "login.password"})
	if err != nil || len(p.Items) != 1 {
		t.Fatalf("%v, %v", p, err)
	}
	if from := p.Items[0].Source; from.RequestID == "" || from.Surface != "platform" || from.IP == "" {
		t.Errorf("source %+v", from)
	}
}

// TestWhoeverIsSignedInIsToldOfWhereNobodyNeedsToBe comes back from a provider with a state that is none.
func TestWhoeverIsSignedInIsToldOfWhereNobodyNeedsToBe(t *testing.T) {
	s := quick(t, trusting)
	cookie, _ := s.session(t, "ada@example.com")
	s.do(t, call{path: "/api/auth/oauth/github/callback?code=x&state=bad", cookie: cookie}).wants(t, 400, "invalid_state")
	s.Clock.Pass(2 * time.Minute)
	if err := s.Log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := s.Log.Page(t.Context(), audit.Query{All: true, Action: "login.refused"})
	if err != nil || len(p.Items) != 1 || p.Items[0].Actor.Username != "ada" {
		t.Errorf("%+v, %v", p.Items, err)
	}
}

func TestWhoeverMayNotIsInTheAuditLog(t *testing.T) {
	s := quick(t)
	cookie, _ := s.session(t, "ada@example.com")
	s.do(t, call{on: gateway.Admin, path: "/settings/providers", cookie: cookie, header: http.Header{"Accept": {"text/html"}}}).shows(t, 403)
	s.do(t, call{on: gateway.Agents, path: keysPath, header: http.Header{"Authorization": {"Bearer nonsense"}}}).wants(t, 401, "invalid_api_key")
	s.do(t, call{method: "POST", path: loginPath, header: http.Header{}}).wants(t, 403, "cross_origin_request")
	s.Clock.Pass(2 * time.Minute)
	if err := s.Log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := s.actions(t)
	for _, want := range []string{"access.admin_required deny", "access.invalid_api_key deny", "access.cross_origin_request deny"} {
		if !slices.Contains(all, want) {
			t.Errorf("%q is not in %v", want, all)
		}
	}
}

func TestAForwardedAddressCountsOnlyFromATrustedProxy(t *testing.T) {
	for name, c := range map[string]struct {
		edit []func(*gateway.Config)
		sent []string
		want string
	}{
		"nobody is trusted":      {nil, []string{"192.0.2.1"}, "127.0.0.1"},
		"a trusted proxy":        {[]func(*gateway.Config){trusting}, []string{"192.0.2.1"}, "192.0.2.1"},
		"the last that is not":   {[]func(*gateway.Config){trusting}, []string{"198.51.100.9, 192.0.2.1, 127.0.0.3"}, "192.0.2.1"},
		"two headers":            {[]func(*gateway.Config){trusting}, []string{"198.51.100.9", "192.0.2.1"}, "192.0.2.1"},
		"nonsense":               {[]func(*gateway.Config){trusting}, []string{"192.0.2.1, x"}, "127.0.0.1"},
		"all trusted":            {[]func(*gateway.Config){trusting}, []string{"127.0.0.2"}, "127.0.0.2"},
		"none":                   {[]func(*gateway.Config){trusting}, nil, "127.0.0.1"},
		"an IPv4 within an IPv6": {[]func(*gateway.Config){trusting}, []string{"::ffff:192.0.2.1"}, "192.0.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := quick(t, c.edit...)
			s.session(t, "ada@example.com")
			header := http.Header{"Origin": {platformURL}, "Content-Type": {"application/json"}, "X-Forwarded-For": c.sent, "X-Real-Ip": {"203.0.113.1"}, "Forwarded": {"for=203.0.113.2"}}
			got := s.do(t, call{method: "POST", path: loginPath, header: header, body: map[string]string{"email": "ada@example.com", "password": password}}).wants(t, 200, "")
			var list struct{ Items []struct{ IP string } }
			s.do(t, call{path: "/api/account/sessions", cookie: got.cookies()}).wants(t, 200, "").read(t, &list)
			if !slices.ContainsFunc(list.Items, func(i struct{ IP string }) bool { return i.IP == c.want }) {
				t.Errorf("sessions %v, want %s", list.Items, c.want)
			}
		})
	}
}

// The audit log is what cannot be changed unseen; nothing that can sign in may change another person's password.
func TestNoRouteSetsThePasswordOfAnotherPerson(t *testing.T) {
	s := quick(t)
	cookie, _ := s.session(t, "ada@example.com")
	_, eve := s.session(t, "eve@example.com")
	for _, path := range []string{"/api/admin/people/" + eve.Account.ID + "/password", "/api/account/" + eve.Account.ID + "/password", "/api/auth/password/set?account=" + eve.Account.ID} {
		s.do(t, call{method: "POST", path: path, cookie: cookie, body: map[string]string{"newPassword": "another calm password"}})
	}
	if _, err := s.Passwords.Login(t.Context(), "eve@example.com", password, ""); err != nil {
		t.Errorf("eve's password: %v", err)
	}
}
