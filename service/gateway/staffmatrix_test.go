package gateway_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/gateway"
)

// authority is what a route of Admin needs beside the elevation.
type authority int

const (
	reads   authority = iota + 1 // any role over the service
	changes                      // that of an administrator
	proves                       // that, and a fresh proof of identity
)

// authorityOf is what a route of Admin needs. Of a workspace staff change nothing by reading.
func authorityOf(l gateway.Line) authority {
	_, inside := l.Need.Inside()
	switch {
	case l.Need.IsFresh():
		return proves
	case l.Need.Changes(), inside && l.Method != http.MethodGet:
		return changes
	}
	return reads
}

// caste is somebody as whom Admin is asked.
type caste struct {
	name, cookie string
	refused      func(authority) string // the type of the refusal; empty: it is none
}

func always(typ string) func(authority) string { return func(authority) string { return typ } }

// TestStaffMayExactlyWhatTheirRoleSays asks every route of Admin as nobody, as a customer, and as staff of every role with
// and without their elevation, and a while after their last proof.
func TestStaffMayExactlyWhatTheirRoleSays(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) { s.tryStaff(t) }, roomy)
}

// roomy lets somebody ask for everything within a minute.
func roomy(c *gateway.Config) { c.Rate, c.Burst, c.Verifications = 10_000, 10_000, 1000 }

func (s *scene) tryStaff(t *testing.T) {
	t.Helper()
	customer, _ := s.session(t, "ada@example.com")
	admin, _ := s.hire(t, "root1", account.RoleAdmin)
	support, _ := s.hire(t, "helper", account.RoleSupport)
	low, _ := s.hire(t, "root2", account.RoleAdmin)
	lower, _ := s.hire(t, "helper2", account.RoleSupport)
	up, helper := s.elevate(t, admin), s.elevate(t, support)
	asked := s.tryCastes(t, []caste{
		{"nobody", "", always("unauthenticated")},
		{"a customer", customer, always("admin_required")},
		{"an administrator without elevation", low, always("reauth_required")},
		{"support without elevation", lower, always("reauth_required")},
		{"support", helper, func(a authority) string {
			if a == reads {
				return ""
			}
			return "forbidden"
		}},
		{"an administrator", up, always("")},
	})
	s.Clock.Pass(11 * time.Minute)
	asked += s.tryCastes(t, []caste{{"an administrator a while after", up, func(a authority) string {
		if a == proves {
			return "reauth_required"
		}
		return ""
	}}})
	t.Logf("%d requests", asked)
}

// tryCastes asks every route in every caste, and counts.
func (s *scene) tryCastes(t *testing.T, castes []caste) (asked int) {
	t.Helper()
	for _, l := range gateway.Lines() {
		if !slices.Contains(l.Surfaces, gateway.Admin) || !strings.HasPrefix(l.Path, "/api/") || !l.Need.Elevated(gateway.Admin) {
			continue
		}
		needs := authorityOf(l)
		for _, c := range castes {
			asked++
			s.tryCaste(t, c, l, c.refused(needs))
		}
	}
	return asked
}

// barriers are the refusals of those who may not.
var barriers = []string{"unauthenticated", "admin_required", "reauth_required", "forbidden", "route_not_found", "workspace_not_found", "cross_origin_request"}

func (s *scene) tryCaste(t *testing.T, c caste, l gateway.Line, want string) {
	t.Helper()
	var body any
	if l.Method != http.MethodGet {
		body = "{}"
	}
	path := somewhere(l.Path)
	got := s.on(t, c.cookie, l.Method, path, body)
	var envelope struct {
		Error struct {
			Type string
			Meta struct{ Role string }
		}
	}
	_ = json.Unmarshal([]byte(got.body), &envelope)
	typ := envelope.Error.Type
	// A workspace of an id that nobody has is not found by whoever may look for it.
	if want == "" && typ == "workspace_not_found" && strings.HasPrefix(l.Path, "/api/admin/workspaces/") {
		return
	}
	if want == "" && slices.Contains(barriers, typ) || want != "" && typ != want {
		t.Errorf("%s %s as %s: %d %q, want %q", l.Method, path, c.name, got.StatusCode, typ, want)
	}
	if want == "forbidden" && envelope.Error.Meta.Role != account.RoleAdmin {
		t.Errorf("%s %s as %s: %s", l.Method, path, c.name, got.body)
	}
}

// TestNoRouteAnswersOnASurfaceThatDoesNotHaveIt asks everything where it is not, by somebody who may do everything.
func TestNoRouteAnswersOnASurfaceThatDoesNotHaveIt(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false, roomy, trusting)
	s.session(t, "ada@example.com")
	cookie, _ := s.hire(t, "root1", account.RoleAdmin)
	up := s.elevate(t, cookie)
	methods := map[gateway.Surface]map[string][]string{gateway.Platform: {}, gateway.Agents: {}, gateway.Admin: {}}
	for _, l := range gateway.Lines() {
		for _, on := range l.Surfaces {
			methods[on][somewhere(l.Path)] = append(methods[on][somewhere(l.Path)], l.Method)
		}
	}
	asked := 0
	for _, l := range gateway.Lines() {
		if !strings.HasPrefix(l.Path, "/api/") {
			continue
		}
		path := somewhere(l.Path)
		for _, on := range surfaces {
			if slices.Contains(methods[on][path], l.Method) {
				continue
			}
			asked++
			got := s.do(t, call{on: on, method: l.Method, path: path, cookie: up, body: "{}"})
			if len(methods[on][path]) > 0 {
				got.wants(t, 405, "method_not_allowed")
			} else {
				got.wants(t, 404, "route_not_found")
			}
		}
	}
	t.Logf("%d requests", asked)
}
