package workspace_test

import (
	"slices"
	"testing"

	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/workspace"
)

var rights = []workspace.Right{
	workspace.Enter, workspace.Read, workspace.Work, workspace.Review, workspace.Manage, workspace.Own, workspace.BillingRead, workspace.BillingWrite,
}

// TestRolesMayWhatTheContractSays is the table of accounts.md §8.1, written again by hand.
func TestRolesMayWhatTheContractSays(t *testing.T) {
	want := map[workspace.Right][]string{
		workspace.Enter:        {"viewer", "builder", "admin", "owner", "billing"},
		workspace.Read:         {"viewer", "builder", "admin", "owner"},
		workspace.Work:         {"builder", "admin", "owner"},
		workspace.Review:       {"admin", "owner"},
		workspace.Manage:       {"admin", "owner"},
		workspace.Own:          {"owner"},
		workspace.BillingRead:  {"admin", "owner", "billing"},
		workspace.BillingWrite: {"owner", "billing"},
	}
	least := map[workspace.Right]string{
		workspace.Read: "viewer", workspace.Work: "builder", workspace.Review: "admin", workspace.Manage: "admin", workspace.Own: "owner",
		workspace.BillingRead: "billing", workspace.BillingWrite: "billing",
	}
	for _, right := range rights {
		for _, role := range workspace.Roles() {
			if got := workspace.Allows(role, right); got != slices.Contains(want[right], role) {
				t.Errorf("%s %s: %v", role, right, got)
			}
		}
		if got := workspace.Least(right); right != workspace.Enter && got != least[right] {
			t.Errorf("least for %s is %q", right, got)
		}
	}
}

func TestWhatDoesNotStandInTheTableIsDenied(t *testing.T) {
	for _, role := range []string{"", "root", "Owner", "OWNER", "owner ", " owner", "own", "owner\x00", "none", "member"} {
		for _, right := range rights {
			if workspace.Allows(role, right) {
				t.Errorf("%q may %s", role, right)
			}
		}
		if workspace.IsRole(role) || workspace.AtMost(role, workspace.Owner) {
			t.Errorf("%q is a role", role)
		}
		if workspace.AtMost(workspace.Viewer, role) {
			t.Errorf("%q may give viewer", role)
		}
	}
	for _, right := range []workspace.Right{"", "all", "*", "Read", "read ", "manage.all"} {
		if workspace.Least(right) != "" {
			t.Errorf("somebody may %q", right)
		}
	}
	if workspace.IsRole("support") {
		t.Error("somebody can be a member as staff")
	}
}

func TestARoleIsAtMostAnotherThatMayAllOfIt(t *testing.T) {
	want := map[string][]string{
		"owner": {"owner", "admin", "builder", "viewer", "billing"}, "admin": {"admin", "builder", "viewer"},
		"builder": {"builder", "viewer"}, "viewer": {"viewer"}, "billing": {"billing"},
	}
	for _, own := range workspace.Roles() {
		for _, role := range workspace.Roles() {
			if got := workspace.AtMost(role, own); got != slices.Contains(want[own], role) {
				t.Errorf("%s is at most %s: %v", role, own, got)
			}
		}
	}
}

func TestAKeyMayWhatItsScopesAndItsMakerAllow(t *testing.T) {
	makers := map[string][]string{
		"agents:read": {"viewer", "builder", "admin", "owner"}, "agents:write": {"builder", "admin", "owner"}, "workflows:run": {"builder", "admin", "owner"},
		"runs:read": {"viewer", "builder", "admin", "owner"}, "connectors:read": {"viewer", "builder", "admin", "owner"},
		"projects:read": {"viewer", "builder", "admin", "owner"}, "projects:write": {"builder", "admin", "owner"}, "usage:read": {"admin", "owner", "billing"},
	}
	if len(apikey.Scopes) != len(makers) {
		t.Errorf("keys have %d scopes, the test %d", len(apikey.Scopes), len(makers))
	}
	for _, scope := range apikey.Scopes {
		for _, role := range append(workspace.Roles(), "", "root", "support ") {
			if got := workspace.RoleAllowsKeyScope(role, scope); got != slices.Contains(makers[scope], role) {
				t.Errorf("%s %s: %v", role, scope, got)
			}
		}
		for _, other := range apikey.Scopes {
			if got := workspace.KeyAllows([]string{other}, scope); got != (other == scope) {
				t.Errorf("a key for %s may %s: %v", other, scope, got)
			}
		}
	}
	all := append(slices.Clone(apikey.Scopes), "keys:write", "people:write", "*", "")
	for _, never := range []string{"", "*", "keys:write", "people:write", "secrets:read", "billing:write", "admin", "agents:*", "agents", "Agents:read"} {
		if workspace.KeyAllows(all, never) || workspace.RoleAllowsKeyScope(workspace.Owner, never) {
			t.Errorf("a key may %q", never)
		}
	}
}
