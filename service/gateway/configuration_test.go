package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/gateway"
)

// TestWhatIsConfiguredIsTheSameOnPlatform asks everything of a workspace that Platform has: it reads alike there, a page of another
// surface changes nothing, and staff are customers.
func TestWhatIsConfiguredIsTheSameOnPlatform(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := withRuntime(t, address, false, roomy)
		ada := s.settle(t, "ada")
		hired, _ := s.hire(t, "root1", account.RoleAdmin)
		staff, asked := s.elevate(t, hired), 0
		for _, l := range gateway.Lines() {
			rest, below := strings.CutPrefix(l.Path, "/api/workspaces/{username}/{business}")
			if !below || !slices.Contains(l.Surfaces, gateway.Platform) {
				continue
			}
			asked++
			c := call{on: gateway.Platform, method: l.Method, path: ada.fill(ada.space() + rest), body: bodyOf(l.Method, "W"+rest)}
			c.cookie = staff
			s.do(t, c).wants(t, 404, "workspace_not_found")
			c.cookie = ada.cookie
			if l.Method != http.MethodGet {
				for _, other := range []gateway.Surface{gateway.Agents, gateway.Admin} {
					c.header = s.page(other)
					s.do(t, c).wants(t, 403, "cross_origin_request")
				}
				continue
			}
			here := s.do(t, c).wants(t, 200, "")
			c.on = gateway.Agents
			if there := s.do(t, c).wants(t, 200, ""); steady(here.body) != steady(there.body) {
				t.Errorf("%s: %s, and on Agents %s", l.Path, here.body, there.body)
			}
		}
		if asked < 10 {
			t.Errorf("only %d routes were asked", asked)
		}
		made := s.do(t, call{method: "POST", path: ada.space() + "/keys", cookie: ada.cookie, body: requestBodies["POST /keys"]}).wants(t, 201, "")
		if at := made.Header.Get("Location"); !strings.HasPrefix(at, ada.space()+"/keys/key_") {
			t.Errorf("a key is made at %q", at)
		}
		s.do(t, call{path: ada.space() + "/storage", header: by(ada.key)}).wants(t, 200, "")
		s.do(t, call{method: "PATCH", path: ada.space(), cookie: ada.cookie, body: requestBodies["PATCH "]}).wants(t, 405, "method_not_allowed")
		if told := s.events(t, "users/ada/acme", "key.created"); len(told) == 0 || told[0].Source.Surface != "platform" {
			t.Errorf("the log tells %+v", told)
		}
	})
}
