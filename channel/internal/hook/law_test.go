package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/channel/github"
	"svc.dev/svc/channel/internal/hooktest"
	"svc.dev/svc/channel/slack"
	"svc.dev/svc/channel/webhook"
	"svc.dev/svc/fault"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/memory"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
)

const at = "1790000000"

func now() time.Time { return time.Unix(1790000000, 0) }

const maxBody = 4 << 10

// sender is one of the channels and a program that sends to it.
type sender struct {
	name     string
	path     string
	instance string
	body     string
	key      string // the header that names a delivery; empty: the body does
	headers  func(body string) http.Header
	channel  func(svc.Scoped, secrets) *svc.Channel
}

type secrets = func(context.Context) ([][]byte, error)

func signed(pairs ...string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

var senders = []sender{
	{
		name: "github", path: "/channels/github/events", instance: "acme/widgets#42", key: "X-GitHub-Delivery",
		body: `{"action":"opened","issue":{"number":42,"body":"Help!"},"repository":{"full_name":"acme/widgets"}}`,
		headers: func(body string) http.Header {
			return signed("X-GitHub-Event", "issues", "X-GitHub-Delivery", "d1", "X-Hub-Signature-256", "sha256="+hooktest.Sign(body))
		},
		channel: func(in svc.Scoped, s secrets) *svc.Channel {
			return github.New(github.Config{Inbox: in, Secret: s, Agent: "a", MaxBody: maxBody, Log: slog.New(slog.DiscardHandler)})
		},
	},
	{
		name: "slack", path: "/channels/slack/events", instance: "T1/C1/1.2",
		body: `{"type":"event_callback","event_id":"Ev1","team_id":"T1","event":{"type":"message","channel":"C1","ts":"1.2","text":"Help!"}}`,
		headers: func(body string) http.Header {
			return signed("X-Slack-Request-Timestamp", at, "X-Slack-Signature", "v0="+hooktest.Sign("v0:"+at+":"+body))
		},
		channel: func(in svc.Scoped, s secrets) *svc.Channel {
			return slack.New(slack.Config{Inbox: in, Secret: s, Agent: "a", MaxBody: maxBody, Now: now, Log: slog.New(slog.DiscardHandler)})
		},
	},
	{
		name: "webhook", path: "/channels/webhook/in", instance: "42", key: "X-Delivery-Id",
		body: `{"instance":"42","text":"Help!"}`,
		headers: func(body string) http.Header {
			return signed("X-Delivery-Id", "d1", "X-Timestamp", at, "X-Signature", "sha256="+hooktest.Sign(at+"."+body))
		},
		channel: func(in svc.Scoped, s secrets) *svc.Channel {
			return webhook.New(webhook.Config{
				Inbox: in, Secret: s, Agent: "a", MaxBody: maxBody, RequireTimestamp: true, Now: now, Log: slog.New(slog.DiscardHandler),
			})
		},
	},
}

// site is a runtime that serves every channel, for an agent that says hello.
type site struct {
	*svc.Runtime
	http.Handler
	model *scripted.Provider
}

func start(t *testing.T, find secrets) *site {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{model: scripted.Choose(func(model.Request) scripted.Turn { return scripted.Turn{scripted.Say("Hello.")} })}
	if s.Runtime, err = svc.New(svc.Config{Store: store, Model: model.Providers{"scripted": s.model}.Find}); err != nil {
		t.Fatal(err)
	}
	s.AddAgent(&svc.Agent{Name: "a", Model: "scripted/test"})
	for _, sender := range senders {
		s.AddChannel(sender.channel(s.In(""), find))
	}
	s.Handler = httpapi.App(s.Runtime, httpapi.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, store.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *site) post(t *testing.T, path string, body io.Reader, h http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body)
	r.Header = h
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func (s *site) send(t *testing.T, from sender) *httptest.ResponseRecorder {
	t.Helper()
	return s.post(t, from.path, strings.NewReader(from.body), from.headers(from.body))
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

// settled waits until an instance has no more to do, and returns the texts of its conversation.
func (s *site) settled(t *testing.T, instance string) []string {
	t.Helper()
	eventually(t, "every submission is settled", func() bool {
		open, err := s.Submissions(t.Context(), "a", instance)
		if err != nil {
			t.Fatal(err)
		}
		return len(open) == 0
	})
	snapshot, _, err := s.Conversation(t.Context(), "a", instance)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, raw := range snapshot.Messages {
		var m struct{ Parts []struct{ Text string } }
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, m.Parts[0].Text)
	}
	return texts
}

func each(t *testing.T, law func(t *testing.T, from sender)) {
	t.Helper()
	for _, from := range senders {
		t.Run(from.name, func(t *testing.T) { law(t, from) })
	}
}

// refused wants an answer in the envelope of the API.
func refused(t *testing.T, w *httptest.ResponseRecorder, status int, typ string) {
	t.Helper()
	var body struct {
		Error struct{ Type, Message, Details *string }
	}
	err := json.Unmarshal(w.Body.Bytes(), &body)
	if e := body.Error; err != nil || e.Type == nil || *e.Type != typ || e.Message == nil || e.Details == nil {
		t.Errorf("told %s, want %s", w.Body, typ)
	}
	if w.Code != status || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("answered %d %s, want %d", w.Code, w.Header().Get("Content-Type"), status)
	}
}

func TestReplayedDeliveryIsDispatchedOnce(t *testing.T) {
	s := start(t, hooktest.Secrets)
	each(t, func(t *testing.T, from sender) {
		asked := len(s.model.Requests())
		first := s.send(t, from)
		if first.Code != http.StatusAccepted {
			t.Fatalf("answered %d %s", first.Code, first.Body)
		}
		var racing sync.WaitGroup
		for range 8 {
			racing.Go(func() {
				again := s.send(t, from)
				if again.Code != http.StatusOK || again.Body.String() != first.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" {
					t.Errorf("answered %d %s, the first was %s", again.Code, again.Body, first.Body)
				}
			})
		}
		racing.Wait()
		if texts := s.settled(t, from.instance); strings.Join(texts, " ") != "Help! Hello." {
			t.Errorf("the conversation is %q", texts)
		}
		if n := len(s.model.Requests()) - asked; n != 1 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}

func TestKeyOfAnotherBodyIsAConflict(t *testing.T) {
	s := start(t, hooktest.Secrets)
	each(t, func(t *testing.T, from sender) {
		s.send(t, from)
		other := strings.Replace(from.body, "Help!", "Now!", 1)
		w := s.post(t, from.path, strings.NewReader(other), from.headers(other))
		if from.key != "" {
			refused(t, w, http.StatusConflict, "idempotency_conflict")
		} else if w.Code != http.StatusOK {
			t.Errorf("an event that its id names: answered %d %s", w.Code, w.Body)
		}
	})
}

func TestOnlyWhoKnowsTheSecretIsHeard(t *testing.T) {
	s := start(t, hooktest.Secrets)
	each(t, func(t *testing.T, from sender) {
		forged := strings.Replace(from.body, "Help!", "Help?", 1)
		refused(t, s.post(t, from.path, strings.NewReader(forged), from.headers(from.body)), http.StatusUnauthorized, "invalid_signature")
		for name := range from.headers(from.body) {
			if !strings.Contains(name, "Signature") {
				continue
			}
			good := from.headers(from.body).Get(name)
			for _, values := range [][]string{
				nil, {""}, {good, good}, {good + "00"}, {good[:len(good)-1]}, {good + ", " + good}, {good[strings.Index(good, "=")+1:]},
				{strings.Replace(good, "sha256=", "sha1=", 1) + "x"},
			} {
				h := from.headers(from.body)
				h[name] = values
				refused(t, s.post(t, from.path, strings.NewReader(from.body), h), http.StatusUnauthorized, "invalid_signature")
			}
		}
		if _, _, err := s.Conversation(t.Context(), "a", from.instance); !errors.Is(err, svc.ErrNoStream) {
			t.Errorf("there is a conversation: %v", err)
		}
	})
}

func TestEitherSecretHoldsWhileOneTakesOver(t *testing.T) {
	s := start(t, func(context.Context) ([][]byte, error) { return [][]byte{[]byte("new"), []byte(hooktest.Secret)}, nil })
	each(t, func(t *testing.T, from sender) {
		if w := s.send(t, from); w.Code != http.StatusAccepted {
			t.Errorf("answered %d %s", w.Code, w.Body)
		}
	})
}

func TestSecretThatIsNotFoundIsOurFailure(t *testing.T) {
	s := start(t, func(context.Context) ([][]byte, error) { return nil, errors.New("vault: sealed") })
	each(t, func(t *testing.T, from sender) {
		w := s.send(t, from)
		refused(t, w, http.StatusInternalServerError, "internal_error")
		if strings.Contains(w.Body.String(), "vault") {
			t.Errorf("told %s", w.Body)
		}
	})
}

func TestHeaderThatNamesADeliveryStandsOnce(t *testing.T) {
	s := start(t, hooktest.Secrets)
	each(t, func(t *testing.T, from sender) {
		if from.key == "" {
			t.Skip("the key is in the body")
		}
		for _, values := range [][]string{{"d1", "d1"}, {"d1", "d2"}, {""}, {"d 1"}, {strings.Repeat("d", 256)}, {"dé"}} {
			h := from.headers(from.body)
			h[http.CanonicalHeaderKey(from.key)] = values
			refused(t, s.post(t, from.path, strings.NewReader(from.body), h), http.StatusBadRequest, "invalid_request")
		}
	})
}

func TestTimestampStandsOnce(t *testing.T) {
	s := start(t, hooktest.Secrets)
	each(t, func(t *testing.T, from sender) {
		for name := range from.headers(from.body) {
			if strings.Contains(name, "Timestamp") {
				h := from.headers(from.body)
				h[name] = []string{at, at}
				refused(t, s.post(t, from.path, strings.NewReader(from.body), h), http.StatusUnauthorized, "invalid_signature")
			}
		}
	})
}

func TestLargeBodyIsRefused(t *testing.T) {
	s := start(t, hooktest.Secrets)
	each(t, func(t *testing.T, from sender) {
		fits := from.body + strings.Repeat(" ", maxBody-len(from.body))
		if w := s.post(t, from.path, strings.NewReader(fits), from.headers(fits)); w.Code != http.StatusAccepted {
			t.Errorf("as large as may be: answered %d %s", w.Code, w.Body)
		}
		large := fits + " "
		declared := s.post(t, from.path, strings.NewReader(large), from.headers(large))
		refused(t, declared, http.StatusRequestEntityTooLarge, "body_too_large")
		chunked := s.post(t, from.path, io.MultiReader(bytes.NewReader([]byte(large))), from.headers(large))
		refused(t, chunked, http.StatusRequestEntityTooLarge, "body_too_large")
	})
}

func TestOnlyJSONIsRead(t *testing.T) {
	s := start(t, hooktest.Secrets)
	each(t, func(t *testing.T, from sender) {
		for _, sent := range [][]string{nil, {"text/plain"}, {"application/x-www-form-urlencoded"}, {"application/json", "text/plain"}} {
			h := from.headers(from.body)
			h["Content-Type"] = sent
			refused(t, s.post(t, from.path, strings.NewReader(from.body), h), http.StatusUnsupportedMediaType, "unsupported_media_type")
		}
		h := from.headers(from.body)
		h.Set("Content-Type", "Application/JSON; charset=utf-8")
		if w := s.post(t, from.path, strings.NewReader(from.body), h); w.Code != http.StatusAccepted {
			t.Errorf("answered %d %s", w.Code, w.Body)
		}
	})
}

// TestABodyWithoutMemoryIsRefusedShortly holds all the memory there is: nothing is read, nothing is dispatched.
func TestABodyWithoutMemoryIsRefusedShortly(t *testing.T) {
	s := start(t, hooktest.Secrets)
	held, err := s.Memory().Try("", memory.Work, s.Memory().Limit())
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, from sender) {
		w := s.send(t, from)
		refused(t, w, http.StatusServiceUnavailable, fault.Unavailable)
		if w.Header().Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	})
	held.Release()
	each(t, func(t *testing.T, from sender) {
		if w := s.send(t, from); w.Code != http.StatusAccepted {
			t.Errorf("answered %d %s", w.Code, w.Body)
		}
		s.settled(t, from.instance)
	})
	eventually(t, "no bytes of bodies are held", func() bool { return s.Memory().Used(memory.Bodies) == 0 })
}
