// Package hooktest is what the tests of webhook channels share.
package hooktest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
)

var update = flag.Bool("update", false, "write the golden files")

// Secret is one that both sides know.
const Secret = "It's a Secret to Everybody"

// Secrets finds it.
func Secrets(context.Context) ([][]byte, error) { return [][]byte{[]byte(Secret)}, nil }

// Sign is the hexadecimal HMAC-SHA256 of a text by the secret.
func Sign(text string) string {
	mac := hmac.New(sha256.New, []byte(Secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// Inbox keeps what is dispatched.
type Inbox struct{ Kept []Dispatched }

// Dispatched is what an inbox was given.
type Dispatched struct {
	Agent, Instance, Key string
	Message              conversation.Message
}

// Dispatch keeps a message.
func (b *Inbox) Dispatch(_ context.Context, agent, id string, p svc.Prompt) (svc.Prompted, error) {
	b.Kept = append(b.Kept, Dispatched{agent, id, p.Key, p.Message})
	return svc.Prompted{SubmissionID: "s1"}, nil
}

// Post sends JSON to a channel's only route, with headers in pairs.
func Post(t testing.TB, c *svc.Channel, body []byte, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), c.Routes[0].Method, c.Routes[0].Path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.Routes[0].Handler.ServeHTTP(w, r)
	return w
}

// Recorded is a body of testdata.
func Recorded(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Golden wants an answer of 202, and one dispatch, as testdata has it.
func Golden(t *testing.T, name string, w *httptest.ResponseRecorder, kept []Dispatched) {
	t.Helper()
	if w.Code != http.StatusAccepted || len(kept) != 1 {
		t.Fatalf("answered %d %s, dispatched %v", w.Code, w.Body, kept)
	}
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(kept[0]); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got.Bytes()) {
		t.Errorf("dispatched\n%s\nwant\n%s", got.Bytes(), want)
	}
}
