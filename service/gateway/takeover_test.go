package gateway_test

import (
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/page"
)

// TestATakeoverEndsWithTheUndoOfTheFirstAddress is the whole story by HTTP: somebody who knows the password moves the account
// from address to address; its owner takes the first one back and chooses a password; no link of the others opens it again.
func TestATakeoverEndsWithTheUndoOfTheFirstAddress(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		w := &way{open(t, address, accounttest.Options{Mail: true}, trusting), map[string]string{}, map[string]bool{}}
		const a, b, c = "a@example.com", "b@example.com", "c@example.com"
		w.posts(t, 202, registerPath, "email", a, "password", password)
		w.posts(t, 204, "/api/auth/email/verify", "token", w.token(t, a))

		eve := w.another()
		eve.posts(t, 200, loginPath, "email", a, "password", password)
		undo := map[string]string{}
		for _, move := range [][2]string{{a, b}, {b, c}} {
			eve.posts(t, 202, "/api/account/email", "email", move[1])
			eve.posts(t, 204, "/api/auth/email/verify", "token", w.token(t, move[1]))
			undo[move[0]] = w.token(t, move[0])
		}
		eve.posts(t, 202, "/api/auth/password/forgot", "email", c)
		reset := w.token(t, c)

		w.posts(t, 204, "/api/auth/email/undo", "token", undo[a])
		eve.posts(t, 200, loginPath, "email", a, "password", password) // before the owner can do anything else
		session := "svc_session=" + eve.jar["svc_session"]
		w.do(t, call{method: "POST", path: "/api/account/email", body: map[string]string{"email": b}, cookie: session}).wants(t, 403, "forbidden")
		w.do(t, call{method: "DELETE", path: "/api/account?confirm=a", cookie: session}).wants(t, 400, "invalid_request")
		var who struct{ Username string }
		w.do(t, call{path: "/api/account", cookie: session}).read(t, &who)
		w.do(t, call{method: "DELETE", path: "/api/account?confirm=" + who.Username, cookie: session}).wants(t, 403, "forbidden")
		w.posts(t, 202, "/api/auth/password/forgot", "email", a)
		w.posts(t, 204, "/api/auth/password/reset", "token", w.token(t, a), "newPassword", "another calm password")
		w.posts(t, 200, loginPath, "email", a, "password", "another calm password")

		refused := func(path string, body map[string]string) {
			t.Helper()
			w.do(t, call{method: "POST", path: path, body: body, from: fresh()}).wants(t, 400, "invalid_token")
		}
		refused("/api/auth/email/undo", map[string]string{"token": undo[b]})
		refused("/api/auth/email/undo", map[string]string{"token": undo[a]})
		refused("/api/auth/password/reset", map[string]string{"token": reset, "newPassword": "a third calm password"})
		if got := w.fields(t, page.UndoPath, "", "token", undo[b]); got.StatusCode != 400 {
			t.Errorf("the form takes the younger link: %d", got.StatusCode)
		}
		w.do(t, call{path: "/api/account", cookie: "svc_session=" + eve.jar["svc_session"]}).wants(t, 401, "unauthenticated")
		w.do(t, call{method: "POST", path: loginPath, body: map[string]string{"email": a, "password": password}, from: fresh()}).wants(t, 401, "invalid_credentials")
		var mine struct{ Email string }
		w.goes(t, 200, call{path: "/api/account"}).read(t, &mine)
		if mine.Email != a {
			t.Errorf("the account has %s", mine.Email)
		}
	})
}

// TestAnAccompliceIsOutOnceTheAddressIsProven is an unproven account whose maker let somebody into its workspace: whoever has
// the address sets a password by mail, and is alone.
func TestAnAccompliceIsOutOnceTheAddressIsProven(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		w := &way{open(t, address, accounttest.Options{Mail: true, Edit: lenient}, trusting), map[string]string{}, map[string]bool{}}
		eve, mallory := w.another(), w.another()
		eve.posts(t, 201, registerPath, "email", "victim@example.com", "password", password)
		mallory.posts(t, 201, registerPath, "email", "mallory@example.com", "password", password)
		execute(t, w.scene, "UPDATE accounts SET email_verified = 1 WHERE email = 'mallory@example.com'")
		const space = "/api/workspaces/victim/personal"
		invitation := map[string]string{"email": "mallory@example.com", "role": "owner"}
		eve.goes(t, 201, call{on: gateway.Agents, method: "POST", path: space + "/invitations", body: invitation})
		mallory.posts(t, 200, "/api/invitations/accept", "token", w.token(t, "mallory@example.com"))
		mallory.goes(t, 200, call{on: gateway.Agents, path: space + "/people"})

		w.posts(t, 202, "/api/auth/password/forgot", "email", "victim@example.com")
		w.posts(t, 204, "/api/auth/password/reset", "token", w.token(t, "victim@example.com"), "newPassword", "another calm password")
		session := "svc_session=" + mallory.jar["svc_session"]
		w.do(t, call{on: gateway.Agents, path: space + "/people", cookie: session}).wants(t, 404, "workspace_not_found")
		w.do(t, call{on: gateway.Agents, method: "DELETE", path: space + "/people/acc_x", cookie: session}).wants(t, 404, "workspace_not_found")
		w.posts(t, 200, loginPath, "email", "victim@example.com", "password", "another calm password")
		var people struct{ Items []struct{ Username string } }
		w.goes(t, 200, call{on: gateway.Agents, path: space + "/people"}).read(t, &people)
		if len(people.Items) != 1 || people.Items[0].Username != "victim" {
			t.Errorf("people: %+v", people)
		}
	})
}
