package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/gateway"
)

// TestNullInAChangeIsTakenWhereItIsDescribed sends null for every field of every change: one that may be reset is, and every other is
// refused by its name.
func TestNullInAChangeIsTakenWhereItIsDescribed(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false, roomy)
	ada := s.settle(t, "ada")
	// What is built in may not be reset but for what it says.
	s.do(t, call{on: gateway.Agents, method: "POST", path: ada.space() + "/agents", cookie: ada.cookie, body: map[string]string{"name": "writer"}}).wants(t, 201, "")
	ada.ids["name"] = "writer"
	reset, refused := 0, 0
	for _, o := range described(t).Operations {
		if o.Method != http.MethodPatch || slices.Equal(o.Surfaces, []string{"admin"}) {
			continue
		}
		c := call{on: gateway.Agents, method: o.Method, cookie: ada.cookie}
		if !slices.Contains(o.Surfaces, "agents") {
			c.on = gateway.Surface(o.Surfaces[0])
		}
		c.path = ada.fill(strings.NewReplacer("{username}", "ada", "{business}", "acme").Replace(o.Path))
		properties := o.op.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties
		for name := range o.Fields() {
			c.body = map[string]any{name: nil}
			got := s.do(t, c)
			if properties[name].Value.Type.Includes(openapi3.TypeNull) {
				got.wants(t, 200, "")
				reset++
				continue
			}
			if got.wants(t, 400, "invalid_request"); !strings.Contains(got.body, `{"field":"`+name+`","type":"invalid"}`) {
				t.Errorf("%s %s: %s is not named: %s", o.Method, o.Path, name, got.body)
			}
			refused++
		}
	}
	if reset < 2 || refused < 4 {
		t.Errorf("%d fields were reset, %d refused", reset, refused)
	}
}
