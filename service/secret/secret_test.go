package secret_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"text/template"

	"svc.dev/svc/service/secret"
)

// printed reports whether a value stands in a text in one of the ways that fmt has.
func printed(text, value string) bool {
	numbers := strings.Trim(fmt.Sprint([]byte(value)), "[]")
	for _, form := range []string{value, hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))), numbers, fmt.Sprintf("%q", value)} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

func TestSecretPrintsAsRedacted(t *testing.T) {
	const value = "hunter2hunter2"
	s := secret.Hide(value)
	type exported struct {
		Name  string
		Token secret.Secret
		Ptr   *secret.Secret
	}
	type hidden struct {
		token secret.Secret
		ptr   *secret.Secret
		deep  struct{ token any }
		list  []secret.Secret
		named map[string]secret.Secret
	}
	h := hidden{token: s, ptr: &s, list: []secret.Secret{s}, named: map[string]secret.Secret{"a": s}}
	h.deep.token = s
	things := map[string]any{
		"value": s, "pointer": &s, "struct": exported{"n", s, &s}, "pointer to struct": &exported{"n", s, &s}, "hidden": h, "pointer to hidden": &h,
		"slice": []secret.Secret{s}, "map": map[string]secret.Secret{"k": s}, "any": []any{s, &s, map[string]any{"x": s}},
		"error": fmt.Errorf("with %v: %w", s, errors.New("cause")),
	}
	for name, thing := range things {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p", "%o", "%U", "%20s", "%-5v", "%e", "%t", "%c", "%b"} {
			if out := fmt.Sprintf(verb, thing); printed(out, value) {
				t.Errorf("%s with %s: %s", name, verb, out)
			}
		}
		if out, err := json.Marshal(thing); err == nil && printed(string(out), value) {
			t.Errorf("%s as JSON: %s", name, out)
		}
		for _, handler := range []func(*bytes.Buffer) slog.Handler{
			func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
			func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		} {
			var b bytes.Buffer
			slog.New(handler(&b)).With("bound", thing).WithGroup("g").Info("message", "thing", thing)
			if printed(b.String(), value) {
				t.Errorf("%s in a log: %s", name, b.String())
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if out := fmt.Sprintf(verb, s); out != "[redacted]" {
			t.Errorf("%s prints %s", verb, out)
		}
	}
	if s.Reveal() != value || (secret.Secret{}).Reveal() != "" {
		t.Error("revealed something else")
	}
}

func TestSecretEncodesAsRedacted(t *testing.T) {
	s := secret.Hide("hunter2hunter2")
	out, err := json.Marshal(map[string]any{"a": s, "b": &s, "c": secret.Secret{}})
	if err != nil || string(out) != `{"a":"[redacted]","b":"[redacted]","c":"[redacted]"}` {
		t.Errorf("%s, %v", out, err)
	}
	type named struct{ A secret.Secret }
	out, err = xml.Marshal(named{s})
	if err != nil || strings.Contains(string(out), "hunter2") {
		t.Errorf("%s, %v", out, err)
	}
	var b bytes.Buffer
	must(t, template.Must(template.New("").Parse("{{.}} {{printf \"%s\" .}}")).Execute(&b, s))
	if b.String() != "[redacted] [redacted]" {
		t.Error(b.String())
	}
	b.Reset()
	slog.New(slog.NewTextHandler(&b, nil)).Info("m", "token", s)
	if !strings.Contains(b.String(), "token=[redacted]") {
		t.Error(b.String())
	}
}
