package service_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service"
	"svc.dev/svc/service/secret"
)

// halfOf is the configuration of both halves on a PostgreSQL database.
func halfOf(t *testing.T) service.Config {
	t.Helper()
	pair, err := service.NewAssertionPair()
	if err != nil {
		t.Fatal(err)
	}
	c := config(t)
	c.Database = sqldbtest.Postgres(t)
	c.RuntimeListen = unused(t)
	c.RuntimeURL = "http://" + c.RuntimeListen
	c.RuntimeToken, c.RuntimeAdminToken = secret.Hide(strings.Repeat("t", 32)), secret.Hide(strings.Repeat("a", 32))
	c.AssertionKey, c.AssertionPublic = secret.Hide(pair.Key), pair.Public
	return c
}

// startHalf runs a part until the end of the test.
func startHalf(t *testing.T, c service.Config, run func(context.Context, service.Config, *slog.Logger, service.Caller) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done, serving := make(chan error, 1), make(chan struct{})
	go func() {
		done <- run(ctx, c, slog.New(slog.DiscardHandler), service.Caller{Announce: func(service.Serving) { close(serving) }})
		close(done)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	select {
	case <-serving:
	case err := <-done:
		t.Fatal(err)
	}
}

func TestDoctorAsksTheRuntimeAsItsGatewayDoes(t *testing.T) {
	c := halfOf(t)
	startHalf(t, c, service.ServeRuntime)
	site := httptest.NewServer(http.NotFoundHandler())
	defer site.Close()
	stranger, err := service.NewAssertionPair()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change  func(*service.Config)
		exam    service.Exam
		clock   time.Duration
		about   string
		verdict string
		text    string
	}{
		"all is well":    {func(*service.Config) {}, service.Exam{}, 0, "runtime", service.OK, "accepts this gateway, for customers and for staff"},
		"told the same":  {func(*service.Config) {}, service.Exam{}, 0, "addresses", service.OK, "were told the same"},
		"told otherwise": {func(c *service.Config) { c.AgentsURL = "http://work.localhost:8080" }, service.Exam{Gateway: true}, 0, "addresses", service.Warn, "the runtime was told http://agents.svc.localhost"},
		"told nothing": {func(c *service.Config) {
			c.PlatformURL, c.AgentsURL, c.AdminURL, c.CookieDomain = "https://example.com", "https://agents.example.com", "https://admin.example.com", "example.com"
		}, service.Exam{Gateway: true}, 0, "addresses", service.Fail, "one of gateway and runtime is in development"},
		"they are a pair":     {func(*service.Config) {}, service.Exam{}, 0, "tokens", service.OK, "are a pair"},
		"one half is here":    {func(c *service.Config) { c.AssertionPublic = "" }, service.Exam{Gateway: true}, 0, "tokens", service.OK, "are there"},
		"another token":       {func(c *service.Config) { c.RuntimeToken = secret.Hide(strings.Repeat("x", 32)) }, service.Exam{Gateway: true}, 0, "runtime", service.Fail, "does not accept the runtime.token"},
		"another admin token": {func(c *service.Config) { c.RuntimeAdminToken = secret.Hide(strings.Repeat("x", 32)) }, service.Exam{Gateway: true}, 0, "runtime", service.Fail, "does not accept the runtime.admin_token"},
		"another key":         {func(c *service.Config) { c.AssertionKey = secret.Hide(stranger.Key) }, service.Exam{Gateway: true}, 0, "runtime", service.Fail, "does not know the assertion key"},
		"no pair":             {func(c *service.Config) { c.AssertionKey = secret.Hide(stranger.Key) }, service.Exam{}, 0, "tokens", service.Fail, "does not hold the other half"},
		"a clock that is off": {func(*service.Config) {}, service.Exam{Gateway: true}, -5 * time.Minute, "runtime", service.Fail, "its clock is -5m0s apart"},
		"nobody there":        {func(c *service.Config) { c.RuntimeURL = "http://" + unused(t) }, service.Exam{Gateway: true}, 0, "runtime", service.Fail, "is not reached"},
		"another site":        {func(c *service.Config) { c.RuntimeURL = site.URL }, service.Exam{Gateway: true}, 0, "runtime", service.Fail, "is no runtime of svc: it answers 404"},
		"no token":            {func(c *service.Config) { c.RuntimeToken = secret.Secret{} }, service.Exam{Gateway: true}, 0, "tokens", service.Fail, "runtime.token: it is missing"},
		"a short token":       {func(c *service.Config) { c.RuntimeToken = secret.Hide("hunter2") }, service.Exam{Gateway: true}, 0, "tokens", service.Fail, "32 bytes or more"},
		"one token for both":  {func(c *service.Config) { c.RuntimeAdminToken = c.RuntimeToken }, service.Exam{Runtime: true}, 0, "tokens", service.Fail, "another than the customer's"},
		"the runtime itself":  {func(c *service.Config) { c.AssertionKey = secret.Secret{} }, service.Exam{}, 0, "runtime", service.OK, "refuses whoever has no token"},
		"SQLite":              {func(c *service.Config) { c.Database = "sqlite:" + filepath.Join(t.TempDir(), "x.db") }, service.Exam{Gateway: true}, 0, "configuration", service.Fail, "which SQLite cannot"},
		"on loopback":         {func(*service.Config) {}, service.Exam{Runtime: true}, 0, "runtime.listen", service.OK, "no public address"},
		"on a socket":         {func(c *service.Config) { c.RuntimeListen = "unix:r" }, service.Exam{Runtime: true}, 0, "runtime.listen", service.OK, "this machine alone"},
		"on a private net":    {func(c *service.Config) { c.RuntimeListen = "10.0.0.2:8081" }, service.Exam{Runtime: true}, 0, "runtime.listen", service.OK, "no public address"},
		"on every network":    {func(c *service.Config) { c.RuntimeListen = ":8081" }, service.Exam{Runtime: true}, 0, "runtime.listen", service.Warn, "every network"},
		"on a public address": {func(c *service.Config) { c.RuntimeListen = "203.0.113.7:8081" }, service.Exam{Runtime: true}, 0, "runtime.listen", service.Fail, "is a public address"},
		"in clear": {func(c *service.Config) { c.RuntimeURL, c.RuntimeToken = "http://203.0.113.7:8081", secret.Secret{} }, service.Exam{Gateway: true}, 0,
			"runtime.url", service.Warn, "travel in clear"},
	} {
		t.Run(name, func(t *testing.T) {
			c := c
			c.DataDir = filepath.Join(t.TempDir(), "data")
			test.change(&c)
			test.exam.Log = quietly.Log
			world := service.World{Now: func() time.Time { return time.Now().Add(test.clock) }}
			f := findIn(t, service.DoctorIn(t.Context(), c, test.exam, world), test.about)
			if f.Verdict != test.verdict || !strings.Contains(f.Text, test.text) || strings.Contains(f.Text, "hunter2") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A runtime has no accounts, no keys and no public address: doctor does not look for them.
func TestDoctorLooksAtTheHalfThatItIsAskedFor(t *testing.T) {
	c := halfOf(t)
	for _, f := range service.Doctor(t.Context(), c, service.Exam{Runtime: true, Log: quietly.Log}) {
		switch f.Name {
		case "key ring", "secrets", "mail", "listen", "files folder", "url.agents", "event streams":
			t.Errorf("%+v", f)
		}
	}
	if f := findIn(t, service.Doctor(t.Context(), c, service.Exam{Runtime: true, Log: quietly.Log}), "runtime"); f.Verdict != service.Skip {
		t.Errorf("no runtime runs: %+v", f)
	}
}

func TestDoctorNamesTheProcessesOfADatabase(t *testing.T) {
	c := halfOf(t)
	work := c
	work.DataDir = filepath.Join(t.TempDir(), "runtime")
	startHalf(t, work, service.ServeRuntime)
	startHalf(t, c, service.ServeGateway)
	findings := service.Doctor(t.Context(), c, service.Exam{Gateway: true, Log: quietly.Log})
	if f := findIn(t, findings, "connections"); f.Verdict != service.OK || !strings.HasPrefix(f.Text, "2 processes of up to 26 connections each") {
		t.Errorf("%+v", f)
	}
	// A runtime alone has no files to share.
	if f := findIn(t, findings, "shared files"); f.Verdict != service.OK {
		t.Errorf("%+v", f)
	}
	if f := findIn(t, findings, "server"); f.Verdict == service.OK {
		t.Errorf("nobody listens on port 0: %+v", f)
	}
}
