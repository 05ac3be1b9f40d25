package service_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/service"
	"svc.dev/svc/service/secret"
)

// post sends JSON as a page of the platform would.
func post(t *testing.T, s *served, path, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.Platform+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", s.Platform)
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

func TestFirstAdministratorComesByTheLink(t *testing.T) {
	c := config(t)
	s := start(t, c)
	first, found := strings.CutPrefix(s.SetupLink, s.Platform+"/setup#t=")
	if !found || len(first) < 40 {
		t.Fatalf("link %q", s.SetupLink)
	}
	s.stop()
	<-s.done

	// Each start has a link of its own, and that of before is dead.
	s = start(t, c)
	second, _ := strings.CutPrefix(s.SetupLink, s.Platform+"/setup#t=")
	if second == first {
		t.Error("the same link twice")
	}
	body := `","email":"ada@example.com","password":"a long and quiet sentence","username":"ada"}`
	if got := post(t, s, "/api/setup", `{"token":"`+first+body); got.status != 400 {
		t.Errorf("the old link: %d %s", got.status, got.body)
	}
	if got := post(t, s, "/api/setup", `{"token":"`+second+body); got.status != 201 {
		t.Errorf("the link: %d %s", got.status, got.body)
	}
	if got := post(t, s, "/api/setup", `{"token":"`+second+body); got.status != 410 {
		t.Errorf("the link again: %d %s", got.status, got.body)
	}
	s.stop()
	<-s.done
	if s = start(t, c); s.SetupLink != "" {
		t.Errorf("there is an administrator, and the link %q", s.SetupLink)
	}
}

func TestGivenSetupTokenIsNotShown(t *testing.T) {
	c := config(t)
	const token = "hunter2-hunter2-hunter2-hunter2-hunter2"
	c.SetupToken = secret.Hide(token)
	s := start(t, c)
	if s.SetupLink != s.Platform+"/setup" {
		t.Errorf("link %q", s.SetupLink)
	}
	got := post(t, s, "/api/setup", `{"token":"`+token+`","email":"ada@example.com","password":"a long and quiet sentence","username":"ada"}`)
	if got.status != 201 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// A log is written by many at once.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A mail's link is printed in development, and nothing else that is secret.
func TestLinksArePrintedInDevelopment(t *testing.T) {
	var said safeBuffer
	c := config(t)
	c.StrictRegister = "true"
	ctx, stop := context.WithCancel(t.Context())
	serving, done := make(chan service.Serving, 1), make(chan error, 1)
	go func() {
		done <- service.Serve(ctx, c, slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})),
			service.Caller{Announce: func(at service.Serving) { serving <- at }})
	}()
	s := &served{Serving: <-serving}
	if got := post(t, s, "/api/auth/password/register", `{"email":"bob@example.com","password":"a long and quiet sentence"}`); got.status != 202 {
		t.Errorf("%d %s", got.status, got.body)
	}
	for range 1000 {
		if strings.Contains(said.String(), "open the link") {
			break
		}
		ask(t, "GET", s.Operations+"/healthz")
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	text := said.String()
	if !strings.Contains(text, s.Platform+"/verify#t=") || strings.Contains(text, "quiet sentence") || strings.Contains(text, "bob@example.com") {
		t.Error(text)
	}
}
