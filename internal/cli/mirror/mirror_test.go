package mirror_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"svc.dev/svc/internal/cli/mirror"
)

// project is a service's side as its contract has it: etags decide, a file is no folder, and a path that is taken stays.
type project struct {
	mu    sync.Mutex
	files map[string]string
	calls []string
	lose  bool // every answer to a put is lost, and it is sent again
}

func etag(content string) string {
	sum := sha256.Sum256([]byte(content))
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func (p *project) List(context.Context) (all []mirror.File, err error) {
	for path, content := range p.files {
		all = append(all, mirror.File{Path: path, Bytes: int64(len(content)), ETag: etag(content)})
	}
	return all, nil
}

func (p *project) check(path, match string) error {
	content, there := p.files[path]
	now := ""
	if there {
		now = etag(content)
	}
	if now != match {
		return mirror.Conflict{Now: now}
	}
	return nil
}

func (p *project) free(path string) error {
	for other := range p.files {
		if strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			return fmt.Errorf("%s is in the way of %s", other, path)
		}
	}
	return nil
}

func (p *project) Put(_ context.Context, path string, size int64, open func() (io.ReadCloser, error), match string) error {
	body, err := open()
	if err != nil {
		return err
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil || int64(len(content)) != size {
		return fmt.Errorf("%d bytes of %d: %w", len(content), size, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, "put "+path)
	if err := errors.Join(p.check(path, match), p.free(path)); err != nil {
		return err
	}
	p.files[path] = string(content)
	if p.lose {
		return p.check(path, match)
	}
	return nil
}

func (p *project) Delete(_ context.Context, path, match string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, "delete "+path)
	if err := p.check(path, match); err != nil {
		return err
	}
	delete(p.files, path)
	return nil
}

func (p *project) Move(_ context.Context, from, to, match string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, "move "+from+" "+to)
	content := p.files[from]
	if err := errors.Join(p.check(from, match), p.check(to, ""), p.free(to)); err != nil {
		return err
	}
	delete(p.files, from)
	p.files[to] = content
	return nil
}

// folder makes a folder of files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range files {
		name := filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// mirrored plans and performs, and returns what could not be done.
func mirrored(t *testing.T, root string, p *project, remove bool, exclude ...string) (acts []string, failures map[string]error) {
	t.Helper()
	f, err := mirror.OpenFolder(root, exclude)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	local, err := f.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there = slices.DeleteFunc(there, func(one mirror.File) bool { return f.Excluded(one.Path) })
	plan, err := mirror.Plan(local, there, remove)
	if err != nil {
		t.Fatal(err)
	}
	failures = map[string]error{}
	failed := mirror.Perform(t.Context(), f, p, plan, 8, func(a mirror.Act, err error) {
		if err != nil {
			failures[a.Path] = err
		}
	})
	if failed != len(failures) {
		t.Errorf("%d failed, told are %v", failed, failures)
	}
	for _, a := range plan {
		acts = append(acts, a.String())
	}
	return acts, failures
}

func TestOnlyWhatDiffersIsDone(t *testing.T) {
	for name, test := range map[string]struct {
		local, remote, after map[string]string
		remove               bool
		acts                 []string
	}{
		"nothing to do": {local: map[string]string{"a": "1"}, remote: map[string]string{"a": "1"}, after: map[string]string{"a": "1"}, remove: true},
		"new, changed, kept": {
			local: map[string]string{"a": "1", "b/c": "2", "d": "33"}, remote: map[string]string{"a": "1", "d": "3", "e": "5"},
			after: map[string]string{"a": "1", "b/c": "2", "d": "33", "e": "5"}, acts: []string{"put b/c", "put d"},
		},
		"same size, other content": {local: map[string]string{"a": "1"}, remote: map[string]string{"a": "2"}, after: map[string]string{"a": "1"}, acts: []string{"put a"}},
		"deleted":                  {local: map[string]string{"a": "1"}, remote: map[string]string{"a": "1", "b": "2"}, after: map[string]string{"a": "1"}, remove: true, acts: []string{"delete b"}},
		"renamed": {
			local: map[string]string{"new/name": "same"}, remote: map[string]string{"old": "same"}, after: map[string]string{"new/name": "same"},
			remove: true, acts: []string{"move old -> new/name"},
		},
		"renamed, and nothing may be deleted": {
			local: map[string]string{"new": "same"}, remote: map[string]string{"old": "same"}, after: map[string]string{"new": "same", "old": "same"},
			acts: []string{"put new"},
		},
		"two alike, one renamed": {
			local: map[string]string{"x": "same", "y": "same"}, remote: map[string]string{"a": "same", "y": "same"},
			after: map[string]string{"x": "same", "y": "same"}, remove: true, acts: []string{"move a -> x"},
		},
		"a file becomes a folder": {
			local: map[string]string{"a/b": "same"}, remote: map[string]string{"a": "same"}, after: map[string]string{"a/b": "same"},
			remove: true, acts: []string{"delete a", "put a/b"},
		},
		"a folder becomes a file": {
			local: map[string]string{"a": "1"}, remote: map[string]string{"a/b": "2", "a/c/d": "3"}, after: map[string]string{"a": "1"},
			remove: true, acts: []string{"delete a/b", "delete a/c/d", "put a"},
		},
		"empty files are not moved": {
			local: map[string]string{"b": ""}, remote: map[string]string{"a": ""}, after: map[string]string{"b": ""}, remove: true, acts: []string{"put b", "delete a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &project{files: test.remote}
			acts, failures := mirrored(t, folder(t, test.local), p, test.remove)
			if len(failures) > 0 || !slices.Equal(acts, test.acts) || !maps.Equal(p.files, test.after) {
				t.Errorf("%v, %v: %v; want %v: %v", acts, failures, p.files, test.acts, test.after)
			}
			if again, _ := mirrored(t, folder(t, test.local), p, test.remove); len(again) > 0 {
				t.Errorf("once more: %v", again)
			}
		})
	}
}

// TestAnyFolderIsMirrored makes folders and projects at random: with deletion they are alike afterwards.
func TestAnyFolderIsMirrored(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	tree := func() map[string]string {
		files := map[string]string{}
		for range random.IntN(12) {
			path := string(rune('a' + random.IntN(4)))
			for range random.IntN(3) {
				path += "/" + string(rune('a'+random.IntN(4)))
			}
			if (&project{files: files}).free(path) == nil {
				files[path] = strings.Repeat("x", random.IntN(3)) + string(rune('a'+random.IntN(2)))
			}
		}
		return files
	}
	for range 300 {
		local, p := tree(), &project{files: tree()}
		before := maps.Clone(p.files)
		if _, failures := mirrored(t, folder(t, local), p, true); len(failures) > 0 || !maps.Equal(p.files, local) {
			t.Fatalf("%v becomes %v, not %v: %v", before, p.files, local, failures)
		}
	}
}

func TestOthersAreFaster(t *testing.T) {
	p := &project{files: map[string]string{"a": "1", "b": "1", "c": "1"}}
	root := folder(t, map[string]string{"a": "2", "d": "2"})
	f, err := mirror.OpenFolder(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	local, _ := f.Files(t.Context())
	there, _ := p.List(t.Context())
	plan, err := mirror.Plan(local, there, true)
	if err != nil {
		t.Fatal(err)
	}
	p.files["a"], p.files["b"], p.files["d"] = "theirs", "theirs", "theirs"
	delete(p.files, "c")
	conflicts := map[string]bool{}
	failed := mirror.Perform(t.Context(), f, p, plan, 2, func(a mirror.Act, err error) { conflicts[a.Path] = errors.Is(err, mirror.ErrConflict) })
	if failed != 3 || !conflicts["a"] || !conflicts["b"] || !conflicts["d"] || conflicts["c"] {
		t.Errorf("%d failed: %v", failed, conflicts)
	}
	if p.files["a"] != "theirs" || p.files["b"] != "theirs" || p.files["d"] != "theirs" {
		t.Errorf("what they wrote is gone: %v", p.files)
	}
}

// TestLostAnswerIsNoConflict has a service whose answers are lost: what is sent again finds its own work.
func TestLostAnswerIsNoConflict(t *testing.T) {
	p := &project{files: map[string]string{"a": "1"}, lose: true}
	if _, failures := mirrored(t, folder(t, map[string]string{"a": "2", "b": "3"}), p, true); len(failures) > 0 {
		t.Errorf("taken for conflicts: %v", failures)
	}
}

func TestLinksAndPipesAreRefused(t *testing.T) {
	outside := folder(t, map[string]string{"secret": "s"})
	for name, make := range map[string]func(string) error{
		"a link out":       func(at string) error { return os.Symlink(filepath.Join(outside, "secret"), at) },
		"a link in":        func(at string) error { return os.Symlink("a", at) },
		"a link to a file": func(at string) error { return os.Symlink(outside, at) },
		"a broken link":    func(at string) error { return os.Symlink("nothing", at) },
		"a pipe":           func(at string) error { return syscall.Mkfifo(at, 0o600) },
	} {
		root := folder(t, map[string]string{"a": "1", "below/b": "2"})
		if err := make(filepath.Join(root, "below", "odd")); err != nil {
			t.Fatal(err)
		}
		f, err := mirror.OpenFolder(root, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Files(t.Context())
		f.Close()
		if odd, ok := errors.AsType[*mirror.OddError](err); !ok || !slices.Equal(odd.Paths, []string{"below/odd"}) {
			t.Errorf("%s: %v", name, err)
		}
		p := &project{files: map[string]string{}}
		if acts, _ := mirrored(t, root, p, false, "odd"); !slices.Equal(acts, []string{"put a", "put below/b"}) {
			t.Errorf("%s, excluded: %v", name, acts)
		}
	}
}

// TestLinkThatAppearsLaterLeadsNowhere swaps a file for a link between the plan and its performance.
func TestLinkThatAppearsLaterLeadsNowhere(t *testing.T) {
	outside := folder(t, map[string]string{"secret": "s"})
	root := folder(t, map[string]string{"a": "1"})
	f, err := mirror.OpenFolder(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	local, _ := f.Files(t.Context())
	plan, _ := mirror.Plan(local, nil, false)
	if err := errors.Join(os.Remove(filepath.Join(root, "a")), os.Symlink(filepath.Join(outside, "secret"), filepath.Join(root, "a"))); err != nil {
		t.Fatal(err)
	}
	p := &project{files: map[string]string{}}
	if failed := mirror.Perform(t.Context(), f, p, plan, 1, func(mirror.Act, error) {}); failed != 1 || len(p.files) > 0 {
		t.Errorf("%d failed, sent is %v", failed, p.files)
	}
}

func TestExcludedIsLeftAloneOnBothSides(t *testing.T) {
	p := &project{files: map[string]string{".git/x": "1", "b.tmp": "1", "gone": "1"}}
	acts, _ := mirrored(t, folder(t, map[string]string{".git/y": "1", "a": "22", "deep/c.tmp": "1", "out/x/y": "1"}), p, true, ".git", "*.tmp", "out/x")
	if !slices.Equal(acts, []string{"put a", "delete gone"}) {
		t.Errorf("%v", acts)
	}
	if _, err := mirror.OpenFolder(t.TempDir(), []string{"[a"}); err == nil {
		t.Error("a pattern that is none is taken")
	}
}

func TestNothingMoreBeginsAfterAnInterrupt(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("f%02d", i)] = "x"
	}
	f, err := mirror.OpenFolder(folder(t, files), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	local, _ := f.Files(t.Context())
	plan, _ := mirror.Plan(local, nil, false)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, told := &project{files: map[string]string{}}, 0
	mirror.Perform(ctx, f, p, plan, 2, func(mirror.Act, error) {
		if told++; told == 10 {
			cancel()
		}
	})
	if told < 10 || told > 12 || len(p.calls) > 12 {
		t.Errorf("%d told, %d sent", told, len(p.calls))
	}
}

func FuzzPlan(f *testing.F) {
	f.Add("a b/c", "a d", true)
	f.Fuzz(func(t *testing.T, locals, remotes string, remove bool) {
		var local []mirror.Local
		seen := map[string]bool{}
		for _, path := range strings.Fields(locals) {
			if !seen[path] {
				local = append(local, mirror.Local{Path: path, Bytes: 1, Sum: func() (string, error) { return `"x"`, nil }})
			}
			seen[path] = true
		}
		var remote []mirror.File
		for _, path := range strings.Fields(remotes) {
			remote = append(remote, mirror.File{Path: path, Bytes: 1, ETag: `"x"`})
		}
		acts, err := mirror.Plan(local, remote, remove)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range acts {
			if a.Kind == mirror.Delete && (!remove || seen[a.Path]) {
				t.Fatalf("%q, %q: %v", locals, remotes, acts)
			}
		}
	})
}
