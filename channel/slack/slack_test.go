package slack_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/channel/internal/hooktest"
	"svc.dev/svc/channel/slack"
)

var now = time.Unix(1790000000, 0)

// deliver sends a body as Slack does, signed at a time, and returns the answer and what was dispatched.
func deliver(t testing.TB, body []byte, at time.Time, headers ...string) (*httptest.ResponseRecorder, []hooktest.Dispatched) {
	t.Helper()
	var inbox hooktest.Inbox
	c := slack.New(slack.Config{
		Secret: hooktest.Secrets, Inbox: &inbox, Agent: "helper", Now: func() time.Time { return now },
	})
	seconds := strconv.FormatInt(at.Unix(), 10)
	w := hooktest.Post(t, c, body, append(headers, "User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)",
		"X-Slack-Request-Timestamp", seconds, "X-Slack-Signature", "v0="+hooktest.Sign("v0:"+seconds+":"+string(body)))...)
	return w, inbox.Kept
}

func TestRecordedDeliveryBecomesMessage(t *testing.T) {
	for _, name := range []string{"app_mention", "message_in_thread", "message_im", "message_file_share"} {
		t.Run(name, func(t *testing.T) {
			w, kept := deliver(t, hooktest.Recorded(t, name), now)
			hooktest.Golden(t, name, w, kept)
		})
	}
}

func TestWhatNobodyWroteIsIgnored(t *testing.T) {
	for _, name := range []string{"ignored_bot", "ignored_own_reply", "ignored_edit", "ignored_channel", "ignored_rate_limit"} {
		t.Run(name, func(t *testing.T) {
			w, kept := deliver(t, hooktest.Recorded(t, name), now)
			if w.Code != http.StatusAccepted || !strings.HasPrefix(w.Body.String(), `{"ignored":`) || len(kept) != 0 {
				t.Errorf("answered %d %s, dispatched %v", w.Code, w.Body, kept)
			}
		})
	}
}

func TestChallengeIsGivenBack(t *testing.T) {
	w, kept := deliver(t, hooktest.Recorded(t, "challenge"), now)
	want := `{"challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}`
	if w.Code != http.StatusOK || w.Body.String() != want || len(kept) != 0 {
		t.Errorf("answered %d %s, dispatched %v", w.Code, w.Body, kept)
	}
}

func TestRetryHasTheKeyOfTheFirstTry(t *testing.T) {
	body := hooktest.Recorded(t, "app_mention")
	_, first := deliver(t, body, now)
	_, again := deliver(t, body, now.Add(time.Minute), "X-Slack-Retry-Num", "1", "X-Slack-Retry-Reason", "http_timeout")
	if first[0].Key != "Ev08MFMKH6" || again[0].Key != first[0].Key || again[0].Instance != first[0].Instance {
		t.Errorf("first %v, again %v", first, again)
	}
}

func TestTimestampMayBeFiveMinutesAway(t *testing.T) {
	body := hooktest.Recorded(t, "app_mention")
	for apart, want := range map[time.Duration]int{
		5 * time.Minute: 202, -5 * time.Minute: 202, 5*time.Minute + time.Second: 401, -5*time.Minute - time.Second: 401,
		-365 * 24 * time.Hour: 401, 30_000 * 24 * time.Hour: 401,
	} {
		if w, _ := deliver(t, body, now.Add(apart)); w.Code != want {
			t.Errorf("%v away: answered %d %s, want %d", apart, w.Code, w.Body, want)
		}
	}
}

func TestWhatIsNoEventIsRefused(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"no JSON", `{"type":`, "invalid_json"},
		{"no body", ``, "invalid_json"},
		{"no type", `{}`, "invalid_request"},
		{"null", `null`, "invalid_request"},
		{"no id", `{"type":"event_callback","team_id":"T1","event":{"type":"message","channel":"C1","ts":"1.2"}}`, "invalid_request"},
		{"no channel", `{"type":"event_callback","event_id":"Ev1","team_id":"T1","event":{"type":"message","ts":"1.2"}}`, "invalid_request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, kept := deliver(t, []byte(c.body), now)
			if w.Code != http.StatusBadRequest || !strings.HasPrefix(w.Body.String(), `{"error":{"type":"`+c.want+`"`) || len(kept) != 0 {
				t.Errorf("answered %d %s, dispatched %v", w.Code, w.Body, kept)
			}
		})
	}
}

func FuzzDeliver(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.json")
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w, kept := deliver(t, body, now)
		if w.Code >= 500 {
			t.Errorf("answered %d %s", w.Code, w.Body)
		}
		for _, d := range kept {
			if d.Key == "" || strings.Count(d.Instance, "/") < 1 {
				t.Errorf("dispatched %+v", d)
			}
		}
	})
}
