package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/command/commandtest"
)

func TestReadyAsksTheServiceOfThisMachine(t *testing.T) {
	p := launch(t, []string{"SVC_LISTEN=127.0.0.1:0", "SVC_OPS_LISTEN=127.0.0.1:0"}, "serve", "--data", filepath.Join(t.TempDir(), "data"))
	ask := func(args ...string) (string, error) {
		args = append([]string{"ready", "--data", t.TempDir(), "--ops-listen", strings.TrimPrefix(p.Operations, "http://")}, args...)
		out, err := exec.Command("svc", args...).CombinedOutput()
		return string(out), err
	}
	if out, err := ask(); err != nil || !strings.Contains(out, "ok    database\n") {
		t.Errorf("%v: %s", err, out)
	}
	out, err := ask("--json")
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	commandtest.Fits(t, schemas, "ready", out)
	p.kill()
	if out, err := ask(); err == nil {
		t.Errorf("nobody serves, and it is said to be ready: %s", out)
	}
}
