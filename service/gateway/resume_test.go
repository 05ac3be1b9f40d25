package gateway_test

import (
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
)

// TestASignUpWithTheRightPasswordResumesThoughThereIsMail by the JSON route and by the form; everybody else is told that a mail
// was sent, in the same bytes.
func TestASignUpWithTheRightPasswordResumesThoughThereIsMail(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		w := &way{open(t, address, accounttest.Options{Mail: true}, trusting), map[string]string{}, map[string]bool{}}
		first := w.posts(t, 202, registerPath, "email", "ada@example.com", "password", password, "username", "ada")
		w.posts(t, 204, "/api/auth/email/verify", "token", w.token(t, "ada@example.com"))

		again := w.posts(t, 200, registerPath, "email", "ada@example.com", "password", password, "username", "ada")
		var body struct {
			Account   struct{ Username string }
			Workspace struct{ ID, Scope string }
			Session   struct{ ID string }
		}
		again.read(t, &body)
		if body.Account.Username != "ada" || body.Workspace.Scope != "users/ada/personal" || body.Session.ID == "" {
			t.Errorf("resumed with %s", again.body)
		}
		w.goes(t, 200, call{path: "/api/account"})
		for _, email := range []string{"ada@example.com", "nobody@example.com"} {
			got := w.posts(t, 202, registerPath, "email", email, "password", "another calm password")
			if got.body != first.body || len(got.Cookies()) != 0 {
				t.Errorf("%s is told %s, others %s", email, got.body, first.body)
			}
		}
		form := w.do(t, call{method: "POST", path: "/signup", header: w.formHeader(), from: fresh(),
			body: "email=ada%40example.com&password=" + "a+calm+and+long+password&returnTo=%2Faccount"})
		form.leads(t, 303, "/account")
		w.browse(t, "/account", form.cookies()).shows(t, 200, "ada@example.com")
	})
}
