package gateway_test

import (
	"net/url"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
)

// TestEveryWayInEndsTheSessionThatTheBrowserHad by whichever route somebody comes in: of two sessions of one browser, the
// one that nobody sees any more is the one that somebody else may have.
func TestEveryWayInEndsTheSessionThatTheBrowserHad(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		w := &way{open(t, address, accounttest.Options{}, trusting), map[string]string{}, map[string]bool{}}
		setup, err := w.Staff.PrepareSetup(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		w.posts(t, 201, registerPath, "email", "ada@example.com", "password", password)
		form := func(path, email string) call {
			fields := url.Values{"email": {email}, "password": {password}}
			return call{method: "POST", path: path, body: fields.Encode(), header: w.formHeader()}
		}
		json := func(path, email string, more ...string) call {
			body := map[string]string{"email": email, "password": password}
			for i := 0; i < len(more); i += 2 {
				body[more[i]] = more[i+1]
			}
			return call{method: "POST", path: path, body: body}
		}
		for name, c := range map[string]call{
			"sign in":            json(loginPath, "ada@example.com"),
			"sign in, form":      form("/login", "ada@example.com"),
			"sign up":            json(registerPath, "new@example.com"),
			"sign up, form":      form("/signup", "newer@example.com"),
			"resume":             json(registerPath, "ada@example.com"),
			"resume, form":       form("/signup", "ada@example.com"),
			"first of the staff": json("/api/setup", "root@example.com", "token", setup),
		} {
			before := w.another()
			before.posts(t, 200, loginPath, "email", "ada@example.com", "password", password)
			c.cookie, c.from = "svc_session="+before.jar["svc_session"], fresh()
			got := w.do(t, c)
			if got.StatusCode >= 400 || len(got.Cookies()) == 0 {
				t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
			}
			if after := w.do(t, call{path: "/api/account", cookie: c.cookie}); after.StatusCode != 401 {
				t.Errorf("%s: the session that there was is alive", name)
			}
		}
	})
}
