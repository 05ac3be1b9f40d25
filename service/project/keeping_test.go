package project_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/project/projecttest"
)

// stored is the index as it is now.
func stored(t *testing.T, s *projecttest.Scene) (all []project.Stored) {
	t.Helper()
	for last := (project.Stored{}); ; last = all[len(all)-1] {
		some, err := sqldb.Read(t.Context(), s.DB, func(tx *sqldb.Tx) ([]project.Stored, error) { return project.StoredAfter(tx, last, 2) })
		if err != nil {
			t.Fatal(err)
		}
		if len(some) == 0 {
			return all
		}
		all = append(all, some...)
	}
}

// TestAKeptFileIsFoundWhereverItWent changes files in every way after the index was read, and finds what it named.
func TestAKeptFileIsFoundWhereverItWent(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		s.Make("gone")
		for _, name := range []string{"stays", "replaced", "replaced twice", "deleted", "moved", "moved and replaced", "moved and deleted", "in/a/folder"} {
			s.Save("site", name, "old "+name)
		}
		s.Save("gone", "with its project", "old with its project")
		s.Save("gone", "moved before", "old moved before")
		release, err := s.Keep()
		if err != nil {
			t.Fatal(err)
		}
		named := stored(t, s)
		if len(named) != 10 {
			t.Fatalf("%d files are named", len(named))
		}

		for _, name := range []string{"replaced", "replaced twice", "replaced twice", "in/a/folder"} {
			s.Save("site", name, "new")
		}
		remove := func(name string) {
			t.Helper()
			if err := s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", name, project.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		move := func(from, to string) {
			t.Helper()
			if _, err := s.Move(t.Context(), projecttest.Ada, projecttest.Shop, "site", from, to, project.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		remove("deleted")
		move("moved", "a/b/moved")
		move("moved and replaced", "c")
		s.Save("site", "c", "new")
		move("moved and deleted", "d")
		remove("d")
		if _, err := s.Move(t.Context(), projecttest.Ada, projecttest.Shop, "gone", "moved before", "elsewhere", project.Condition{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), projecttest.Ada, projecttest.Shop, "gone", 0); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Sweep(t.Context(), s.Now()); err != nil {
			t.Fatal(err)
		}
		for _, one := range named {
			file, as, err := one.Find(t.Context(), s.Projects)
			if err != nil {
				t.Errorf("%s: %v", one.Path, err)
				continue
			}
			text, err := io.ReadAll(file)
			file.Close()
			if err != nil || as != project.AsNamed || string(text) != "old "+one.Path {
				t.Errorf("%s is %s, %q, %v", one.Path, as, text, err)
			}
		}
		if got := s.Content("site", "replaced"); got != "new" {
			t.Errorf("readers see %q", got)
		}
		if got := s.Content("site", "a/b/moved"); got != "old moved" {
			t.Errorf("readers see %q", got)
		}
		release()
		if _, err := os.Lstat(filepath.Join(s.Root, ".kept")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what was kept stays: %v", err)
		}
		s.Agree()
	})
}

// TestAChangeUnderWayIsFoundAsItWasAnnounced begins to keep when changes have touched the disk, and are not in the index yet.
func TestAChangeUnderWayIsFoundAsItWasAnnounced(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		for name, test := range map[string]struct {
			do   func(path string) error
			as   string
			text string // empty: there is none
		}{
			"written": {func(path string) error { _, _, err := s.Put("site", path, "new", project.Condition{}); return err }, project.AsAnnounced, "new"},
			"deleted": {func(path string) error {
				return s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", path, project.Condition{})
			}, project.AsAnnounced, ""},
			"moved": {func(path string) error {
				_, err := s.Move(t.Context(), projecttest.Ada, projecttest.Shop, "site", path, "to/"+path, project.Condition{})
				return err
			}, project.AsAnnounced, "old"},
		} {
			s.Save("site", name, "old")
			performed, on, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			s.Step = func(stage string) {
				if stage == "performed" {
					close(performed)
					<-on
				}
			}
			go func() { ended <- test.do(name) }()
			<-performed
			s.Step = func(string) {}
			release, err := s.Keep()
			if err != nil {
				t.Fatal(err)
			}
			named := slices.DeleteFunc(stored(t, s), func(one project.Stored) bool { return one.Path != name })
			if len(named) != 1 {
				t.Fatalf("%s: %d are named", name, len(named))
			}
			look := func() {
				t.Helper()
				file, as, err := named[0].Find(t.Context(), s.Projects)
				var text []byte
				if file != nil {
					text, _ = io.ReadAll(file)
					file.Close()
				}
				if err != nil || as != test.as || string(text) != test.text {
					t.Errorf("%s is %s, %q, %v", name, as, text, err)
				}
			}
			if look(); name != "moved" {
				close(on)
				projecttest.Must(t, <-ended)
				s.Save("site", name, "newer") // it is kept by now
				look()
				release()
				continue
			}
			close(on)
			projecttest.Must(t, <-ended)
			release()
		}
		s.Agree()
	})
}
