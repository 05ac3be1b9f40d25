package dev

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheLookoutSeesWhatABuildIsMadeOf changes files of a project, beside it, and of no interest.
func TestTheLookoutSeesWhatABuildIsMadeOf(t *testing.T) {
	root := t.TempDir()
	l := &lookout{folder: filepath.Join(root, "shop"), ignore: filepath.Join(root, "shop", "data")}
	text := "x"
	save := func(name string) {
		t.Helper()
		text += "x" // another size, however coarse the times are
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]bool{
		"shop/src/app.ts": true, "shop/package.json": true, "lib/shared.ts": true, "shop/src/.made/x.ts": true, "shop/node_modules/.package-lock.json": true,
		"lib/other.ts": false, "shop/.svc/dev.db": false, "shop/src/.app.ts.swp": false, "shop/data/dev.db": false, "shop/node_modules/hono/index.js": false,
	}
	for name := range all {
		save(name)
	}
	sources := []string{filepath.Join(root, "lib", "shared.ts"), filepath.Join(root, "shop", "src", ".made", "x.ts"), filepath.Join(root, "shop", "src", "app.ts")}
	if !l.also(sources) || l.also(sources) {
		t.Error("what is watched besides is not news once")
	}
	l.look()
	for name, matters := range all {
		save(name)
		if l.changed() {
			t.Errorf("%s is built before it has come to a rest", name)
		}
		if l.changed() != matters {
			t.Errorf("a change of %s is seen: %v", name, !matters)
		}
		if l.changed() {
			t.Errorf("%s is built twice", name)
		}
	}
	if err := os.Remove(filepath.Join(root, "shop", "package.json")); err != nil {
		t.Fatal(err)
	}
	if l.changed() || !l.changed() {
		t.Error("a file that is gone is not seen")
	}
}

// TestFilesThatNeverRestAreBuiltAllTheSame has a file grow with every look.
func TestFilesThatNeverRestAreBuiltAllTheSame(t *testing.T) {
	l := &lookout{folder: t.TempDir()}
	l.look()
	log, err := os.Create(filepath.Join(l.folder, "growing.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	grow := func() {
		if _, err := log.WriteString("x"); err != nil {
			t.Fatal(err)
		}
	}
	grow()
	if l.changed() {
		t.Error("it is built at once")
	}
	l.since = l.since.Add(-unrest)
	grow()
	if !l.changed() {
		t.Error("it is never built")
	}
}
