package conversation_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
)

// list is n times an element, with commas between.
func list(n int, element func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(element(i))
	}
	return b.String()
}

func signal(attributes string) string {
	return `{"kind":"signal","type":"t","body":"","attributes":{` + attributes + `}}`
}

func attached(images string) string {
	return `{"kind":"user","body":"","attachments":[` + images + `]}`
}

func pair(i int) string { return fmt.Sprintf(`"k%d":""`, i) }

const image = `{"type":"image","data":"aGk=","mimeType":"image/png"}`

// long are bodies of about n elements, each kind of element in its turn.
var long = map[string]func(n int) string{
	"attributes":              func(n int) string { return signal(list(n, pair)) },
	"one attribute, repeated": func(n int) string { return signal(list(n, func(int) string { return `"a":"b"` })) },
	"attachments":             func(n int) string { return attached(list(n, func(int) string { return image })) },
	"fields of an attachment": func(n int) string { return attached(`{` + list(n, pair) + `,` + image[1:]) },
	"unknown fields":          func(n int) string { return `{"kind":"user","body":"",` + list(n, pair) + `}` },
	"one field, repeated":     func(n int) string { return `{"kind":"user",` + list(n, func(int) string { return `"body":"x"` }) + `}` },
	"names that are escaped": func(n int) string {
		return `{"kind":"user","body":"",` + list(n, func(int) string { return `"\u0061":1` }) + `}`
	},
	"texts that are escaped": func(n int) string { return `{"kind":"user","body":"` + strings.Repeat(`\\\"`, n) + `"}` },
	"lists in an unknown field": func(n int) string {
		return `{"kind":"user","body":"","x":[` + list(n, func(int) string { return `[{}]` }) + `]}`
	},
	"spaces in an image": func(n int) string {
		return attached(`{"type":"image","mimeType":"","data":"` + strings.Repeat("a ", n) + `"}`)
	},
}

// TestAMessageIsReadInLinearTime reads four times as much, which may take four times as long, and not sixteen.
func TestAMessageIsReadInLinearTime(t *testing.T) {
	for name, body := range long {
		t.Run(name, func(t *testing.T) {
			parse := func(text string) func() {
				return func() { _, _ = conversation.ParseMessage(t.Context(), json.RawMessage(text)) }
			}
			grows(t, parse(body(20_000)), parse(body(80_000)))
		})
	}
	t.Run("attributes of a record", func(t *testing.T) {
		read := func(n int) func() {
			text := `{` + list(n, pair) + `}`
			return func() {
				var a conversation.Attributes
				if err := json.Unmarshal([]byte(text), &a); err != nil || len(a) != n {
					t.Errorf("%d attributes: %v", len(a), err)
				}
			}
		}
		grows(t, read(10_000), read(40_000))
	})
}

// grows fails when what is four times as much takes ten times as long, however often it is tried. What is over at once proves
// nothing on a busy machine.
func grows(t *testing.T, once, fourfold func()) {
	t.Helper()
	a, b := time.Hour, time.Hour
	for range 8 {
		a, b = min(a, took(once)), min(b, took(fourfold))
		if b <= 10*a || b < 100*time.Millisecond {
			return
		}
		if b > 5*time.Second {
			break
		}
	}
	t.Errorf("%v for so much, %v for four times as much", a, b)
}

func took(work func()) time.Duration {
	begin := time.Now()
	work()
	return time.Since(begin)
}

// patience is a context that ends when it was asked so often whether it has.
type patience struct {
	context.Context
	left *int
}

func (p patience) Err() error {
	if *p.left--; *p.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestReadingAMessageEndsWithItsRequest lets the client leave while its body is read.
func TestReadingAMessageEndsWithItsRequest(t *testing.T) {
	for _, name := range []string{"unknown fields", "one field, repeated", "names that are escaped", "fields of an attachment"} {
		body := json.RawMessage(long[name](20_000))
		for asked := range 4 {
			left := asked
			if _, err := conversation.ParseMessage(patience{t.Context(), &left}, body); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, left after %d questions: %v", name, asked, err)
			}
			if left < -5 {
				t.Errorf("%s: it was asked %d times more after it had ended", name, -left)
			}
		}
	}
}

// TestAMessageIsBounded holds what is parsed and what a program makes to the same bounds.
func TestAMessageIsBounded(t *testing.T) {
	half := func(n int) string { return strings.Repeat("x", n/2) }
	full := conversation.MaxAttributeBytes
	for name, c := range map[string]struct {
		body string
		ok   bool
	}{
		"attributes, the most":          {signal(list(256, pair)), true},
		"attributes, one more":          {signal(list(257, pair)), false},
		"attributes, repeated":          {signal(list(256, func(int) string { return `"a":"b"` })), true},
		"attributes, all their bytes":   {signal(`"` + half(full) + `":"` + half(full) + `"`), true},
		"attributes, one byte more":     {signal(`"` + half(full) + `":"` + half(full) + `x"`), false},
		"attributes, bytes of all":      {signal(list(129, func(i int) string { return fmt.Sprintf(`"%03d":"%s"`, i, strings.Repeat("x", 506)) })), false},
		"attachments, the most":         {attached(list(1024, func(int) string { return image })), true},
		"attachments, one more":         {attached(list(1025, func(int) string { return image })), false},
		"attachments of a signal":       {`{"kind":"signal","type":"t","body":"","attachments":[` + list(1025, func(int) string { return image }) + `]}`, true},
		"attributes of a user":          {`{"kind":"user","body":"","attributes":{` + list(257, pair) + `}}`, true},
		"an image, the longest":         {attached(`{"type":"image","mimeType":"","data":"` + strings.Repeat("A", conversation.MaxImage) + `"}`), true},
		"an image, longer":              {attached(`{"type":"image","mimeType":"","data":"` + strings.Repeat("A", conversation.MaxImage+4) + `"}`), false},
		"an image, spaces not excepted": {attached(`{"type":"image","mimeType":"","data":" ` + strings.Repeat("A", conversation.MaxImage) + `"}`), false},
	} {
		m, err := conversation.ParseMessage(t.Context(), json.RawMessage(c.body))
		if (err == nil) != c.ok || err != nil && !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && m.Check() != nil {
			t.Errorf("%s: parsed, and refused by Check: %v", name, m.Check())
		}
	}
	pairs := make(conversation.Attributes, 257)
	for name, m := range map[string]conversation.Message{
		"attributes":          {Kind: conversation.KindSignal, Type: "t", Attributes: pairs},
		"bytes of attributes": {Kind: conversation.KindSignal, Type: "t", Attributes: conversation.Attributes{{Name: "x", Value: strings.Repeat("x", full)}}},
		"attachments":         {Kind: conversation.KindUser, Attachments: make([]conversation.Attachment, 1025)},
		"a long image":        {Kind: conversation.KindUser, Attachments: []conversation.Attachment{{Data: make([]byte, conversation.MaxImage)}}},
	} {
		if err := m.Check(); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%s that a program sends: %v", name, err)
		}
	}
}

// TestAMessageIsCopiedOnce holds the memory that is taken to read a message to that of what is kept of it.
func TestAMessageIsCopiedOnce(t *testing.T) {
	const size = 4 << 20
	data := base64.StdEncoding.EncodeToString(make([]byte, size/4*3))
	for name, c := range map[string]struct {
		body string
		most float64 // of the body's length
	}{
		"a text":              {`{"kind":"user","body":"` + strings.Repeat("x", size) + `"}`, 1.05},
		"an image":            {attached(`{"type":"image","mimeType":"image/png","data":"` + data + `"}`), 0.8},
		"an unknown text":     {`{"kind":"user","body":"","x":"` + strings.Repeat("x", size) + `"}`, 0.01},
		"many unknown fields": {`{"kind":"user","body":"",` + list(size/10, pair) + `}`, 0.01},
	} {
		body := json.RawMessage(c.body)
		bytes := allocated(func() {
			if _, err := conversation.ParseMessage(t.Context(), body); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		if float64(bytes) > c.most*float64(len(body)) {
			t.Errorf("%s of %d bytes took %d", name, len(body), bytes)
		}
	}
}

// allocated is how many bytes work takes from the heap.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
