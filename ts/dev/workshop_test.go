package dev_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/internal/notepad"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/ts"
	"svc.dev/svc/ts/dev"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// soak asks for the full counts.
var soak = os.Getenv("SVC_SOAK") == "1"

// workshop is a project that somebody works on.
type workshop struct {
	*dev.Server
	t      *testing.T
	folder string
	url    string
	log    *notepad.Pad
	builds chan dev.Build
}

// workOn serves a project until the test ends.
func workOn(t *testing.T, address, archive string, env map[string]string) *workshop {
	t.Helper()
	return workIn(t, address, bundletest.Project(t, archive), env)
}

// workIn is workOn for a folder.
func workIn(t *testing.T, address, folder string, env map[string]string) *workshop {
	t.Helper()
	w := &workshop{t: t, folder: folder, log: &notepad.Pad{}, builds: make(chan dev.Build, 1000)}
	log := slog.New(slog.NewTextHandler(w.log, nil))
	store, err := sqlstore.Open(t.Context(), address, sqlstore.Config{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	w.Server, err = dev.Open(t.Context(), dev.Config{
		Folder: w.folder, Store: store, Node: "author", Log: log, Project: ts.Config{Env: env},
		Model: model.Providers{"scripted": scripted.Obedient(), "words": scripted.Words()}.Find, Told: func(b dev.Build) { w.builds <- b },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	server := httptest.NewServer(w.Server)
	w.url = server.URL
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		server.CloseClientConnections()
		server.Close()
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if t.Failed() {
			t.Logf("log:\n%s", w.log)
		}
	})
	w.built()
	return w
}

// built is the next build.
func (w *workshop) built() dev.Build {
	w.t.Helper()
	select {
	case b := <-w.builds:
		return b
	case <-time.After(30 * time.Second):
		w.t.Fatal("nothing was built")
		return dev.Build{}
	}
}

// saves writes a file of the project, and waits for the build of it.
func (w *workshop) saves(name, text string) dev.Build {
	w.t.Helper()
	path := filepath.Join(w.folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return w.built()
}

// ask is the status and the body of an answer.
func (w *workshop) ask(method, path, body string, header ...string) string {
	w.t.Helper()
	got, err := w.tries(method, path, body, header...)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

func (w *workshop) tries(method, path, body string, header ...string) (string, error) {
	r, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return fmt.Sprintf("%d %s", res.StatusCode, text), err
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is\n%s\nand not\n%s", what, got, want)
	}
}

func contains(t *testing.T, what, got string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(got, want) {
			t.Errorf("%s is\n%s\nwithout\n%s", what, got, want)
		}
	}
}
