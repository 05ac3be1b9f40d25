package operation_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/workspace"
)

// people are the nouns that no key looks after.
var people = []string{"people", "invitations", "teams", "installations", "secrets", "models", "mcps", "keys", "audit", "archive", "unarchive", "restore", ""}

// scopes are what keys are made for, by the noun of a path.
var scopes = map[string][2]string{ // to read, and to change
	"agents": {"agents:read", ""}, "channels": {"agents:read", ""}, "tools": {"agents:read", ""}, "workflows": {"runs:read", "workflows:run"}, "runs": {"runs:read", "workflows:run"},
	"projects": {"projects:read", "projects:write"}, "storage": {"projects:read", ""},
}

// weaker are the changes that take less than most, and why.
var weaker = map[string]string{"removeMember": "everybody may leave"}

// TestEveryRowNeedsWhatItsKindNeeds holds the table to the contract's rules: the matrices of the gateway follow from the rows, so the
// rows are compared with something else here.
func TestEveryRowNeedsWhatItsKindNeeds(t *testing.T) {
	judged := 0
	for _, r := range operation.Rows() {
		if r.Need.String() == "" {
			t.Errorf("%s lets nobody in", r.ID)
		}
		rest, below := strings.CutPrefix(r.Path, operation.W)
		if !below {
			continue
		}
		judged++
		noun, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		right, inside := r.Need.Inside()
		reads := r.Method == http.MethodGet
		if !inside {
			t.Errorf("%s is of a workspace and takes no right in it", r.ID)
		}
		if !reads && weaker[r.ID] == "" && slices.Contains([]workspace.Right{workspace.Enter, workspace.Read, workspace.Review}, right) {
			t.Errorf("%s changes something by the right to %s", r.ID, right)
		}
		if reads && slices.Contains([]workspace.Right{workspace.Work, workspace.Manage, workspace.Own}, right) {
			t.Errorf("%s reads by the right to %s", r.ID, right)
		}
		checkScope(t, r, noun, reads, right)
	}
	t.Logf("%d rows", judged)
}

func checkScope(t *testing.T, r operation.Row, noun string, reads bool, right workspace.Right) {
	t.Helper()
	known, found := scopes[noun]
	want := known[1]
	if reads {
		want = known[0]
	}
	if right == workspace.Manage || right == workspace.Own {
		want = "" // no key does what only those do who manage
	}
	switch {
	case !found && !slices.Contains(people, noun):
		t.Errorf("%s is about %q, of which nobody has said whether a key may", r.ID, noun)
	case r.Need.Scope() != want:
		t.Errorf("%s takes a key for %q, want %q", r.ID, r.Need.Scope(), want)
	}
}

// TestARefusedKeyIsToldTheLeastRoleThatWouldDo holds what a refusal names to what would be let in: a role by which the maker of the key
// could do it, and none below that.
func TestARefusedKeyIsToldTheLeastRoleThatWouldDo(t *testing.T) {
	judged := 0
	for _, r := range operation.Rows() {
		right, inside := r.Need.Inside()
		if !inside {
			continue
		}
		for _, scope := range strings.Fields(r.Need.Scope()) {
			judged++
			checkLeast(t, r, right, scope)
		}
	}
	if judged < 10 {
		t.Errorf("only %d rows take a key", judged)
	}
}

func checkLeast(t *testing.T, r operation.Row, right workspace.Right, scope string) {
	t.Helper()
	named := workspace.LeastWithKey(right, scope)
	for _, role := range workspace.Roles() {
		if role == named {
			break
		}
		if workspace.Allows(role, right) && workspace.RoleAllowsKeyScope(role, scope) {
			t.Errorf("%s names %s, and %s would do", r.ID, named, role)
		}
	}
	if !workspace.Allows(named, right) || !workspace.RoleAllowsKeyScope(named, scope) {
		t.Errorf("%s names %q, by which a key for %s may not", r.ID, named, scope)
	}
}

// configured are the nouns that the contract puts on Platform too.
var configured = strings.Fields("keys connectors mcps models secrets limits billing usage invoices storage observability failures")

// TestWhatIsConfiguredIsOnPlatformToo holds the surfaces of a workspace to the contract: its configuration is on all three, and nothing
// else of it.
func TestWhatIsConfiguredIsOnPlatformToo(t *testing.T) {
	found := 0
	for _, r := range operation.Rows() {
		rest, below := strings.CutPrefix(r.Path, operation.W)
		if !below {
			continue
		}
		noun, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		want := []access.Surface{access.Agents, access.Admin}
		if slices.Contains(configured, noun) || r.ID == "getWorkspace" {
			want = append(want, access.Platform)
			found++
		}
		if !slices.Equal(r.On, want) {
			t.Errorf("%s is on %v, want %v", r.ID, r.On, want)
		}
	}
	if found < 10 {
		t.Errorf("only %d rows are on Platform", found)
	}
}

// TestWhatIsOfTheStaffIsOnAdminAlone holds the surfaces to their authority.
func TestWhatIsOfTheStaffIsOnAdminAlone(t *testing.T) {
	for _, r := range operation.Rows() {
		admin := strings.HasPrefix(r.Path, "/api/admin") || strings.HasPrefix(r.Path, operation.Own)
		if alone := slices.Equal(r.On, []access.Surface{access.Admin}); admin && !alone || admin && !r.Need.Elevated(access.Admin) {
			t.Errorf("%s is on %v, and needs %s", r.ID, r.On, r.Need)
		}
		if r.Need.IsPublic() && (strings.HasPrefix(r.Path, "/api/workspaces") || strings.HasPrefix(r.Path, "/api/account") || admin) {
			t.Errorf("everybody may %s", r.ID)
		}
	}
}

// TestAKeyIsDescribedWithEveryScope holds what the description lists to what the room takes.
func TestAKeyIsDescribedWithEveryScope(t *testing.T) {
	field, _ := reflect.TypeFor[operation.NewKey]().FieldByName("Scopes")
	if listed := strings.Fields(field.Tag.Get("enum")); !slices.Equal(listed, apikey.Scopes) {
		t.Errorf("described are %v, taken %v", listed, apikey.Scopes)
	}
}

// proven are the operations of a workspace that need a fresh proof of identity.
var proven = []string{"createKey", "deleteModelProvider", "deleteSecret", "deleteWorkspace", "rotateKey"}

// TestSensitiveActsNeedAFreshProof says which those are: the matrices take it from the rows, and would not miss it.
func TestSensitiveActsNeedAFreshProof(t *testing.T) {
	for _, r := range operation.Rows() {
		_, below := strings.CutPrefix(r.Path, operation.W)
		want := r.Need.Changes() || below && slices.Contains(proven, r.ID)
		if strings.HasPrefix(r.Path, operation.Own) {
			want = slices.Contains(proven, strings.Replace(r.ID, "Own", "", 1))
		}
		if r.Need.IsFresh() != want {
			t.Errorf("%s needs a fresh proof: %t, want %t", r.ID, r.Need.IsFresh(), want)
		}
		if strings.HasPrefix(r.Path, "/api/admin/") && r.Method != http.MethodGet && !strings.HasPrefix(r.Path, "/api/admin/impersonations") && !r.Need.Changes() {
			t.Errorf("%s is for staff who only read", r.ID)
		}
	}
}
