package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestImageOfTheBinaryServes builds the container file around this revision's binary, and lets it serve and ask itself how it is.
func TestImageOfTheBinaryServes(t *testing.T) {
	if os.Getenv("SVC_SOAK") == "" {
		t.Skip("SVC_SOAK is not set: an image is built")
	}
	if runtime.GOOS != "linux" || !canBeAlone() {
		t.Skip("no network of our own can be made here")
	}
	if err := exec.Command("buildah", "info").Run(); err != nil {
		t.Skipf("there is no buildah that works here: %v", err)
	}
	context := t.TempDir()
	compile := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(context, "bin", "image", runtime.GOARCH, "svc"), ".")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	outputOf(t, compile)
	outputOf(t, exec.Command("cp", "-r", deployed, filepath.Join(context, "deploy")))
	const tag = "localhost/svc-of-a-test"
	outputOf(t, exec.Command("buildah", "build", "--format", "docker", "--build-arg", "TARGETARCH="+runtime.GOARCH, "-f", filepath.Join(context, "deploy", "Containerfile"), "-t", tag, context))
	name := strings.TrimSpace(outputOf(t, exec.Command("buildah", "from", tag)))
	t.Cleanup(func() {
		outputOf(t, exec.Command("buildah", "rm", name))
		outputOf(t, exec.Command("buildah", "rmi", tag))
	})
	if user := strings.TrimSpace(outputOf(t, exec.Command("buildah", "inspect", "--format", "{{.OCIv1.Config.User}}", name))); user != "65532:65532" {
		t.Errorf("it runs as %q", user)
	}
	// The image's own command and health check, in a network where its ports are free.
	out := outputOf(t, exec.Command("unshare", "--net", "bash", "-euc", `ip link set lo up
buildah run --isolation chroot "$0" -- /svc serve 2> `+context+`/log & server=$!
until buildah run --isolation chroot "$0" -- /svc ready > `+context+`/ready 2>&1; do sleep 0.1; done
cat `+context+`/ready
kill $server; wait $server || true`, name))
	for _, want := range []string{"ok    database\n", "ok    workers\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q: %s", want, out)
		}
	}
}

func outputOf(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		if failed, ok := err.(*exec.ExitError); ok {
			out = append(out, failed.Stderr...)
		}
		t.Fatalf("%v: %v: %s", cmd.Args, err, out)
	}
	return string(out)
}
