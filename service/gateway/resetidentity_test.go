package gateway_test

import (
	"net/url"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
)

// Two identities.
const (
	idnA = "idn_01AAAAAAAAAAAAAAAAAAAAAAAA"
	idnB = "idn_01BBBBBBBBBBBBBBBBBBBBBBBB"
)

// linked gives an account an identity, as one that came from a provider.
func (s *scene) linked(t *testing.T, email, id, login string) {
	t.Helper()
	execute(t, s, `INSERT INTO identities (id, provider, issuer, subject, account, login, linked_at, updated_at)
		SELECT '`+id+`', 'github', 'github.com', '`+id+`', id, '`+login+`', 1, 1 FROM accounts WHERE email = '`+email+`'`)
}

// TestAResetShowsIdentitiesAndEndsThem by the JSON routes and, in two steps without scripts, by the page.
func TestAResetShowsIdentitiesAndEndsThem(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		w := &way{open(t, address, accounttest.Options{Mail: true, Edit: lenient}, trusting), map[string]string{}, map[string]bool{}}
		w.posts(t, 201, registerPath, "email", "ada@example.com", "password", password)
		execute(t, w.scene, "UPDATE accounts SET email_verified = 1")
		link := func() string {
			w.Clock.Pass(time.Hour)
			w.posts(t, 202, "/api/auth/password/forgot", "email", "ada@example.com")
			return w.token(t, "ada@example.com")
		}
		identities := func() (all []string) {
			var body struct{ Items []struct{ ID string } }
			w.posts(t, 200, "/api/auth/password/reset/identities", "token", link()).read(t, &body)
			for _, i := range body.Items {
				all = append(all, i.ID)
			}
			return all
		}
		w.linked(t, "ada@example.com", idnA, "hubot")
		w.linked(t, "ada@example.com", idnB, "octocat")
		if got := identities(); len(got) != 2 || got[0] != idnA {
			t.Errorf("shown %v", got)
		}
		w.do(t, call{method: "POST", path: "/api/auth/password/reset/identities", body: `{"token":"x"}`}).wants(t, 400, "invalid_token")

		token := link()
		reset := func(unlink string) call {
			return call{method: "POST", path: "/api/auth/password/reset", body: `{"token":"` + token + `","newPassword":"` + password + `","unlink":` + unlink + `}`}
		}
		w.do(t, reset(`["idn_C"]`)).wants(t, 400, "invalid_request")
		w.do(t, reset(`"`+idnA+`"`)).wants(t, 400, "invalid_request")
		w.goes(t, 204, reset(`["`+idnA+`"]`))
		if got := identities(); len(got) != 1 || got[0] != idnB {
			t.Errorf("left %v", got)
		}

		token = link()
		fields := url.Values{"token": {"https://svc.example/reset#t=" + token}, "newPassword": {password}}
		form := func() reply {
			return w.do(t, call{method: "POST", path: "/reset", body: fields.Encode(), header: w.formHeader(), from: fresh()})
		}
		form().shows(t, 200, "octocat", `name="unlink" value="`+idnB+`"`, `name="shown" value="true"`, token)
		fields["shown"], fields["unlink"] = []string{"true"}, []string{idnB}
		fields["newPassword"] = []string{"short"}
		form().shows(t, 400, "at least 12 characters", `value="`+idnB+`" checked`)
		fields["newPassword"] = []string{password}
		form().leads(t, 303, "/login?notice=password_reset")
		if got := identities(); len(got) != 0 {
			t.Errorf("left %v", got)
		}
		token = link()
		fields = url.Values{"token": {token}, "newPassword": {password}}
		form().leads(t, 303, "/login?notice=password_reset") // one step where there is nothing to show
	})
}
