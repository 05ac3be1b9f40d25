package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service"
	"svc.dev/svc/service/account"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sqldbtest.Tests{M: m}) }

// client finds *.localhost on this machine, as browsers do.
var client = &http.Client{
	Timeout:       10 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, port, _ := net.SplitHostPort(address); strings.HasSuffix(host, ".localhost") {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}},
}

// config is a service of this test alone, on free ports.
func config(t *testing.T) service.Config {
	t.Helper()
	return service.Config{
		DataDir: filepath.Join(t.TempDir(), "data"), Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0",
		StopTimeout: 10 * time.Second,
		// A cost that Setting.Set refuses: these tests start many services, and make few passwords.
		Scrypt: account.Scrypt{LogN: 10, R: 8, P: 1},
	}
}

// served is a service that runs.
type served struct {
	service.Serving
	stop   context.CancelFunc
	done   chan error
	reload chan os.Signal
}

// start serves until the end of the test, or until stop.
func start(t *testing.T, c service.Config) *served {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &served{stop: stop, done: make(chan error, 1), reload: make(chan os.Signal)}
	serving := make(chan service.Serving, 1)
	go func() {
		s.done <- service.Serve(ctx, c, slog.New(slog.DiscardHandler), service.Caller{
			Announce: func(at service.Serving) { serving <- at }, Reload: s.reload,
		})
		close(s.done)
	}()
	t.Cleanup(func() {
		stop()
		<-s.done
	})
	select {
	case s.Serving = <-serving:
	case err := <-s.done:
		t.Fatalf("serve: %v", err)
	}
	return s
}

// answer is what one request got.
type answer struct {
	status int
	header http.Header
	body   string
}

func ask(t *testing.T, method, url string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(body)}
}

func TestSurfacesFollowTheListener(t *testing.T) {
	s := start(t, config(t))
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.Address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Mode != "development" || s.Platform != "http://svc.localhost:"+port || s.Agents != "http://agents.svc.localhost:"+port || s.Admin != "http://admin.svc.localhost:"+port {
		t.Errorf("%+v", s.Serving)
	}
	for _, surface := range []string{s.Platform, s.Agents, s.Admin} {
		if got := ask(t, "GET", surface+"/api/auth/session"); got.status != 200 || got.body != `{"authenticated":false}` {
			t.Errorf("%s: %d %s", surface, got.status, got.body)
		}
	}
	if got := ask(t, "GET", s.Address+"/api/auth/session"); got.status != 421 {
		t.Errorf("another host: %d %s", got.status, got.body)
	}
}

func TestOperationsAreNotPublic(t *testing.T) {
	s := start(t, config(t))
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/admin/create", "/secrets/rotate"} {
		if got := ask(t, "GET", s.Platform+path); got.status != 404 {
			t.Errorf("GET %s: %d %s", path, got.status, got.body)
		}
	}
}

func TestEveryAnswerHasARequestID(t *testing.T) {
	s := start(t, config(t))
	ids := map[string]bool{}
	for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS", "TRACE"} {
		id := ask(t, method, s.Platform+"/x").header.Get("X-Request-Id")
		if !strings.HasPrefix(id, "req_") || len(id) != 30 || ids[id] {
			t.Errorf("%s: X-Request-Id %q", method, id)
		}
		ids[id] = true
	}
}

func TestReadinessNamesEveryCheck(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		c := config(t)
		c.Database = address
		s := start(t, c)
		got := ask(t, "GET", s.Operations+"/readyz")
		want := `{"ready":true,"state":"serving","checks":[{"name":"database","ok":true},{"name":"migrations","ok":true},{"name":"clock","ok":true,"detail":"as the database's"},{"name":"keys","ok":true},{"name":"workers","ok":true}],"node":"`
		if got.status != 200 || !regexp.MustCompile(`^`+regexp.QuoteMeta(want)+`[0-9a-f]{16}"}\s*$`).MatchString(got.body) {
			t.Errorf("%d %s", got.status, got.body)
		}
		if got := ask(t, "GET", s.Operations+"/healthz"); got.status != 200 {
			t.Errorf("healthz: %d", got.status)
		}
	})
}

func TestDrainingServerIsNotReady(t *testing.T) {
	s := start(t, config(t))
	slow := openRequest(t, s.Address)
	s.stop()
	var got answer
	for got = ask(t, "GET", s.Operations+"/readyz"); got.status == 200; got = ask(t, "GET", s.Operations+"/readyz") {
		time.Sleep(5 * time.Millisecond)
	}
	if got.status != 503 || !strings.Contains(got.body, `{"name":"workers","ok":false,"error":"draining"}`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	slow.Close()
	if err := <-s.done; err != nil {
		t.Errorf("serve: %v", err)
	}
}

func TestStopCutsOffWhatTakesTooLong(t *testing.T) {
	c := config(t)
	c.StopTimeout = 100 * time.Millisecond
	s := start(t, c)
	openRequest(t, s.Address)
	began := time.Now()
	s.stop()
	if err := <-s.done; err != nil {
		t.Errorf("serve: %v", err)
	}
	if took := time.Since(began); took > 2*time.Second {
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
	ask(t, "GET", address)
	return conn
}

func TestServiceStartsAgainOnWhatItLeft(t *testing.T) {
	c := config(t)
	for range 2 {
		s := start(t, c)
		s.stop()
		if err := <-s.done; err != nil {
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
	c := config(t)
	start(t, c)
	for name, err := range map[string]error{"serve": serveOnce(t, c), "migrate": migrateOnce(t, c)} {
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("held by process %d", os.Getpid())) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDatabaseFileBelongsToOneService(t *testing.T) {
	a, b := config(t), config(t)
	a.Database = sqldbtest.SQLite(t)
	b.Database = a.Database
	start(t, a)
	if err := serveOnce(t, b); err == nil || !strings.Contains(err.Error(), "held by process") {
		t.Errorf("serve: %v", err)
	}
}

func TestTakenAddressIsRefusedByName(t *testing.T) {
	s := start(t, config(t))
	c := config(t)
	c.OpsListen = strings.TrimPrefix(s.Address, "http://")
	if err := serveOnce(t, c); err == nil || !strings.Contains(err.Error(), "ops_listen: ") {
		t.Errorf("serve: %v", err)
	}
}

// serveOnce expects a service that does not start.
func serveOnce(t *testing.T, c service.Config) error {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	return service.Serve(ctx, c, slog.New(slog.DiscardHandler), service.Caller{Announce: func(service.Serving) { stop() }})
}

func migrateOnce(t *testing.T, c service.Config) error {
	t.Helper()
	_, err := service.Migrate(t.Context(), c, slog.New(slog.DiscardHandler))
	return err
}

func TestMigrateSaysWhatItDid(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		c := config(t)
		c.Database = address
		for i, wantFrom := range []bool{true, false} {
			done, err := service.Migrate(t.Context(), c, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if len(done) == 0 || done[0].Room != "runtime" || done[0].To == 0 || (done[0].From == 0) != wantFrom {
				t.Errorf("time %d: %+v", i+1, done)
			}
		}
	})
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		c := config(t)
		c.Database = address
		if err := migrateOnce(t, c); err != nil {
			t.Fatal(err)
		}
		makeNewer(t, address)
		for name, err := range map[string]error{"serve": serveOnce(t, c), "migrate": migrateOnce(t, c)} {
			if _, ok := errors.AsType[*sqldb.NewerError](err); !ok {
				t.Errorf("%s: %v", name, err)
			}
		}
		if f := find(t, c, "migrations"); f.Verdict != service.Fail || !strings.Contains(f.Text, "newer svc") {
			t.Errorf("doctor: %+v", f)
		}
	})
}

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
	c := config(t)
	c.Database = "postgres://svc:hunter2@127.0.0.1:1/svc?password=hunter2&connect_timeout=1"
	findings, err := json.Marshal(service.Doctor(t.Context(), c, quietly))
	if err != nil {
		t.Fatal(err)
	}
	if err := serveOnce(t, c); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(string(findings), "hunter2") {
		t.Errorf("serve: %v\ndoctor: %s", err, findings)
	}
}
