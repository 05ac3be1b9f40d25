package client_test

import (
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/contract/program"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// soak asks for the full counts.
var soak = os.Getenv("SVC_SOAK") == "1"

func TestMain(m *testing.M) { goleak.VerifyTestMain(sqldbtest.Tests{M: m}) }

// serve runs the contract program on a database until the test ends.
func serve(t testing.TB, address string) *program.Program {
	t.Helper()
	p, err := program.Start(t.Context(), program.Config{Database: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return p
}

// ask makes a client of a server; its connections end with the test.
func ask(t testing.TB, url string, edit ...func(*client.Config)) *client.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	config := client.Config{BaseURL: url, HTTP: &http.Client{Transport: transport}, Backoff: 5 * time.Millisecond}
	for _, fn := range edit {
		fn(&config)
	}
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventually waits for something to come true.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

// plain is the HTTP client of examples.
var plain = &http.Client{Transport: &http.Transport{}}
