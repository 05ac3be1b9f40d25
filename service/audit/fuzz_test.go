package audit_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode"
	"unicode/utf8"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/audit"
)

// FuzzEventIsOneLineThatReadsBack puts any text into every field: the line is one, is JSON, and says what was stored.
func FuzzEventIsOneLineThatReadsBack(f *testing.F) {
	for _, s := range []string{"", "a", "a\nb", "\x00", "\xff", `"}`, "\u2028", "é", `\`, "\U000e0001", "<script>"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		e := audit.Event{
			Actor: audit.Actor{Kind: a, ID: b, Username: a}, Subject: &audit.Actor{Kind: b}, Action: a, Target: audit.Target{Kind: b, ID: a},
			Scope: b, Outcome: a, Changes: []string{b, a}, Source: audit.Source{IP: a, UserAgent: b},
		}
		line, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsFunc(line, func(r rune) bool { return r < 0x20 }) {
			t.Fatalf("a control character in %q", line)
		}
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			return // the log stores none
		}
		var got struct {
			Action, Scope, IP, UserAgent string
			Changes                      []string
			Target                       struct{ Kind, ID string }
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if got.Action != a || got.Scope != b || got.IP != a || got.UserAgent != b || got.Changes[0] != b || got.Target.ID != a {
			t.Fatalf("%q reads as %+v", line, got)
		}
	})
}

// FuzzTextIsStoredVisible appends any text, and reads it: visible, short, and in a chain that holds.
func FuzzTextIsStoredVisible(f *testing.F) {
	for _, s := range []string{"", "a", "a\nb", "\x00", "\xff", "\u202e", "é\xff", "\ufffd"} {
		f.Add(s)
	}
	n := open(f, sqldbtest.SQLite(f))
	f.Fuzz(func(t *testing.T, s string) {
		n.t = t
		n.append(audit.Event{Action: "x", Scope: ada, Target: audit.Target{ID: s}})
		p := n.page(audit.Query{Scope: ada, Query: listing.Query{Limit: 1}})
		got := p.Items[0].Target.ID
		if len(got) > 256 || !utf8.ValidString(got) {
			t.Fatalf("%q is stored as %q", s, got)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q is stored as %q", s, got)
			}
		}
	})
}
