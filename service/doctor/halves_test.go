package doctor_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/doctor"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/servicetest"
)

// halfOf is the configuration of both halves on a PostgreSQL database.
func halfOf(t *testing.T) config.Config {
	t.Helper()
	pair, err := config.NewAssertionPair()
	if err != nil {
		t.Fatal(err)
	}
	c := servicetest.Config(t)
	c.Database = sqldbtest.Postgres(t)
	c.RuntimeListen = unused(t)
	c.RuntimeURL = "http://" + c.RuntimeListen
	c.RuntimeToken, c.RuntimeAdminToken = secret.Hide(strings.Repeat("t", 32)), secret.Hide(strings.Repeat("a", 32))
	c.AssertionKey, c.AssertionPublic = secret.Hide(pair.Key), pair.Public
	c.KeysFile = filepath.Join(t.TempDir(), "keys.json")
	ring, err := secret.NewRing()
	if err == nil {
		err = ring.WriteNew(c.KeysFile)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDoctorAsksTheRuntimeAsItsGatewayDoes(t *testing.T) {
	c := halfOf(t)
	servicetest.StartPart(t, config.RuntimeAlone, c)
	site := httptest.NewServer(http.NotFoundHandler())
	defer site.Close()
	stranger, err := config.NewAssertionPair()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change  func(*config.Config)
		exam    doctor.Exam
		clock   time.Duration
		about   string
		verdict string
		text    string
	}{
		"all is well":    {func(*config.Config) {}, doctor.Exam{}, 0, "runtime", doctor.OK, "accepts this gateway, for customers and for staff"},
		"told the same":  {func(*config.Config) {}, doctor.Exam{}, 0, "addresses", doctor.OK, "were told the same"},
		"told otherwise": {func(c *config.Config) { c.AgentsURL = "http://work.localhost:8080" }, doctor.Exam{Gateway: true}, 0, "addresses", doctor.Warn, "the runtime was told http://agents.svc.localhost"},
		"told nothing": {func(c *config.Config) {
			c.PlatformURL, c.AgentsURL, c.AdminURL, c.CookieDomain = "https://example.com", "https://agents.example.com", "https://admin.example.com", "example.com"
		}, doctor.Exam{Gateway: true}, 0, "addresses", doctor.Fail, "one of gateway and runtime is in development"},
		"they are a pair":     {func(*config.Config) {}, doctor.Exam{}, 0, "tokens", doctor.OK, "are a pair"},
		"one half is here":    {func(c *config.Config) { c.AssertionPublic = "" }, doctor.Exam{Gateway: true}, 0, "tokens", doctor.OK, "are there"},
		"another token":       {func(c *config.Config) { c.RuntimeToken = secret.Hide(strings.Repeat("x", 32)) }, doctor.Exam{Gateway: true}, 0, "runtime", doctor.Fail, "does not accept the runtime.token"},
		"another admin token": {func(c *config.Config) { c.RuntimeAdminToken = secret.Hide(strings.Repeat("x", 32)) }, doctor.Exam{Gateway: true}, 0, "runtime", doctor.Fail, "does not accept the runtime.admin_token"},
		"another key":         {func(c *config.Config) { c.AssertionKey = secret.Hide(stranger.Key) }, doctor.Exam{Gateway: true}, 0, "runtime", doctor.Fail, "does not know the assertion key"},
		"no pair":             {func(c *config.Config) { c.AssertionKey = secret.Hide(stranger.Key) }, doctor.Exam{}, 0, "tokens", doctor.Fail, "does not hold the other half"},
		"a clock that is off": {func(*config.Config) {}, doctor.Exam{Gateway: true}, -5 * time.Minute, "runtime", doctor.Fail, "its clock is -5m0s apart"},
		"nobody there":        {func(c *config.Config) { c.RuntimeURL = "http://" + unused(t) }, doctor.Exam{Gateway: true}, 0, "runtime", doctor.Fail, "is not reached"},
		"another site":        {func(c *config.Config) { c.RuntimeURL = site.URL }, doctor.Exam{Gateway: true}, 0, "runtime", doctor.Fail, "is no runtime of svc: it answers 404"},
		"no token":            {func(c *config.Config) { c.RuntimeToken = secret.Secret{} }, doctor.Exam{Gateway: true}, 0, "tokens", doctor.Fail, "runtime.token: it is missing"},
		"a short token":       {func(c *config.Config) { c.RuntimeToken = secret.Hide("hunter2") }, doctor.Exam{Gateway: true}, 0, "tokens", doctor.Fail, "32 bytes or more"},
		"one token for both":  {func(c *config.Config) { c.RuntimeAdminToken = c.RuntimeToken }, doctor.Exam{Runtime: true}, 0, "tokens", doctor.Fail, "another than the customer's"},
		"the runtime itself":  {func(c *config.Config) { c.AssertionKey = secret.Secret{} }, doctor.Exam{}, 0, "runtime", doctor.OK, "refuses whoever has no token"},
		"SQLite":              {func(c *config.Config) { c.Database = "sqlite:" + filepath.Join(t.TempDir(), "x.db") }, doctor.Exam{Gateway: true}, 0, "configuration", doctor.Fail, "which SQLite cannot"},
		"on loopback":         {func(*config.Config) {}, doctor.Exam{Runtime: true}, 0, "runtime.listen", doctor.OK, "no public address"},
		"on a socket":         {func(c *config.Config) { c.RuntimeListen = "unix:r" }, doctor.Exam{Runtime: true}, 0, "runtime.listen", doctor.OK, "this machine alone"},
		"on a private net":    {func(c *config.Config) { c.RuntimeListen = "10.0.0.2:8081" }, doctor.Exam{Runtime: true}, 0, "runtime.listen", doctor.OK, "no public address"},
		"on every network":    {func(c *config.Config) { c.RuntimeListen = ":8081" }, doctor.Exam{Runtime: true}, 0, "runtime.listen", doctor.Warn, "every network"},
		"on a public address": {func(c *config.Config) { c.RuntimeListen = "203.0.113.7:8081" }, doctor.Exam{Runtime: true}, 0, "runtime.listen", doctor.Fail, "is a public address"},
		"in clear": {func(c *config.Config) { c.RuntimeURL, c.RuntimeToken = "http://203.0.113.7:8081", secret.Secret{} }, doctor.Exam{Gateway: true}, 0,
			"runtime.url", doctor.Warn, "travel in clear"},
	} {
		t.Run(name, func(t *testing.T) {
			c := c
			c.DataDir = filepath.Join(t.TempDir(), "data")
			test.change(&c)
			test.exam.Log = quietly.Log
			world := doctor.World{Now: func() time.Time { return time.Now().Add(test.clock) }}
			f := findIn(t, doctor.ExamineIn(t.Context(), c, test.exam, world), test.about)
			if f.Verdict != test.verdict || !strings.Contains(f.Text, test.text) || strings.Contains(f.Text, "hunter2") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A runtime has no accounts, no keys and no public address: doctor does not look for them.
func TestDoctorLooksAtTheHalfThatItIsAskedFor(t *testing.T) {
	c := halfOf(t)
	for _, f := range doctor.Examine(t.Context(), c, doctor.Exam{Runtime: true, Log: quietly.Log}) {
		switch f.Name {
		case "mail", "listen", "files folder", "url.agents", "event streams":
			t.Errorf("%+v", f)
		}
	}
	if f := findIn(t, doctor.Examine(t.Context(), c, doctor.Exam{Runtime: true, Log: quietly.Log}), "runtime"); f.Verdict != doctor.Skip {
		t.Errorf("no runtime runs: %+v", f)
	}
}

func TestDoctorNamesTheProcessesOfADatabase(t *testing.T) {
	c := halfOf(t)
	work := c
	work.DataDir = filepath.Join(t.TempDir(), "runtime")
	servicetest.StartPart(t, config.RuntimeAlone, work)
	servicetest.StartPart(t, config.GatewayAlone, c)
	findings := doctor.Examine(t.Context(), c, doctor.Exam{Gateway: true, Log: quietly.Log})
	if f := findIn(t, findings, "connections"); f.Verdict != doctor.OK || !strings.HasPrefix(f.Text, "2 processes of up to 26 connections each") {
		t.Errorf("%+v", f)
	}
	// A runtime alone has no files to share.
	if f := findIn(t, findings, "shared files"); f.Verdict != doctor.OK {
		t.Errorf("%+v", f)
	}
	if f := findIn(t, findings, "server"); f.Verdict == doctor.OK {
		t.Errorf("nobody listens on port 0: %+v", f)
	}
}
