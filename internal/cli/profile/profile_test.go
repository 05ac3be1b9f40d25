package profile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"svc.dev/svc/internal/cli/profile"
)

var ada = profile.Profile{BaseURL: "https://agents.example.com/v1/ada/personal", Key: "svck_ada", Scopes: []string{"agents:read"}, Own: true}

func TestNobodyElseCanReadAProfile(t *testing.T) {
	// Whatever a person's shell lets others see of new files.
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	s := profile.Store{Folder: filepath.Join(t.TempDir(), "config", "svc")}
	if _, err := s.Save("work", ada); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(s.Folder, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.Folder, "profiles", "work.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load("work"); err == nil || !strings.Contains(err.Error(), "chmod 600") || strings.Contains(err.Error(), ada.Key) {
		t.Errorf("a file that others can read: %v", err)
	}
	// Whoever ends its key must know it.
	if replaced, err := s.Save("work", ada); err != nil || replaced.Key != ada.Key {
		t.Errorf("replaced is %+v, %v", replaced, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if was, err := s.Remove("work"); err != nil || was.Key != ada.Key {
		t.Errorf("removed is %+v, %v", was, err)
	}
	if err := os.WriteFile(file, []byte("no profile"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Remove("work"); err == nil || !strings.Contains(err.Error(), "no key is revoked") {
		t.Errorf("a file that is no profile: %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestSavedProfileIsTheCurrentOne(t *testing.T) {
	s := profile.Store{Folder: t.TempDir()}
	if s.Current() != profile.Default {
		t.Errorf("without any, the current one is %q", s.Current())
	}
	for _, name := range []string{"work", "home"} {
		if _, err := s.Save(name, ada); err != nil || s.Current() != name {
			t.Errorf("%s is saved, and the current one is %q: %v", name, s.Current(), err)
		}
	}
	if err := s.Use("work"); err != nil || s.Current() != "work" {
		t.Errorf("use: %q, %v", s.Current(), err)
	}
	if err := s.Use("nothing"); !errors.Is(err, profile.ErrNone) {
		t.Errorf("use of none: %v", err)
	}
	if names, err := s.List(); err != nil || !slices.Equal(names, []string{"home", "work"}) {
		t.Errorf("listed are %v, %v", names, err)
	}
	if was, err := s.Remove("work"); err != nil || was.Key != ada.Key || s.Current() != profile.Default {
		t.Errorf("remove: %+v, %v; the current one is %q", was, err, s.Current())
	}
	if _, err := s.Load("work"); !errors.Is(err, profile.ErrNone) {
		t.Errorf("a removed one: %v", err)
	}
	if _, err := s.Remove("work"); !errors.Is(err, profile.ErrNone) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestTwoLoginsLoseNoKey saves one profile from many sides: each key but the last was handed to somebody who can end it.
func TestTwoLoginsLoseNoKey(t *testing.T) {
	s := profile.Store{Folder: t.TempDir()}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		keys  = map[string]int{}
	)
	for i := range 50 {
		group.Go(func() {
			p := ada
			p.Key = fmt.Sprintf("svck_%d", i)
			was, err := s.Save("work", p)
			if err != nil {
				t.Errorf("save: %v", err)
			}
			// A reader never finds half of one.
			if _, err := s.Load("work"); err != nil {
				t.Errorf("load: %v", err)
			}
			mu.Lock()
			keys[was.Key]++
			mu.Unlock()
		})
	}
	group.Wait()
	last, err := s.Load("work")
	if err != nil {
		t.Fatal(err)
	}
	keys[last.Key]++
	for i := range 50 {
		if key := fmt.Sprintf("svck_%d", i); keys[key] != 1 {
			t.Errorf("%s is known %d times", key, keys[key])
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.Folder, "profiles", ".new-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestNamesStayInTheFolder(t *testing.T) {
	s := profile.Store{Folder: t.TempDir()}
	for _, name := range []string{"", "..", "../x", "a/b", "A", ".hidden", "x.json", strings.Repeat("a", 65), "a\x00"} {
		if _, err := s.Save(name, ada); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"baseUrl":"https://x/v1/a/b","key":"svck_1"}`))
	f.Add([]byte(`{"key":"a\nb"}`))
	f.Add([]byte(`{"baseUrl":"x","expiresAt":"2026-01-01T00:00:00Z"}{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := profile.Parse(text)
		if err == nil && (p.BaseURL == "" || strings.ContainsAny(p.Key, "\r\n ")) {
			t.Fatalf("%q is read as %+v", text, p)
		}
	})
}
