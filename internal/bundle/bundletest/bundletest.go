// Package bundletest has projects for tests, with the packages that they import as they are published.
package bundletest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Project unpacks a project into a folder of its own.
func Project(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	if err := txtar.Write(txtar.Parse([]byte(archive)), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// With lets a project import packages: hono, valibot and zod; typescript is there to check one. It skips the test where there is no npm, unless that would go unseen.
func With(t testing.TB, dir string) string {
	t.Helper()
	if err := os.Symlink(packages(t), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// packages is the folder of installed packages. It is named by what is installed, so that another lock is another folder.
func packages(t testing.TB) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	here := filepath.Dir(file)
	lock, err := os.ReadFile(filepath.Join(here, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(here, ".packages", fmt.Sprintf("%.8x", sha256.Sum256(lock)))
	if _, err := os.Stat(at); err != nil {
		install(t, here, at)
	}
	return filepath.Join(at, "node_modules")
}

// install fetches the packages aside and moves them to their place at once: tests of other packages may do the same.
func install(t testing.TB, here, at string) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("npm is missing")
		}
		t.Skip("npm is missing: published packages were not tested")
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	aside, err := os.MkdirTemp(filepath.Dir(at), "install-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(aside)
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		data, err := os.ReadFile(filepath.Join(here, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(aside, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "npm", "--prefix", aside, "ci", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	if err := os.Rename(aside, at); err != nil {
		if _, found := os.Stat(at); found != nil {
			t.Fatal(err)
		}
	}
}
