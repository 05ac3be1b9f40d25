package webhook_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"svc.dev/svc/channel/internal/hooktest"
	"svc.dev/svc/channel/webhook"
	"svc.dev/svc/conversation"
)

// deliver signs and sends a body, and returns the answer and what was dispatched.
func deliver(t testing.TB, c webhook.Config, body []byte, headers ...string) (*httptest.ResponseRecorder, []hooktest.Dispatched) {
	t.Helper()
	var inbox hooktest.Inbox
	c.Secret, c.Inbox, c.Agent = hooktest.Secrets, &inbox, "clerk"
	w := hooktest.Post(t, webhook.New(c), body, append(headers, "X-Signature", "sha256="+hooktest.Sign(string(body)))...)
	return w, inbox.Kept
}

func TestRecordedDeliveryBecomesMessage(t *testing.T) {
	for _, name := range []string{"text", "text_alone", "alert", "list"} {
		t.Run(name, func(t *testing.T) {
			w, kept := deliver(t, webhook.Config{}, hooktest.Recorded(t, name), "X-Delivery-Id", "d-17")
			hooktest.Golden(t, name, w, kept)
		})
	}
}

func TestDeliveryWithoutIDIsNamedByItsBody(t *testing.T) {
	_, kept := deliver(t, webhook.Config{}, []byte(`{"text":"x"}`))
	want := "sha256:fcd1ccec08db6f78a81fee6c26da9e6b8d0d3ba58b4403713fffebcfaa6cf119"
	if len(kept) != 1 || kept[0].Key != want || kept[0].Instance != want {
		t.Errorf("dispatched %v", kept)
	}
}

func TestTimestampIsSignedWithTheBody(t *testing.T) {
	now := time.Unix(1790000000, 0)
	body := `{"text":"x"}`
	send := func(sent, signed time.Time) int {
		var inbox hooktest.Inbox
		c := webhook.New(webhook.Config{
			Secret: hooktest.Secrets, Inbox: &inbox, Agent: "clerk", RequireTimestamp: true, Now: func() time.Time { return now },
		})
		seconds := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
		return hooktest.Post(t, c, []byte(body), "X-Timestamp", seconds(sent),
			"X-Signature", "sha256="+hooktest.Sign(seconds(signed)+"."+body)).Code
	}
	old := now.Add(-5*time.Minute - time.Second)
	for name, c := range map[string]struct {
		sent, signed time.Time
		want         int
	}{
		"now": {now, now, 202}, "five minutes ago": {old.Add(time.Second), old.Add(time.Second), 202},
		"stale": {old, old, 401}, "stale, sent as new": {now, old, 401},
	} {
		if got := send(c.sent, c.signed); got != c.want {
			t.Errorf("%s: answered %d, want %d", name, got, c.want)
		}
	}
	if w, _ := deliver(t, webhook.Config{RequireTimestamp: true}, []byte(body)); w.Code != http.StatusUnauthorized {
		t.Errorf("without a timestamp: answered %d", w.Code)
	}
}

func TestMapIsChosenByConfig(t *testing.T) {
	c := webhook.Config{Map: func([]byte) (string, conversation.Message, error) {
		return "i", conversation.Message{Kind: conversation.KindUser, Body: "mapped"}, nil
	}}
	if _, kept := deliver(t, c, []byte(`1`)); len(kept) != 1 || kept[0].Instance != "i" || kept[0].Message.Body != "mapped" {
		t.Errorf("dispatched %v", kept)
	}
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	broken := webhook.Config{Map: func([]byte) (string, conversation.Message, error) {
		return "", conversation.Message{}, errors.New("our insides")
	}}
	for _, c := range []struct {
		name   string
		config webhook.Config
		body   string
		want   string
	}{
		{"no JSON", webhook.Config{}, `{"text":`, "invalid_json"},
		{"two values", webhook.Config{}, `{} {}`, "invalid_json"},
		{"no body", webhook.Config{}, ``, "invalid_json"},
		{"instance is a number", webhook.Config{}, `{"instance":1,"text":"x"}`, "invalid_request"},
		{"instance with a null byte", webhook.Config{}, `{"instance":"a\u0000","text":"x"}`, "invalid_request"},
		{"instance too long", webhook.Config{}, `{"instance":"` + strings.Repeat("a", 256) + `","text":"x"}`, "invalid_request"},
		{"map fails", broken, `{}`, "invalid_request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, kept := deliver(t, c.config, []byte(c.body))
			told := w.Body.String()
			if w.Code != http.StatusBadRequest || !strings.HasPrefix(told, `{"error":{"type":"`+c.want+`"`) || len(kept) != 0 {
				t.Errorf("answered %d %s, dispatched %v", w.Code, told, kept)
			}
			if strings.Contains(told, "our insides") {
				t.Errorf("told %s", told)
			}
		})
	}
}

func FuzzMap(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.json")
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w, kept := deliver(t, webhook.Config{}, body)
		if w.Code >= 500 {
			t.Errorf("answered %d %s", w.Code, w.Body)
		}
		for _, d := range kept {
			if d.Instance == "" || d.Message.Type == "" || !utf8.ValidString(d.Message.Body) {
				t.Errorf("dispatched %+v", d)
			}
		}
	})
}
