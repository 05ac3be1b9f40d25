package operation

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// unversioned are the changes of what has no version, or of nothing that anybody has seen.
var unversioned = map[string]string{"revokeKey": "a key has no version"}

// TestWhatHasAVersionIsChangedByIt holds every change below a workspace to take If-Match, whether it shows what it changed or takes it
// away. What is made has no version before.
func TestWhatHasAVersionIsChangedByIt(t *testing.T) {
	judged := 0
	for _, r := range Rows() {
		if r.Method == http.MethodGet || !strings.HasPrefix(r.Path, W) || r.kind == creates || r.asked {
			continue
		}
		shows := false
		if r.out.Kind() == reflect.Struct {
			_, shows = r.out.FieldByName("Version")
		}
		if !shows && r.Method != http.MethodDelete {
			continue
		}
		judged++
		takes := false
		for i := range r.in.NumField() {
			field := r.in.Field(i).Type
			takes = takes || field == matchType || field == conditionType || field == uploadType
		}
		if why := unversioned[r.ID]; takes == (why != "") {
			t.Errorf("%s %s (%s) takes If-Match: %v, though %q", r.Method, r.Path, r.ID, takes, why)
		}
	}
	if judged < 15 {
		t.Errorf("only %d changes were judged", judged)
	}
}
