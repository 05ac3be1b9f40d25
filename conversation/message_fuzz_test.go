package conversation

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"svc.dev/svc/fault"
	"svc.dev/svc/stream"
)

// delivered is a message as a client would send it again.
func delivered(m Message) ([]byte, error) {
	sent := map[string]any{"kind": m.Kind, "body": m.Body}
	if m.Kind == KindSignal {
		sent["type"] = m.Type
		if m.TagName != "" {
			sent["tagName"] = m.TagName
		}
		if m.Attributes != nil {
			sent["attributes"] = m.Attributes
		}
	}
	if len(m.Attachments) > 0 {
		var list []map[string]any
		for _, a := range m.Attachments {
			list = append(list, map[string]any{"type": "image", "mimeType": a.MimeType, "filename": a.Filename, "data": a.Data})
		}
		sent["attachments"] = list
	}
	return stream.Encode(sent)
}

// FuzzParseMessage holds that a body is refused as a malformed request or read into a message that says the same when it is
// sent again, with only the fields of its kind.
func FuzzParseMessage(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `[]`, `{}`, `{"kind":"user","body":""}`, `{"kind":"user","body":"x","Body":1,"extra":{}}`, `{"kind":"user","kind":"bot","body":"x"}`,
		`{"kind":"user","body":"x","attachments":[{"type":"image","data":" aGVs\nbG8","mimeType":""},{"type":"image","data":"iVBORw0KGgo=","mimeType":"a","filename":"f"}]}`,
		`{"kind":"user","body":"x","attachments":[{"type":"image","data":"ab-_","mimeType":"a"}]}`,
		`{"kind":"user","body":"x","attachments":[{"type":"image","data":"aGVsbG9=","mimeType":"a"}]}`,
		`{"kind":"signal","type":"t","body":"b","attributes":{"b":"1","a":"2","__proto__":"3","b":"4"},"tagName":"_x.-"}`,
		`{"kind":"signal","type":"","body":"b"}`, `{"kind":"signal","type":"t","body":"b","tagName":"1"}`, `{"kind":"signal","type":"t","body":"b","attributes":{"a":1}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := ParseMessage(t.Context(), body) // whatever it is, that ends
		if !json.Valid(body) || !utf8.Valid(body) {
			return // refused before
		}
		if err != nil {
			if !fault.Is(err, fault.InvalidRequest) || !reflect.DeepEqual(m, Message{}) {
				t.Fatalf("refused as %v with %+v; want invalid_request and nothing", err, m)
			}
			return
		}
		if m.Kind == KindUser && (m.Type != "" || m.TagName != "" || m.Attributes != nil) || m.Kind == KindSignal && (m.Attachments != nil || m.Type == "") {
			t.Fatalf("fields of another kind: %+v", m)
		}
		for _, a := range m.Attributes {
			if dropped[a.Name] {
				t.Fatalf("attribute %q", a.Name)
			}
		}
		again, err := delivered(m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseMessage(t.Context(), again)
		if err != nil || !same(m, back) {
			t.Fatalf("%+v became %+v, %v", m, back, err)
		}
	})
}

// same compares messages; image data of no bytes are one thing, however they are held.
func same(a, b Message) bool {
	for _, m := range []*Message{&a, &b} {
		for i := range m.Attachments {
			m.Attachments[i].Data = append([]byte{}, m.Attachments[i].Data...)
		}
	}
	return reflect.DeepEqual(a, b)
}
