package strictjson_test

import (
	"encoding/json"
	"slices"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/strictjson"
)

// edit has a field of each kind that a change may name.
type edit struct {
	Name    *string         `json:"name,omitzero"`
	About   *string         `json:"about,omitzero" null:"none"`
	Count   int64           `json:"count,omitzero" null:"as many as there are"`
	Enabled *bool           `json:"enabled,omitzero"`
	Tags    []string        `json:"tags,omitzero" null:"none"`
	Raw     json.RawMessage `json:"raw,omitzero"`
	Inner   *inner          `json:"inner,omitzero"`
}

// TestNullResetsWhatMayBeResetAndNothingElse merges bodies into a change that names everything before.
func TestNullResetsWhatMayBeResetAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		body string
		bad  []string
	}{
		{`{}`, nil},
		{`{"about":null}`, nil}, {`{"count":null}`, nil}, {`{"tags":null}`, nil}, {`{"raw":null}`, nil}, {`{"about":null,"count":null,"tags":null,"name":"n"}`, nil},
		{`{"name":null}`, []string{"name"}}, {`{"enabled":null}`, []string{"enabled"}}, {`{"inner":null}`, []string{"inner"}},
		{`{"name":null,"about":null,"enabled":null}`, []string{"name", "enabled"}},
		{`{"inner":{"name":null}}`, []string{"inner.name"}},
		{`{"about":null,"other":null}`, []string{"other"}},
	} {
		got := edit{Count: 7, Tags: []string{"a"}}
		err := strictjson.Merge([]byte(c.body), &got)
		var named []string
		if err != nil {
			for _, f := range strictjson.FieldsOf(fault.From(err)) {
				named = append(named, f.Field)
			}
		}
		if !slices.Equal(named, c.bad) || (err != nil) != (c.bad != nil) {
			t.Errorf("%s: %v names %v, want %v", c.body, err, named, c.bad)
		}
	}
	got := edit{Count: 7, Tags: []string{"a"}}
	if err := strictjson.Merge([]byte(`{"about":null,"count":null,"tags":null,"raw":null}`), &got); err != nil {
		t.Fatal(err)
	}
	if got.About == nil || *got.About != "" || got.Count != 0 || got.Tags != nil || string(got.Raw) != "null" || got.Name != nil {
		t.Errorf("got %+v", got)
	}
	if err := strictjson.Decode([]byte(`{"about":null}`), &got); err != nil || got.About != nil {
		t.Errorf("what is not merged takes null for %v, %v", got.About, err)
	}
}
