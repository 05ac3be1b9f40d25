package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/gateway"
)

// elsewhereStale are the changes that take If-Match and are refused for another reason before, here.
var elsewhereStale = map[string]string{
	"restoreWorkspace": "it is not deleted", "unarchiveWorkspace": "it is not archived", "disconnectRepository": "it follows none", "connectRepository": "there is no app",
	"importAgent": "there is no file", "deleteAgent": "it is built in", "enableAgent": "it is built in", "disableAgent": "it is built in",
}

// TestAStaleChangeIsRefusedByEverythingThatTakesAVersion sends a version that nothing has to every change that takes one: whoever takes
// If-Match counts it too.
func TestAStaleChangeIsRefusedByEverythingThatTakesAVersion(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false, roomy)
	ada := s.settle(t, "ada")
	asked := 0
	for _, o := range described(t).Operations {
		rest, below := strings.CutPrefix(o.Path, "/api/workspaces/{username}/{business}")
		if !below || o.Method == http.MethodGet || !slices.Contains(o.Parameters("header"), "If-Match") || strings.Contains(rest, "/files/") || elsewhereStale[o.ID] != "" {
			continue
		}
		asked++
		c := call{on: gateway.Agents, method: o.Method, path: ada.fill(ada.space() + rest), cookie: ada.cookie, header: s.page(gateway.Agents), body: bodyOf(o.Method, "W"+rest)}
		if o.ID == "deleteWorkspace" {
			c.path += "?confirm=acme"
		}
		c.header.Set("If-Match", `"999999"`)
		s.do(t, c).wants(t, 412, "version_conflict")
	}
	if asked < 12 {
		t.Errorf("only %d changes were asked for", asked)
	}
}

// TestWhoLeavesSaysWhichVersionTheyMean takes somebody out of a workspace by themselves.
func TestWhoLeavesSaysWhichVersionTheyMean(t *testing.T) {
	s := quick(t)
	acme := s.found(t, s.enrol(t, "ada"), "acme")
	bob := s.recruit(t, acme, "bob", "viewer")
	c := call{on: gateway.Agents, method: "DELETE", path: spaceOf(acme) + "/people/" + bob.Account.ID, cookie: bob.cookie, header: s.page(gateway.Agents)}
	c.header.Set("If-Match", `"7"`)
	s.do(t, c).wants(t, 412, "version_conflict")
	c.header.Set("If-Match", `"1"`)
	s.do(t, c).wants(t, 204, "")
}
