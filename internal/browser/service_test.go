package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/secret"
)

// service is what browsers visit, on a data folder of its own: one process, or a gateway and the runtime behind it.
type service struct {
	*part       // what browsers come to
	work  *part // what runs work: the same, where there is one process
}

// serve runs the service as one process, on its embedded database, until the test ends.
func serve(t *testing.T, settings ...string) *service {
	t.Helper()
	all := newPart(settings, "serve", "--data", t.TempDir())
	s := &service{part: all, work: all}
	s.begin(t)
	return s
}

// serveHalves runs the service as a gateway and a runtime, on PostgreSQL, until the test ends.
func serveHalves(t *testing.T, settings ...string) *service {
	t.Helper()
	data := shortFolder(t)
	settings = append(halvesOf(t, data), settings...)
	s := &service{
		part: newPart(settings, "gateway", "--data", filepath.Join(data, "gateway")),
		work: newPart(settings, "runtime", "--data", filepath.Join(data, "runtime")),
	}
	s.begin(t)
	return s
}

// halvesOf are the settings that make one service of a gateway and a runtime: both have them.
func halvesOf(t *testing.T, data string) []string {
	t.Helper()
	pair, err := config.NewAssertionPair()
	if err != nil {
		t.Fatal(err)
	}
	ring, err := secret.NewRing()
	if err != nil {
		t.Fatal(err)
	}
	keys, socket := filepath.Join(data, "keys.json"), "unix:"+filepath.Join(data, "runtime.sock")
	if err := ring.WriteNew(keys); err != nil {
		t.Fatal(err)
	}
	return []string{
		"SVC_DATABASE_URL=" + sqldbtest.Postgres(t), "SVC_FILES_DIR=" + filepath.Join(data, "files"), "SVC_KEYS_FILE=" + keys,
		"SVC_RUNTIME_LISTEN=" + socket, "SVC_RUNTIME_URL=" + socket,
		"SVC_RUNTIME_TOKEN=" + strings.Repeat("t", 32), "SVC_RUNTIME_ADMIN_TOKEN=" + strings.Repeat("a", 32),
		"SVC_ASSERTION_KEY=" + pair.Key, "SVC_ASSERTION_PUBLIC=" + pair.Public,
	}
}

// shortFolder is a folder whose path has room for the name of a socket; that of t.TempDir may be too long.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "svc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// begin starts the service, and ends it with the test.
func (s *service) begin(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		for _, p := range s.parts() {
			p.dismiss(t)
		}
	})
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// halves reports whether the service is two processes.
func (s *service) halves() bool { return s.part != s.work }

// parts are the processes, the one that browsers come to first.
func (s *service) parts() []*part {
	if s.halves() {
		return []*part{s.part, s.work}
	}
	return []*part{s.part}
}

// named is the gateway, or else the runtime: where there is one process it is both.
func (s *service) named(name string) *part {
	if name == "gateway" {
		return s.part
	}
	return s.work
}

// start runs each part that does not run, where it was.
func (s *service) start() error {
	for _, p := range s.parts() {
		if p.ended != nil {
			continue
		}
		if err := p.start(); err != nil {
			return err
		}
		// The runtime is told where the service is found.
		s.listen = strings.TrimPrefix(s.Address, "http://")
		s.work.listen = s.listen
	}
	return nil
}

// release ends the service in good order, and starts it again by another binary.
func (s *service) release(binary string) error {
	for _, p := range s.parts() {
		if err := p.stop(); err != nil {
			return err
		}
		p.binary = binary
	}
	return s.start()
}
