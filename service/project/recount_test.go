package project_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/project/projecttest"
)

func TestRecountRepairsAndReports(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		for _, path := range []string{"same", "changed", "touched", "gone", "d/e"} {
			s.Save("site", path, path)
		}
		s.Agree()
		at := func(path string) string { return filepath.Join(s.Folder("site"), path) }
		projecttest.Must(t, os.WriteFile(at("changed"), []byte("CHANGED!"), 0o600))
		projecttest.Must(t, os.Chtimes(at("touched"), time.Now(), time.Now()))
		projecttest.Must(t, os.Remove(at("gone")))
		projecttest.Must(t, os.WriteFile(at("new"), []byte("new"), 0o600))
		projecttest.Must(t, os.Mkdir(at(".svc-tmp-orphan"), 0o700))
		projecttest.Must(t, os.WriteFile(at(".svc-tmp-orphan/0"), []byte("half"), 0o600))
		projecttest.Must(t, os.Symlink("same", at("link")))
		projecttest.Must(t, os.WriteFile(at("bad\xff"), nil, 0o600))
		s.Exec("UPDATE storage_quotas SET used = used + 7, reserved = 5")
		s.Exec("UPDATE projects SET files = 99")
		d, err := s.Recount(t.Context(), projecttest.Shop.Scope)
		if err != nil {
			t.Fatal(err)
		}
		want := project.Drift{Projects: 1, Files: 6, Adopted: 1, Dropped: 1, Changed: 2, Temps: 1, Strays: d.Strays, UsedBytes: 7, ReservedBytes: 5, Counters: 1}
		if fmt.Sprintf("%+v", d) != fmt.Sprintf("%+v", want) || len(d.Strays) != 2 {
			t.Errorf("got %+v, want %+v", d, want)
		}
		if s.Content("site", "changed") != "CHANGED!" || s.Content("site", "new") != "new" || s.Content("site", "gone") != fault.ItemNotFound {
			t.Error("not repaired")
		}
		projecttest.Must(t, os.Remove(at("link")))
		projecttest.Must(t, os.Remove(at("bad\xff")))
		s.Agree()
		seen := 0
		for scope, err := range s.Quotas.Scopes(t.Context()) {
			projecttest.Must(t, err)
			d, err := s.Recount(t.Context(), scope)
			if seen++; err != nil || !d.None() {
				t.Errorf("%s: drift %+v, %v", scope, d, err)
			}
		}
		if seen != 1 {
			t.Errorf("%d scopes", seen)
		}
	})
}

func TestAFileThatSomebodyElseChangedIsReadAsItIs(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	f := s.Save("site", "a", "before")
	s.Clock.Advance(time.Minute)
	projecttest.Must(t, os.WriteFile(filepath.Join(s.Folder("site"), "a"), []byte("after it"), 0o600))
	if got := s.Content("site", "a"); got != "after it" {
		t.Errorf("read %q", got)
	}
	is, err := s.Files(t.Context(), projecttest.Shop, "site", project.FileQuery{})
	if err != nil || len(is.Items) != 1 || is.Items[0].ETag == f.ETag || is.Items[0].Bytes != 8 {
		t.Errorf("is %+v, %v", is, err)
	}
	s.Clock.Advance(time.Minute)
	projecttest.Must(t, os.Remove(filepath.Join(s.Folder("site"), "a")))
	if got := s.Content("site", "a"); got != fault.ItemNotFound {
		t.Errorf("read %q", got)
	}
	s.Agree()
}

// TestAFileThatWasJustWrittenIsBelievedToBeThere takes a file away that a slow disk may not show yet: the index stays.
func TestAFileThatWasJustWrittenIsBelievedToBeThere(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	s.Save("site", "a", "text")
	at := filepath.Join(s.Folder("site"), "a")
	projecttest.Must(t, os.Rename(at, at+"-hidden"))
	if got := s.Content("site", "a"); got != fault.Busy {
		t.Errorf("read %q", got)
	}
	projecttest.Must(t, os.Rename(at+"-hidden", at))
	if got := s.Content("site", "a"); got != "text" {
		t.Errorf("read %q", got)
	}
	s.Agree()
}
