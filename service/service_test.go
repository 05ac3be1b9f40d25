package service_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/doctor"
	"svc.dev/svc/service/operate"
	"svc.dev/svc/service/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sqldbtest.ReusingTests{M: m}) }

func TestSurfacesFollowTheListener(t *testing.T) {
	s := servicetest.Start(t, servicetest.Config(t))
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.Address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Mode != "development" || s.Platform != "http://svc.localhost:"+port || s.Agents != "http://agents.svc.localhost:"+port || s.Admin != "http://admin.svc.localhost:"+port {
		t.Errorf("%+v", s.Serving)
	}
	for _, surface := range []string{s.Platform, s.Agents, s.Admin} {
		if got := servicetest.Ask(t, "GET", surface+"/api/auth/session"); got.Status != 200 || got.Body != `{"authenticated":false}` {
			t.Errorf("%s: %d %s", surface, got.Status, got.Body)
		}
	}
	if got := servicetest.Ask(t, "GET", s.Address+"/api/auth/session"); got.Status != 421 {
		t.Errorf("another host: %d %s", got.Status, got.Body)
	}
}

func TestOperationsAreNotPublic(t *testing.T) {
	s := servicetest.Start(t, servicetest.Config(t))
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/admin/create", "/secrets/rotate"} {
		if got := servicetest.Ask(t, "GET", s.Platform+path); got.Status != 404 {
			t.Errorf("GET %s: %d %s", path, got.Status, got.Body)
		}
	}
}

func TestEveryAnswerHasARequestID(t *testing.T) {
	s := servicetest.Start(t, servicetest.Config(t))
	ids := map[string]bool{}
	for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS", "TRACE"} {
		id := servicetest.Ask(t, method, s.Platform+"/x").Header.Get("X-Request-Id")
		if !strings.HasPrefix(id, "req_") || len(id) != 30 || ids[id] {
			t.Errorf("%s: X-Request-Id %q", method, id)
		}
		ids[id] = true
	}
}

func TestReadinessNamesEveryCheck(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		c := servicetest.Config(t)
		c.Database = address
		s := servicetest.Start(t, c)
		got := servicetest.Ask(t, "GET", s.Operations+"/readyz")
		want := `{"ready":true,"state":"serving","checks":[{"name":"database","ok":true},{"name":"migrations","ok":true},{"name":"clock","ok":true,"detail":"as the database's"},{"name":"keys","ok":true},{"name":"workers","ok":true}],"node":"`
		if got.Status != 200 || !regexp.MustCompile(`^`+regexp.QuoteMeta(want)+`[0-9a-f]{16}"}\s*$`).MatchString(got.Body) {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		if got := servicetest.Ask(t, "GET", s.Operations+"/healthz"); got.Status != 200 {
			t.Errorf("healthz: %d", got.Status)
		}
	})
}

func TestDrainingServerIsNotReady(t *testing.T) {
	s := servicetest.Start(t, servicetest.Config(t))
	slow := openRequest(t, s.Address)
	s.Stop()
	var got servicetest.Answer
	servicetest.Eventually(t, "the service is not ready", func() bool {
		got = servicetest.Ask(t, "GET", s.Operations+"/readyz")
		return got.Status != 200
	})
	if got.Status != 503 || !strings.Contains(got.Body, `{"name":"workers","ok":false,"error":"draining"}`) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	slow.Close()
	if err := <-s.Done; err != nil {
		t.Errorf("serve: %v", err)
	}
}

func TestStopCutsOffWhatTakesTooLong(t *testing.T) {
	c := servicetest.Config(t)
	c.StopTimeout = 100 * time.Millisecond
	s := servicetest.Start(t, c)
	openRequest(t, s.Address)
	began := time.Now()
	s.Stop()
	if err := <-s.Done; err != nil {
		t.Errorf("serve: %v", err)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("took %s", took)
	}
}

// openRequest begins a request and does not end it.
func openRequest(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, "GET /slow HTTP/1.1\r\nHost: x\r\n"); err != nil {
		t.Fatal(err)
	}
	// The server has taken the connection when it answers on a later one.
	servicetest.Ask(t, "GET", address)
	return conn
}

func TestServiceStartsAgainOnWhatItLeft(t *testing.T) {
	c := servicetest.Config(t)
	for range 2 {
		s := servicetest.Start(t, c)
		s.Stop()
		if err := <-s.Done; err != nil {
			t.Fatalf("serve: %v", err)
		}
	}
	stat, err := os.Stat(c.DataDir)
	if err != nil || stat.Mode().Perm() != 0o700 {
		t.Errorf("data folder: %v %v", stat.Mode(), err)
	}
	for _, name := range []string{"lock", "node", "svc.db", "keys.json"} {
		if stat, err := os.Stat(filepath.Join(c.DataDir, name)); err != nil || stat.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecondServiceOnTheFolderIsRefused(t *testing.T) {
	c := servicetest.Config(t)
	servicetest.Start(t, c)
	for name, err := range map[string]error{"serve": servicetest.Try(t, c), "migrate": migrateOnce(t, c), "preflight": preflightOnce(t, c)} {
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("held by process %d", os.Getpid())) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDatabaseFileBelongsToOneService(t *testing.T) {
	a, b := servicetest.Config(t), servicetest.Config(t)
	a.Database = sqldbtest.SQLite(t)
	b.Database = a.Database
	servicetest.Start(t, a)
	if err := servicetest.Try(t, b); err == nil || !strings.Contains(err.Error(), "held by process") {
		t.Errorf("serve: %v", err)
	}
}

func TestTakenAddressIsRefusedByName(t *testing.T) {
	s := servicetest.Start(t, servicetest.Config(t))
	c := servicetest.Config(t)
	c.OpsListen = strings.TrimPrefix(s.Address, "http://")
	if err := servicetest.Try(t, c); err == nil || !strings.Contains(err.Error(), "ops_listen: ") {
		t.Errorf("serve: %v", err)
	}
}

func migrateOnce(t *testing.T, c config.Config) error {
	t.Helper()
	_, err := operate.Migrate(t.Context(), c.WithDefaults().DatabaseConfig(), slog.New(slog.DiscardHandler))
	return err
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		c := servicetest.Config(t)
		c.Database = address
		if err := migrateOnce(t, c); err != nil {
			t.Fatal(err)
		}
		makeNewer(t, address)
		for name, err := range map[string]error{"serve": servicetest.Try(t, c), "migrate": migrateOnce(t, c)} {
			if _, ok := errors.AsType[*sqldb.NewerError](err); !ok {
				t.Errorf("%s: %v", name, err)
			}
		}
		if f := find(t, c, "migrations"); f.Verdict != doctor.Fail || !strings.Contains(f.Text, "newer svc") {
			t.Errorf("doctor: %+v", f)
		}
	})
}

// find is what doctor says of one thing.
func find(t *testing.T, c config.Config, name string) doctor.Finding {
	t.Helper()
	for _, f := range doctor.Examine(t.Context(), c, quietly) {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("doctor does not say anything of %q", name)
	return doctor.Finding{}
}

// quietly is an exam that tells the log nothing.
var quietly = doctor.Exam{Log: slog.New(slog.DiscardHandler)}

func makeNewer(t *testing.T, address string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec("INSERT INTO runtime_schema (version_id, is_applied) VALUES (9999, $1)", true)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPasswordIsNeverShown(t *testing.T) {
	c := servicetest.Config(t)
	c.Database = "postgres://svc:hunter2@127.0.0.1:1/svc?password=hunter2&connect_timeout=1"
	findings, err := json.Marshal(doctor.Examine(t.Context(), c, quietly))
	if err != nil {
		t.Fatal(err)
	}
	if err := servicetest.Try(t, c); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(string(findings), "hunter2") {
		t.Errorf("serve: %v\ndoctor: %s", err, findings)
	}
}
