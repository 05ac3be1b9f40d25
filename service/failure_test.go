package service

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/operate"
)

func TestFailedDatabaseEndsTheServiceAtOnce(t *testing.T) {
	c := config.Config{DataDir: filepath.Join(t.TempDir(), "data"), Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", Scrypt: account.Scrypt{LogN: 10, R: 8, P: 1}}.WithDefaults()
	folder, err := database.HoldFolder(c.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	s := newServer(config.Whole, c, slog.New(slog.DiscardHandler), folder, Caller{})
	if err := s.bind(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.front.Close()
	defer s.back.Close()
	defer s.socket.Close()
	n, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	failed := make(chan struct{})
	close(failed)
	n.failed = failed
	began := time.Now()
	err = s.work(t.Context(), n, s.newHTTP(s.public(n)), s.newHTTP(operate.NewAdminSocket(n.machine())))
	if err == nil || !strings.Contains(err.Error(), "start again to recover") || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	// What is left behind by a process that ends must still end in a test.
	eventually(t, "the runtime has ended", func() bool { return n.rt.State() != "serving" })
}
