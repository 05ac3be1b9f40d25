package gateway_test

import (
	"fmt"
	"net/http"
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

const (
	viewsPath = "/api/admin/impersonations"
	sessionOf = "/api/auth/session"
)

// asks makes an impersonation, and returns its id and where its ticket leads.
func (s *scene) asks(t testing.TB, up, subject string) (id, ticket string) {
	t.Helper()
	var made struct{ ID, URL, ExpiresAt string }
	s.on(t, up, "POST", viewsPath, map[string]string{"accountId": subject, "reason": "she asked for help"}).wants(t, 201, "").read(t, &made)
	if !strings.HasPrefix(made.URL, "http://"+s.hosts[gateway.Agents]+"/api/auth/view?ticket=") {
		t.Fatalf("leads to %s", made.URL)
	}
	return made.ID, parse(made.URL).RequestURI()
}

// looks makes an impersonation and opens it, and returns its id and the cookies of the browser on Agents.
func (s *scene) looks(t testing.TB, up, subject string) (id, cookies string) {
	t.Helper()
	id, ticket := s.asks(t, up, subject)
	opened := s.visits(t, up, ticket).leads(t, 303, "http://"+s.hosts[gateway.Agents]+"/")
	return id, part(t, up, "svc_session") + "; " + opened.cookies()
}

// visits asks Agents.
func (s *scene) visits(t testing.TB, cookie, path string) reply {
	t.Helper()
	return s.do(t, call{on: gateway.Agents, path: path, cookie: cookie})
}

// sees fails unless Agents answers as that person.
func (s *scene) sees(t testing.TB, cookie, username string) reply {
	t.Helper()
	got := s.visits(t, cookie, sessionOf).wants(t, 200, "")
	if !strings.Contains(got.body, `"username":"`+username+`"`) {
		t.Errorf("not %s: %s", username, got.body)
	}
	return got
}

func TestStaffSeeWhatACustomerSeesAndTheCustomerIsTold(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{Mail: true, Edit: lenient})
		s.start(t, false)
		_, ada := s.session(t, "ada@example.com")
		cookie, sam := s.hire(t, "sam", account.RoleSupport)
		up := s.elevate(t, cookie)
		id, view := s.looks(t, up, ada.Account.ID)
		if got := s.sees(t, view, "ada"); got.Header.Get("Svc-Impersonation") != id {
			t.Errorf("header %q", got.Header.Get("Svc-Impersonation"))
		}
		for range 2 {
			if got := s.visits(t, view, "/v1/ada/personal/runs").wants(t, 200, ""); got.Header.Get("Svc-Impersonation") != id {
				t.Errorf("header %q", got.Header.Get("Svc-Impersonation"))
			}
		}
		s.visits(t, view, "/api/workspaces/ada/personal/agents").wants(t, 200, "")
		s.visits(t, view, "/v1/sam/personal/runs").wants(t, 404, "workspace_not_found")
		s.do(t, call{path: "/api/account", cookie: view}).wants(t, 200, "") // the other surfaces know nothing of it
		s.sees(t, part(t, up, "svc_session"), "sam")
		s.on(t, up, "DELETE", viewsPath+"/"+id, nil).wants(t, 204, "")
		if got := s.sees(t, view, "sam"); got.Header.Get("Svc-Impersonation") != "" {
			t.Error("the header stays")
		}
		for action, n := range map[string]int{"impersonation.created": 1, "impersonation.opened": 1, "impersonation.read": 3, "impersonation.ended": 1} {
			for _, chain := range []string{"users/ada/personal", ""} {
				all := s.events(t, chain, action)
				if len(all) != n || all[0].Actor.ID != sam.Account.ID || all[0].Subject == nil || all[0].Subject.ID != ada.Account.ID {
					t.Errorf("%q: %d of %s: %+v", chain, len(all), action, all)
				}
			}
		}
		if mail := s.Inbox.Next(t, "ada@example.com"); !strings.Contains(mail.Text, "sam") || !strings.Contains(mail.Text, "she asked for help") {
			t.Errorf("mail: %s", mail.Text)
		}
	})
}

func TestATicketIsOfUseOnceForAMinuteToTheBrowserThatAsked(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{})
		beside := open(t, address, accounttest.Options{Beside: s.World})
		ada, customer := s.session(t, "ada@example.com")
		cookie, sam := s.hire(t, "sam", account.RoleAdmin)
		other, _ := s.hire(t, "tom", account.RoleAdmin)
		third, _ := s.hire(t, "tim", account.RoleAdmin)
		up := s.elevate(t, cookie)
		again, err := s.Passwords.Login(accounttest.From(t), "sam@example.com", password, "")
		if err != nil {
			t.Fatal(err)
		}
		_, ticket := s.asks(t, up, customer.Account.ID)
		s.visits(t, "", ticket).wants(t, 401, "unauthenticated")
		for name, cookie := range map[string]string{
			"the customer": ada, "other staff": other, "other staff, elevated": s.elevate(t, third), "another session of the same person": "svc_session=" + again.Token,
		} {
			if got := s.visits(t, cookie, ticket); got.StatusCode != 400 || len(got.Header["Set-Cookie"]) > 0 {
				t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
			}
		}
		for _, path := range []string{"/api/auth/view", "/api/auth/view?ticket=", "/api/auth/view?ticket=x", ticket + "x"} {
			s.visits(t, up, path).wants(t, 400, "invalid_token")
		}
		s.do(t, call{path: ticket, cookie: up}).wants(t, 404, "route_not_found")
		s.on(t, up, "GET", ticket, nil).wants(t, 404, "route_not_found")
		s.do(t, call{on: gateway.Agents, path: ticket, cookie: up, header: http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"no-cors"}}}).wants(t, 403, "cross_origin_request")
		s.Clock.Pass(time.Minute - time.Second)
		beside.visits(t, up, ticket).leads(t, 303, agentsURL+"/")
		s.visits(t, up, ticket).wants(t, 400, "invalid_token")
		_, late := s.asks(t, up, customer.Account.ID)
		s.Clock.Pass(61 * time.Second)
		s.visits(t, up, late).wants(t, 400, "invalid_token")
		id, ended := s.asks(t, up, customer.Account.ID)
		s.on(t, up, "DELETE", viewsPath+"/"+id, nil).wants(t, 204, "")
		s.visits(t, up, ended).wants(t, 400, "invalid_token")
		_, lost := s.asks(t, up, customer.Account.ID)
		_, raced := s.asks(t, up, customer.Account.ID)
		statuses := make([]int, 6)
		var wg sync.WaitGroup
		for i := range statuses {
			wg.Go(func() { statuses[i] = []*scene{s, beside}[i%2].visits(t, up, raced).StatusCode })
		}
		wg.Wait()
		slices.Sort(statuses)
		if statuses[0] != 303 || statuses[1] != 400 {
			t.Errorf("one ticket, used at once: %v", statuses)
		}
		if _, err := s.Staff.Grant(t.Context(), sam.Account.ID, account.RoleNone); err != nil {
			t.Fatal(err)
		}
		s.visits(t, up, lost).wants(t, 400, "invalid_token")
	})
}

func TestWhoLooksAsACustomerOnlyReads(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false)
	ada, customer := s.session(t, "ada@example.com")
	key := s.key(t, ada, "ada", "agents:read", "agents:write")
	cookie, _ := s.hire(t, "sam", account.RoleAdmin)
	id, view := s.looks(t, s.elevate(t, cookie), customer.Account.ID)
	forbids := func(c call) {
		t.Helper()
		c.on, c.cookie = gateway.Agents, view
		got := s.do(t, c).wants(t, 403, "impersonation_forbidden")
		if got.Header.Get("Svc-Impersonation") != id {
			t.Errorf("%s %s: header %q", c.method, c.path, got.Header.Get("Svc-Impersonation"))
		}
	}
	refused := 0
	for _, l := range gateway.Lines() {
		if !slices.Contains(l.Surfaces, gateway.Agents) || !strings.HasPrefix(l.Path, "/api/") || l.Path == "/api/auth/logout" {
			continue
		}
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			forbids(call{method: method, path: somewhere(l.Path), body: "{}"})
			refused++
		}
		if l.Method == "GET" && (strings.Contains(l.Path, "/keys") || strings.Contains(l.Path, "/secrets") || strings.Contains(l.Path, "/orchestration/")) {
			forbids(call{path: somewhere(l.Path)})
			refused++
		}
	}
	for _, path := range []string{"agents/central/x", "agents/central/x/abort", "agents/central/x/submissions", "workflows/sample", "runs", "runs/run_x", "channels/mail/in", "nothing"} {
		forbids(call{method: "POST", path: "/v1/ada/personal/" + path, body: `{"kind":"user","body":"hi"}`})
		forbids(call{method: "DELETE", path: "/v1/ada/personal/" + path})
		refused += 2
	}
	for _, path := range []string{"billing", "invoices", "keys", "secrets", "secrets/NAME", "billing/portal"} {
		forbids(call{path: "/api/workspaces/ada/personal/" + path})
		refused++
	}
	header := by(key)
	forbids(call{method: "POST", path: "/v1/ada/personal/agents/central/x", header: header, body: `{"kind":"user","body":"hi"}`})
	forbids(call{method: "POST", path: "/api/auth/reauth", body: map[string]string{"password": password}})
	for _, name := range []string{"svc_view=x", view} { // two views are none: whoever comes is who they are
		s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/runs", cookie: view + "; " + part(t, name, "svc_view")}).wants(t, 404, "workspace_not_found")
	}
	var runs struct{ Items []any }
	s.visits(t, view, "/api/workspaces/ada/personal/runs").wants(t, 200, "").read(t, &runs)
	if len(runs.Items) > 0 {
		t.Error("somebody ran something")
	}
	t.Logf("%d refusals", refused+2)
	s.do(t, call{on: gateway.Agents, method: "POST", path: "/api/auth/logout", cookie: view}).wants(t, 204, "")
	if got := s.visits(t, view, sessionOf).wants(t, 200, ""); !strings.Contains(got.body, `"authenticated":false`) || got.Header.Get("Svc-Impersonation") != "" {
		t.Errorf("after the logout: %s", got.body)
	}
}

func TestAViewLivesBesideItsSessionAndNoLongerThanAnHour(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{})
		beside := open(t, address, accounttest.Options{Beside: s.World})
		ada, customer := s.session(t, "ada@example.com")
		cookie, sam := s.hire(t, "sam", account.RoleAdmin)
		other, _ := s.hire(t, "tom", account.RoleAdmin)
		up := s.elevate(t, cookie)
		_, view := s.looks(t, up, customer.Account.ID)
		value := part(t, view, "svc_view")
		again, err := s.Passwords.Login(accounttest.From(t), "sam@example.com", password, "")
		if err != nil {
			t.Fatal(err)
		}
		beside.sees(t, view, "ada")
		s.sees(t, other+"; "+value, "tom")
		s.sees(t, ada+"; "+value, "ada")
		if got := s.sees(t, "svc_session="+again.Token+"; "+value, "sam"); got.Header.Get("Svc-Impersonation") != "" {
			t.Error("another session looks too")
		}
		if got := s.visits(t, value, sessionOf); !strings.Contains(got.body, `"authenticated":false`) {
			t.Errorf("a view alone: %s", got.body)
		}
		s.visits(t, view+"; "+ada, sessionOf).wants(t, 400, "ambiguous_session")
		s.on(t, up+"; "+value, "GET", "/api/auth/session", nil).wants(t, 200, "")
		s.Clock.Pass(time.Hour - time.Second)
		s.sees(t, view, "ada")
		s.Clock.Pass(time.Second)
		beside.sees(t, view, "sam")
		for name, end := range map[string]func(){
			"the customer became staff":     func() { s.grant(t, customer.Account.ID, account.RoleSupport) },
			"the customer was suspended":    func() { execute(t, s, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", customer.Account.ID) },
			"the customer left":             func() { execute(t, s, "UPDATE accounts SET deleted_at = 1 WHERE id = $1", customer.Account.ID) },
			"the staff person lost a role":  func() { s.grant(t, sam.Account.ID, account.RoleNone) },
			"the staff person got it again": func() { s.grant(t, sam.Account.ID, account.RoleNone); s.grant(t, sam.Account.ID, account.RoleAdmin) },
		} {
			execute(t, s, "UPDATE accounts SET suspended_at = NULL, deleted_at = NULL WHERE id = $1", customer.Account.ID)
			s.grant(t, customer.Account.ID, account.RoleNone)
			s.grant(t, sam.Account.ID, account.RoleAdmin)
			up = s.elevate(t, part(t, up, "svc_session"))
			_, view := s.looks(t, up, customer.Account.ID)
			s.sees(t, view, "ada")
			if end(); s.sees(t, view, "sam").Header.Get("Svc-Impersonation") != "" {
				t.Errorf("%s, and the view goes on", name)
			}
		}
	})
}

func (s *scene) grant(t testing.TB, id, role string) {
	t.Helper()
	if _, err := s.Staff.Grant(t.Context(), id, role); err != nil {
		t.Fatal(err)
	}
}

func TestNobodyLooksAsOtherStaffOrWithoutAReason(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{})
		ada, customer := s.session(t, "ada@example.com")
		cookie, sam := s.hire(t, "sam", account.RoleSupport)
		_, boss := s.hire(t, "boss", account.RoleAdmin)
		_, mate := s.hire(t, "mate", account.RoleSupport)
		up := s.elevate(t, cookie)
		ask := func(subject, reason string) reply {
			return s.on(t, up, "POST", viewsPath, map[string]string{"accountId": subject, "reason": reason})
		}
		for _, staff := range []account.Registered{sam, boss, mate} {
			ask(staff.Account.ID, "a good reason to look").wants(t, 403, "impersonation_forbidden")
		}
		for reason, typ := range map[string]string{"": "too_short", "123456789": "too_short", "   short   \t ": "too_short", strings.Repeat("x", 501): "too_long", "ten or more\x00": "invalid"} {
			if got := ask(customer.Account.ID, reason).wants(t, 400, "invalid_request"); !strings.Contains(got.body, fmt.Sprintf(`{"field":"reason","type":%q}`, typ)) {
				t.Errorf("%q: %s", reason, got.body)
			}
		}
		ask(customer.Account.ID, "1234567890").wants(t, 201, "")
		ask("acc_x", "a good reason to look").wants(t, 404, "item_not_found")
		s.on(t, ada, "POST", viewsPath, map[string]string{"accountId": sam.Account.ID, "reason": "a good reason to look"}).wants(t, 403, "admin_required")
		s.on(t, cookie, "POST", viewsPath, map[string]string{"accountId": customer.Account.ID, "reason": "a good reason to look"}).wants(t, 401, "unauthenticated")
		s.on(t, part(t, up, "svc_session"), "POST", viewsPath, map[string]string{"accountId": customer.Account.ID, "reason": "a good reason to look"}).wants(t, 403, "reauth_required")
		execute(t, s, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", customer.Account.ID)
		ask(customer.Account.ID, "a good reason to look").wants(t, 403, "account_suspended")
	})
}

func TestAnImpersonationIsEndedByItsPersonOrAnAdministrator(t *testing.T) {
	s := quick(t)
	_, customer := s.session(t, "ada@example.com")
	sam, _ := s.hire(t, "sam", account.RoleSupport)
	tom, _ := s.hire(t, "tom", account.RoleSupport)
	boss, _ := s.hire(t, "boss", account.RoleAdmin)
	sam, tom, boss = s.elevate(t, sam), s.elevate(t, tom), s.elevate(t, boss)
	id, view := s.looks(t, sam, customer.Account.ID)
	s.on(t, tom, "DELETE", viewsPath+"/"+id, nil).wants(t, 404, "item_not_found")
	s.sees(t, view, "ada")
	s.on(t, boss, "DELETE", viewsPath+"/"+id, nil).wants(t, 204, "")
	s.sees(t, view, "sam")
	s.on(t, sam, "DELETE", viewsPath+"/"+id, nil).wants(t, 404, "item_not_found")
	s.on(t, sam, "DELETE", viewsPath+"/imp_x", nil).wants(t, 404, "item_not_found")
	_, first := s.looks(t, sam, customer.Account.ID)
	_, bob := s.session(t, "bob@example.com")
	_, ticket := s.asks(t, sam, bob.Account.ID)
	next := s.visits(t, first, ticket).leads(t, 303, agentsURL+"/")
	s.sees(t, part(t, sam, "svc_session")+"; "+next.cookies(), "bob")
}

func TestTheCookieOfAViewIsExactlyAsItsEnvironmentDemands(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*gateway.Config)
		want string
	}{
		"http":  {trusting, "svc_view=VALUE; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax"},
		"https": {production, "__Host-svc_view=VALUE; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax"},
	} {
		t.Run(name, func(t *testing.T) {
			s := quick(t, c.edit)
			_, customer := s.session(t, "ada@example.com")
			cookie, sam := s.hire(t, "sam", account.RoleSupport)
			who, _, err := s.Sessions.Who(t.Context(), sam.Token)
			if err != nil {
				t.Fatal(err)
			}
			i, err := s.Views.Impersonate(t.Context(), who, customer.Account.ID, "she asked for help")
			if err != nil {
				t.Fatal(err)
			}
			got := s.visits(t, cookie, "/api/auth/view?ticket="+i.Ticket)
			given := strings.SplitN(strings.TrimPrefix(strings.TrimPrefix(got.cookies(), "__Host-"), "svc_view="), ";", 2)[0]
			want(t, []string{strings.Replace(got.Header.Get("Set-Cookie"), given, "VALUE", 1)}, c.want)
		})
	}
}
