package service_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/servicetest"
)

// post sends JSON as a page of the platform would.
func post(t *testing.T, s *servicetest.Served, path, body string) servicetest.Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.Platform+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", s.Platform)
	return servicetest.Send(t, servicetest.Client, req)
}

func TestFirstAdministratorComesByTheLink(t *testing.T) {
	c := servicetest.Config(t)
	s := servicetest.Start(t, c)
	first, found := strings.CutPrefix(s.SetupLink, s.Platform+"/setup#t=")
	if !found || len(first) < 40 {
		t.Fatalf("link %q", s.SetupLink)
	}
	s.Stop()
	<-s.Done

	// Each start has a link of its own, and that of before is dead.
	s = servicetest.Start(t, c)
	second, _ := strings.CutPrefix(s.SetupLink, s.Platform+"/setup#t=")
	if second == first {
		t.Error("the same link twice")
	}
	body := `","email":"ada@example.com","password":"a long and quiet sentence","username":"ada"}`
	if got := post(t, s, "/api/setup", `{"token":"`+first+body); got.Status != 400 {
		t.Errorf("the old link: %d %s", got.Status, got.Body)
	}
	if got := post(t, s, "/api/setup", `{"token":"`+second+body); got.Status != 201 {
		t.Errorf("the link: %d %s", got.Status, got.Body)
	}
	if got := post(t, s, "/api/setup", `{"token":"`+second+body); got.Status != 410 {
		t.Errorf("the link again: %d %s", got.Status, got.Body)
	}
	s.Stop()
	<-s.Done
	if s = servicetest.Start(t, c); s.SetupLink != "" {
		t.Errorf("there is an administrator, and the link %q", s.SetupLink)
	}
}

func TestGivenSetupTokenIsNotShown(t *testing.T) {
	c := servicetest.Config(t)
	const token = "hunter2-hunter2-hunter2-hunter2-hunter2"
	c.SetupToken = secret.Hide(token)
	s := servicetest.Start(t, c)
	if s.SetupLink != s.Platform+"/setup" {
		t.Errorf("link %q", s.SetupLink)
	}
	got := post(t, s, "/api/setup", `{"token":"`+token+`","email":"ada@example.com","password":"a long and quiet sentence","username":"ada"}`)
	if got.Status != 201 {
		t.Errorf("%d %s", got.Status, got.Body)
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
	c := servicetest.Config(t)
	c.StrictRegister = "true"
	ctx, stop := context.WithCancel(t.Context())
	serving, done := make(chan service.Serving, 1), make(chan error, 1)
	go func() {
		done <- service.Serve(ctx, config.Whole, c, slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})),
			service.Caller{Announce: func(at service.Serving) { serving <- at }})
	}()
	s := &servicetest.Served{Serving: <-serving}
	if got := post(t, s, "/api/auth/password/register", `{"email":"bob@example.com","password":"a long and quiet sentence"}`); got.Status != 202 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	servicetest.Eventually(t, "the link is printed", func() bool { return strings.Contains(said.String(), "open the link") })
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	text := said.String()
	if !strings.Contains(text, s.Platform+"/verify#t=") || strings.Contains(text, "quiet sentence") || strings.Contains(text, "bob@example.com") {
		t.Error(text)
	}
}
