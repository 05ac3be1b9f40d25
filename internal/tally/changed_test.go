package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestWhatHasChangedIsKnownFromTheBase runs scripts/changed in a repository of its own.
func TestWhatHasChangedIsKnownFromTheBase(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		at := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile(filepath.Join("..", "..", "scripts", "changed"))
	if err != nil {
		t.Fatal(err)
	}
	write("scripts/changed", string(script))
	changed := func(when string, want bool) {
		t.Helper()
		if got := exec.Command(filepath.Join(root, "scripts", "changed"), "model").Run() == nil; got != want {
			t.Errorf("%s: changed is %v", when, got)
		}
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	commit := func(path string) {
		t.Helper()
		write(path, path+t.Name())
		git("add", "-A")
		git("commit", "-qm", path)
	}
	changed("without git", true)
	git("init", "-q", "-b", "main")
	commit("model/a")
	changed("at the first commit", true)
	commit("other/a")
	changed("on main, before which only other things changed", false)
	git("checkout", "-qb", "branch")
	changed("on a new branch", false)
	commit("other/b")
	commit("model/b")
	commit("other/c")
	changed("on a branch that changed it", true)
	git("checkout", "-q", "main")
	changed("on main again", false)
	tested := func() {
		t.Helper()
		if out, err := exec.Command(filepath.Join(root, "scripts", "changed"), "-tested").CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	tested()
	changed("on main as it was tested", false)
	commit("model/d")
	commit("other/d")
	commit("other/e")
	changed("on main, some commits after what was tested", true)
	write("other/f", "x")
	tested()
	changed("on main, where what was tested is not committed", true)
	git("add", "-A")
	git("commit", "-qm", "other/f")
	tested()
	changed("on main as it was tested again", false)
	commit("other/g")
	changed("on main, after which only other things changed", false)
	write("model/new", "x")
	changed("with a new file", true)
	git("add", "-A")
	changed("with a new file that git knows", true)
}
