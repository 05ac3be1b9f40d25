package github_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"svc.dev/svc/channel/github"
	"svc.dev/svc/channel/internal/hooktest"
)

const delivery = "72d3162e-cc78-11e3-81ab-4c9367dc0958"

// deliver sends a body as GitHub does, and returns the answer and what was dispatched.
func deliver(t *testing.T, event string, body []byte, change ...func(*github.Config)) (*httptest.ResponseRecorder, []hooktest.Dispatched) {
	t.Helper()
	var inbox hooktest.Inbox
	c := github.Config{Secret: hooktest.Secrets, Inbox: &inbox, Agent: "triage", App: "Widget-Bot"}
	for _, f := range change {
		f(&c)
	}
	w := hooktest.Post(t, github.New(c), body,
		"User-Agent", "GitHub-Hookshot/044aadd", "X-GitHub-Event", event, "X-GitHub-Delivery", delivery,
		"X-Hub-Signature-256", "sha256="+hooktest.Sign(string(body)))
	return w, inbox.Kept
}

func TestRecordedDeliveryBecomesMessage(t *testing.T) {
	for _, name := range []string{
		"issue_comment.created", "issues.opened", "pull_request.opened", "pull_request_review_comment.created",
		"push", "installation.created", "star.created",
	} {
		t.Run(name, func(t *testing.T) {
			event, _, _ := strings.Cut(name, ".")
			w, kept := deliver(t, event, hooktest.Recorded(t, name))
			hooktest.Golden(t, name, w, kept)
		})
	}
}

func TestPingIsAnsweredAndGoesNowhere(t *testing.T) {
	w, kept := deliver(t, "ping", hooktest.Recorded(t, "ping"))
	if w.Code != http.StatusOK || len(kept) != 0 {
		t.Errorf("answered %d %s, dispatched %v", w.Code, w.Body, kept)
	}
}

func TestWhatOurBotDoesIsIgnored(t *testing.T) {
	body := hooktest.Recorded(t, "own.issue_comment")
	w, kept := deliver(t, "issue_comment", body)
	if w.Code != http.StatusAccepted || w.Body.String() != `{"ignored":"an event of our own"}` || len(kept) != 0 {
		t.Errorf("answered %d %s, dispatched %v", w.Code, w.Body, kept)
	}
	if _, kept = deliver(t, "issue_comment", body, func(c *github.Config) { c.App = "another" }); len(kept) != 1 {
		t.Errorf("another app's bot: dispatched %v", kept)
	}
}

func TestInstanceIsChosenByConfig(t *testing.T) {
	_, kept := deliver(t, "push", hooktest.Recorded(t, "push"), func(c *github.Config) {
		c.Instance = func(e github.Event) string { return e.Sender }
	})
	if len(kept) != 1 || kept[0].Instance != "octocat" {
		t.Errorf("dispatched %v", kept)
	}
}

func TestOnlyWhatIsAcceptedIsDispatched(t *testing.T) {
	written := func(c *github.Config) { c.Accept = func(e github.Event) bool { return e.Text != nil } }
	w, kept := deliver(t, "push", hooktest.Recorded(t, "push"), written)
	if w.Code != http.StatusAccepted || w.Body.String() != `{"ignored":"an event that the agent is not told of"}` || len(kept) != 0 {
		t.Errorf("answered %d %s, dispatched %v", w.Code, w.Body, kept)
	}
	if _, kept = deliver(t, "issue_comment", hooktest.Recorded(t, "issue_comment.created"), written); len(kept) != 1 {
		t.Errorf("dispatched %v", kept)
	}
}

func TestAHandlerOfCheckedDeliveriesAsksForNoSignature(t *testing.T) {
	body := hooktest.Recorded(t, "issue_comment.created")
	post := func(media, event string, body []byte) (*httptest.ResponseRecorder, []hooktest.Dispatched) {
		var inbox hooktest.Inbox
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
		r.Header = http.Header{"Content-Type": {media}, "X-Github-Event": {event}, "X-Github-Delivery": {delivery}}
		w := httptest.NewRecorder()
		github.Handler(github.Config{Inbox: &inbox, Agent: "triage", MaxBody: 64 << 10}).ServeHTTP(w, r)
		return w, inbox.Kept
	}
	if w, kept := post("application/json", "issue_comment", body); w.Code != http.StatusAccepted || len(kept) != 1 || kept[0].Key != delivery {
		t.Errorf("answered %d %s, dispatched %v", w.Code, w.Body, kept)
	}
	// All else is looked at as ever.
	for name, c := range map[string]struct {
		media, event string
		body         []byte
		status       int
	}{
		"no JSON":   {"text/plain", "issue_comment", body, http.StatusUnsupportedMediaType},
		"no event":  {"application/json", "", body, http.StatusBadRequest},
		"no object": {"application/json", "push", []byte("[]"), http.StatusBadRequest},
		"too large": {"application/json", "push", bytes.Repeat([]byte(" "), 65<<10), http.StatusRequestEntityTooLarge},
	} {
		if w, kept := post(c.media, c.event, c.body); w.Code != c.status || len(kept) != 0 {
			t.Errorf("%s: answered %d %s, dispatched %v", name, w.Code, w.Body, kept)
		}
	}
}

func TestWhatIsNoEventIsRefused(t *testing.T) {
	for _, c := range []struct{ name, event, body, want string }{
		{"no JSON", "push", `{"ref":`, "invalid_json"},
		{"no body", "push", ``, "invalid_json"},
		{"no object", "push", ` [1]`, "invalid_request"},
		{"null", "push", `null`, "invalid_request"},
		{"no event", "", `{}`, "invalid_request"},
		{"not an event", "../push", `{}`, "invalid_request"},
		{"control characters", "push", `{"repository":{"full_name":"a\u0000b"}}`, "invalid_request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, kept := deliver(t, c.event, []byte(c.body))
			if w.Code != http.StatusBadRequest || !strings.HasPrefix(w.Body.String(), `{"error":{"type":"`+c.want+`"`) || len(kept) != 0 {
				t.Errorf("answered %d %s, dispatched %v", w.Code, w.Body, kept)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.json")
	for _, path := range paths {
		event, _, _ := strings.Cut(filepath.Base(path), ".")
		body, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(event, body)
	}
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		e, err := github.Parse(name, delivery, body)
		if err != nil {
			return
		}
		m := e.Message()
		if !utf8.ValidString(m.Body) || e.Instance() == "" || !strings.HasPrefix(m.Type, "github.") {
			t.Errorf("instance %q, message %+v", e.Instance(), m)
		}
	})
}
