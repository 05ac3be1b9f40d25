package service_test

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service"
	"svc.dev/svc/service/secret"
)

// find is what doctor says of one thing.
func find(t *testing.T, c service.Config, name string) service.Finding {
	t.Helper()
	findings := service.Doctor(t.Context(), c, slog.New(slog.DiscardHandler))
	for _, f := range findings {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("doctor does not say anything of %q: %v", name, findings)
	return service.Finding{}
}

func TestDoctorMakesNothing(t *testing.T) {
	c := config(t)
	if findings := service.Doctor(t.Context(), c, slog.New(slog.DiscardHandler)); !service.Healthy(findings) {
		t.Errorf("%v", findings)
	}
	if _, err := os.Stat(c.DataDir); err == nil {
		t.Error("the data folder was made")
	}
	if err := os.Mkdir(c.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	find(t, c, "database")
	if _, err := os.Stat(filepath.Join(c.DataDir, "svc.db")); err == nil {
		t.Error("the database was made")
	}
}

func TestDoctorWarnsOfAnOpenFolder(t *testing.T) {
	c := config(t)
	if err := os.Mkdir(c.DataDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if f := find(t, c, "data folder"); f.Verdict != service.Warn || f.Mend != "chmod 700 "+c.DataDir {
		t.Errorf("%+v", f)
	}
}

func TestDoctorWarnsOfWeakerCommits(t *testing.T) {
	c := config(t)
	if err := migrateOnce(t, c); err != nil {
		t.Fatal(err)
	}
	if f := find(t, c, "sqlite.synchronous"); f.Verdict != service.OK {
		t.Errorf("%+v", f)
	}
	c.Synchronous = "NORMAL"
	if f := find(t, c, "sqlite.synchronous"); f.Verdict != service.Warn {
		t.Errorf("%+v", f)
	}
}

func TestDoctorAsksTheServerThatHoldsTheFolder(t *testing.T) {
	c := config(t)
	s := start(t, c)
	c.OpsListen = strings.TrimPrefix(s.Operations, "http://")
	if f := find(t, c, "lock"); f.Text != fmt.Sprintf("held by process %d", os.Getpid()) {
		t.Errorf("%+v", f)
	}
	if f := find(t, c, "database"); f.Verdict != service.Skip {
		t.Errorf("%+v", f)
	}
	if f := find(t, c, "server"); f.Verdict != service.OK {
		t.Errorf("%+v", f)
	}
}

func TestDoctorFindsATakenAddress(t *testing.T) {
	s := start(t, config(t))
	c := config(t)
	c.Listen = strings.TrimPrefix(s.Address, "http://")
	if f := find(t, c, "listen"); f.Verdict != service.Fail {
		t.Errorf("%+v", f)
	}
}

func TestDoctorLooksIntoPostgres(t *testing.T) {
	c := config(t)
	c.Database = sqldbtest.Postgres(t)
	if f := find(t, c, "migrations"); f.Verdict != service.Warn || !strings.Contains(f.Mend, "svc migrate") {
		t.Errorf("%+v", f)
	}
	if f := find(t, c, "clock"); f.Verdict != service.OK {
		t.Errorf("%+v", f)
	}
}

func TestDoctorFindsADatabaseThatDoesNotAnswer(t *testing.T) {
	c := config(t)
	c.Database = "postgres://svc@127.0.0.1:1/svc?connect_timeout=1"
	if f := find(t, c, "database"); f.Verdict != service.Fail {
		t.Errorf("%+v", f)
	}
}

func TestDoctorReachesForTheMailServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := config(t)
	c.SMTPFrom = "svc@example.com"
	c.SMTPURL = secret.Hide("smtp://svc:hunter2@" + l.Addr().String())
	if f := find(t, c, "mail"); f.Verdict != service.OK || f.Text != l.Addr().String()+" answers" {
		t.Errorf("%+v", f)
	}
	l.Close()
	if f := find(t, c, "mail"); f.Verdict != service.Warn || strings.Contains(f.Text, "hunter2") {
		t.Errorf("%+v", f)
	}
}

func TestDoctorJudgesTheConfiguration(t *testing.T) {
	c := config(t)
	c.PlatformURL, c.AgentsURL, c.AdminURL = "http://a.localhost:8080", "http://b.localhost:8080", "http://c.localhost:8080"
	if f := find(t, c, "configuration"); f.Verdict != service.Warn || !strings.Contains(f.Text, "a.localhost of url.platform does not lie below cookie_domain svc.localhost") {
		t.Errorf("%+v", f)
	}
	c.PlatformURL = "http://example.com"
	if f := find(t, c, "configuration"); f.Verdict != service.Fail || !strings.Contains(f.Text, "url.platform: http://example.com is not https") {
		t.Errorf("%+v", f)
	}
	c.PlatformURL, c.AgentsURL, c.AdminURL = "https://example.com", "https://agents.example.com", "https://admin.example.com"
	c.CookieDomain = "example.com"
	if f := find(t, c, "configuration"); f.Verdict != service.OK {
		t.Errorf("%+v", f)
	}
	if f := find(t, c, "mail"); f.Verdict != service.Warn {
		t.Errorf("%+v", f)
	}
}
