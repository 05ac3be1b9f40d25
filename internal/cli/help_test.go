package cli_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/cli"
)

func TestShellsTakeWhatCompletesThem(t *testing.T) {
	alone(t)
	for shell, check := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}} {
		d := run(t, "", "completion", shell).wants(t, 0, "svc")
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("there is no %s to read it", shell)
			continue
		}
		cmd := exec.Command(shell, check...)
		cmd.Stdin = strings.NewReader(d.out)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
	run(t, "", "completion", "bsh").wants(t, 2, "is bash meant?")
	run(t, "", "completion").wants(t, 2)
}

// TestTabOffersNames presses Tab as shells do.
func TestTabOffersNames(t *testing.T) {
	m := atService(t)
	m.makeProject(t, "docs")
	run(t, "", "agents", "send", "central", "planning", "n=1").wants(t, 0)
	run(t, m.key, "login", "--key", "-", m.base, "--profile", "work").wants(t, 0)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"agents", ""}, "abort"},
		{[]string{"agents", "send", ""}, "central"},
		{[]string{"chat", "cen"}, "central"},
		{[]string{"agents", "tail", "central", ""}, "planning"},
		{[]string{"workflows", "run", ""}, "digest"},
		{[]string{"projects", "ls", "do"}, "docs"},
		{[]string{"profiles", "use", ""}, "work"},
		{[]string{"agents", "list", "--profile", ""}, "work"},
		{[]string{"runs", "list", "--status", ""}, "errored"},
		{[]string{"completion", ""}, "fish"},
	} {
		d := run(t, "", append([]string{"__complete"}, test.args...)...)
		if !strings.Contains(d.out, test.want) {
			t.Errorf("%q is offered %q", test.args, d.out)
		}
	}
	t.Setenv(cli.BaseVariable, "http://127.0.0.1:1/v1/ada/personal")
	if d := run(t, "", "__complete", "agents", "send", ""); d.code != 0 || strings.Contains(d.out, "central") {
		t.Errorf("without a service: %+v", d)
	}
}

func FuzzAddressesOfFiles(f *testing.F) {
	for _, text := range []string{"docs/a/b.md", "docs", "docs/", "a//b", "x/../y", "docs/%2e%2e/a", "docs/a b?c#d", "docs/\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := cli.FilesPath(text)
		if err != nil {
			return
		}
		if strings.ContainsAny(at, "?# \x00") || strings.Contains(at, "//") || filepath.Clean(at) != strings.TrimSuffix(at, "/") || !strings.HasPrefix(at, "/projects/") {
			t.Fatalf("%q is asked for at %q", text, at)
		}
	})
}
