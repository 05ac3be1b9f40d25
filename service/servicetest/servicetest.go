// Package servicetest runs services for tests, each on a folder and ports of its own.
package servicetest

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/config"
)

// Client finds *.localhost on this machine, as browsers do.
var Client = &http.Client{
	Timeout:       time.Minute,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, port, _ := net.SplitHostPort(address); strings.HasSuffix(host, ".localhost") {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}},
}

// Port is one that nobody listens on. It is none of those that the system gives to connections: until it is taken, no test beside it gets it.
func Port(t testing.TB) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(20_000 + rand.IntN(12_000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("every port is taken")
	return ""
}

// Config is a service of this test alone, on free ports.
func Config(t *testing.T) config.Config {
	t.Helper()
	return config.Config{
		DataDir: filepath.Join(t.TempDir(), "data"), Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0",
		StopTimeout: 10 * time.Second,
		// A long poll asks once for each change: several clients of one key would be slowed down on a quick machine.
		LimitRate: 1_000_000, LimitBurst: 1_000_000,
		// A cost that Setting.Set refuses: these tests start many services, and make few passwords.
		Scrypt: account.Scrypt{LogN: 10, R: 8, P: 1},
	}
}

// Served is a service that runs.
type Served struct {
	service.Serving
	Stop   context.CancelFunc
	Done   chan error // what came of it; closed
	Reload chan os.Signal
	// Split is how the runtime of a gateway was started, for tests that start another. Of a whole service it is empty.
	Split config.Config

	sessions map[string]string // by username
}

// Start serves until the end of the test, or until Stop.
func Start(t *testing.T, c config.Config) *Served {
	t.Helper()
	return StartPart(t, config.Whole, c)
}

// StartPart is Start for a part of the service.
func StartPart(t *testing.T, p config.Part, c config.Config) *Served {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &Served{Stop: stop, Done: make(chan error, 1), Reload: make(chan os.Signal), sessions: map[string]string{}}
	serving := make(chan service.Serving, 1)
	go func() {
		s.Done <- service.Serve(ctx, p, c, slog.New(slog.DiscardHandler), service.Caller{
			Announce: func(at service.Serving) { serving <- at }, Reload: s.Reload,
		})
		close(s.Done)
	}()
	t.Cleanup(func() {
		stop()
		<-s.Done
	})
	select {
	case s.Serving = <-serving:
	case err := <-s.Done:
		t.Fatalf("serve: %v", err)
	}
	return s
}

// Once starts a service and stops it again.
func Once(t *testing.T, c config.Config) {
	t.Helper()
	s := Start(t, c)
	s.Stop()
	if err := <-s.Done; err != nil {
		t.Fatalf("serve: %v", err)
	}
}

// Try is why a service does not start.
func Try(t *testing.T, c config.Config) error {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	return service.Serve(ctx, config.Whole, c, slog.New(slog.DiscardHandler), service.Caller{Announce: func(service.Serving) { stop() }})
}

// Eventually waits until something is true.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

// Answer is what one request got.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Ask sends a request without a body.
func Ask(t *testing.T, method, url string) Answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Send(t, Client, r)
}

// Send sends a request by a client of the test's own.
func Send(t *testing.T, client *http.Client, r *http.Request) Answer {
	t.Helper()
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Answer{res.StatusCode, res.Header, string(body)}
}
