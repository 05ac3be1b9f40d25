package project_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/project/projecttest"
)

func TestAProjectIsMadeListedChangedAndDeleted(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		made, err := s.Create(t.Context(), projecttest.Ada, projecttest.Shop, project.Draft{Slug: "site", Name: " The Site ", Description: "a\nb"})
		if err != nil || made.Name != "The Site" || made.Version != 1 || made.Slug != "site" || made.Scope != projecttest.Shop.Scope || made.Workspace != projecttest.Shop.Workspace {
			t.Fatalf("got %+v, %v", made, err)
		}
		name := "Other"
		changed, err := s.Patch(t.Context(), projecttest.Ada, projecttest.Shop, "site", 1, project.Edit{Name: &name})
		if err != nil || changed.Version != 2 || changed.Name != name || changed.Description != "a\nb" {
			t.Errorf("got %+v, %v", changed, err)
		}
		if got, err := s.Get(t.Context(), projecttest.Shop, "site"); err != nil || got != changed {
			t.Errorf("got %+v, %v", got, err)
		}
		_, err = s.Patch(t.Context(), projecttest.Ada, projecttest.Shop, "site", 1, project.Edit{Name: &name})
		if v := projecttest.Refused(t, err, fault.VersionConflict).Meta["version"]; v != int64(2) {
			t.Errorf("version %v", v)
		}
		if same, err := s.Patch(t.Context(), projecttest.Ada, projecttest.Shop, "site", 2, project.Edit{Name: &name}); err != nil || same.Version != 2 {
			t.Errorf("a change of nothing: %+v, %v", same, err)
		}
		s.Save("site", "a/b", "text")
		projecttest.Refused(t, s.Delete(t.Context(), projecttest.Ada, projecttest.Shop, "site", 1), fault.VersionConflict)
		if err := s.Delete(t.Context(), projecttest.Ada, projecttest.Shop, "site", 2); err != nil {
			t.Fatal(err)
		}
		projecttest.Refused(t, s.Delete(t.Context(), projecttest.Ada, projecttest.Shop, "site", 0), fault.ItemNotFound)
		if files := s.Disk(); len(files) != 0 {
			t.Errorf("left behind: %v", files)
		}
		if got := s.Stored(); got.UsedBytes != 0 {
			t.Errorf("stored %+v", got)
		}
		s.Make("site")
		if got := s.Content("site", "a/b"); got != fault.ItemNotFound {
			t.Errorf("the new project has the old one's file: %q", got)
		}
		s.Agree()
	})
}

func TestANameIsTakenOnceInAWorkspace(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		results := make(chan error)
		for range 8 {
			go func() {
				_, err := s.Create(t.Context(), projecttest.Ada, projecttest.Shop, project.Draft{Slug: "site"})
				results <- err
			}()
		}
		made := 0
		for range 8 {
			if err := <-results; err == nil {
				made++
			} else {
				projecttest.Refused(t, err, fault.NameTaken)
			}
		}
		if made != 1 {
			t.Errorf("made %d", made)
		}
		if _, err := s.Create(t.Context(), projecttest.Ada, projecttest.Bakery, project.Draft{Slug: "site"}); err != nil {
			t.Error(err)
		}
	})
}

func TestWrongDraftsAreRefused(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	for _, d := range []project.Draft{
		{}, {Slug: "-a"}, {Slug: "A"}, {Slug: "a--b"}, {Slug: "new"}, {Slug: "con"}, {Slug: "../x"}, {Slug: strings.Repeat("a", 65)},
		{Slug: "a", Name: strings.Repeat("n", 81)}, {Slug: "a", Name: "x\x00"}, {Slug: "a", Name: "x\u202ey"}, {Slug: "a", Name: "\xff"},
		{Slug: "a", Description: strings.Repeat("d", 2001)}, {Slug: "a", Description: "\x00"}, {Name: "???"},
	} {
		_, err := s.Create(t.Context(), projecttest.Ada, projecttest.Shop, d)
		projecttest.Refused(t, err, "invalid_request")
	}
	for _, address := range []string{"", "users/ada", "users/../x", "users/Ada/shop", "root", "users/ada/shop/x"} {
		_, err := s.Create(t.Context(), projecttest.Ada, project.Owner{Workspace: "w", Scope: address}, project.Draft{Slug: "a"})
		projecttest.Refused(t, err, fault.InvalidScope)
	}
	if made, err := s.Create(t.Context(), projecttest.Ada, projecttest.Shop, project.Draft{Name: "My Größe Site!"}); err != nil || made.Slug != "my-gr-e-site" {
		t.Errorf("got %+v, %v", made, err)
	}
}

func TestProjectsAreListedNewestFirst(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		var want []string
		for i := range 7 {
			slug := fmt.Sprint("p", i)
			s.Make(slug)
			if i%2 == 0 {
				s.Clock.Advance(time.Second)
			}
			want = append([]string{slug}, want...)
		}
		if _, err := s.Create(t.Context(), projecttest.Ada, projecttest.Bakery, project.Draft{Slug: "bread", Name: "100% Rye_"}); err != nil {
			t.Fatal(err)
		}
		list := func(q listing.Query) (all []string) {
			for {
				page, err := s.List(t.Context(), projecttest.Shop, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range page.Items {
					all = append(all, p.Slug)
				}
				if q.Cursor = page.Next; q.Cursor == "" {
					return all
				}
			}
		}
		for _, limit := range []int{0, 1, 2, 3, 7, 1000} {
			got := list(listing.Query{Limit: limit})
			if slices.Sort(got); len(got) != 7 || got[0] != "p0" {
				t.Errorf("limit %d: %v", limit, got)
			}
		}
		if got := list(listing.Query{})[0]; got != "p6" && got != "p5" {
			t.Errorf("newest is %s, of %v", got, want)
		}
		if got := list(listing.Query{Q: "P3"}); !slices.Equal(got, []string{"p3"}) {
			t.Errorf("q: %v", got)
		}
		for q, n := range map[string]int{"%": 1, "_": 1, "rye": 1, `\`: 0, "100% rye": 1, "x": 0} {
			page, err := s.All(t.Context(), listing.Query{Q: q})
			if err != nil || len(page.Items) != n {
				t.Errorf("%q: %d, %v", q, len(page.Items), err)
			}
		}
		_, err := s.List(t.Context(), projecttest.Shop, listing.Query{Cursor: "x"})
		projecttest.Refused(t, err, "invalid_request")
		_, err = s.List(t.Context(), projecttest.Shop, listing.Query{Q: "\x00"})
		projecttest.Refused(t, err, "invalid_request")
	})
}

func TestHasProjectAsksInTheCallersTransaction(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	for slug, want := range map[string]bool{"site": true, "other": false, "../x": false, "": false} {
		err := s.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
			got, err := project.Has(tx, projecttest.Shop.Workspace, slug)
			if got != want {
				t.Errorf("%q: %v", slug, got)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOthersForgetADeletedProjectWithItsName(t *testing.T) {
	var gone []string
	c := projecttest.Config{Removed: func(_ *sqldb.Tx, workspace, slug string) error {
		gone = append(gone, workspace+" "+slug)
		return nil
	}}
	s := projecttest.One(t, c)
	s.Make("site")
	if err := s.Delete(t.Context(), projecttest.Ada, projecttest.Shop, "site", 0); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(gone, []string{projecttest.Shop.Workspace + " site"}) {
		t.Errorf("got %v", gone)
	}
}

func TestEraseLeavesNothing(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		for _, slug := range []string{"one", "two"} {
			s.Make(slug)
			s.Save(slug, "a/b/c", "text")
		}
		if _, err := s.Create(t.Context(), projecttest.Ada, projecttest.Bakery, project.Draft{Slug: "bread"}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Erase(t.Context(), projecttest.Shop); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.Number("SELECT (SELECT count(*) FROM project_files) + (SELECT count(*) FROM storage_quotas) + (SELECT count(*) FROM projects)"); n != 1 {
			t.Errorf("%d rows", n)
		}
		if _, err := os.Stat(s.Folder("one")); !errors.Is(err, os.ErrNotExist) {
			t.Error("the folder stays")
		}
		if _, err := os.Stat(s.Root + "/ada/shop"); !errors.Is(err, os.ErrNotExist) {
			t.Error("the workspace's folder stays")
		}
	})
}

func TestADeletionThatDiedIsSwept(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		for i, stage := range []string{"marked", "discarded"} {
			slug := fmt.Sprint("site-", i)
			s.Make(slug)
			s.Save(slug, "a", "text")
			func() {
				defer func() { _ = recover() }()
				s.Step = func(at string) {
					if at == stage {
						panic("died")
					}
				}
				_ = s.Delete(t.Context(), projecttest.Ada, projecttest.Shop, slug, 0)
			}()
			s.Step = func(string) {}
			_, err := s.Get(t.Context(), projecttest.Shop, slug)
			projecttest.Refused(t, err, fault.ItemNotFound)
			_, err = s.Create(t.Context(), projecttest.Ada, projecttest.Shop, project.Draft{Slug: slug})
			projecttest.Refused(t, err, fault.NameTaken)
			s.Clock.Advance(time.Minute)
			if n, err := s.Sweep(t.Context(), s.Clock.Now()); n != 1 || err != nil {
				t.Errorf("%s: swept %d, %v", stage, n, err)
			}
			s.Make(slug)
			if got := s.Content(slug, "a"); got != fault.ItemNotFound {
				t.Errorf("%s: read %q", stage, got)
			}
			if got := s.Stored(); got.UsedBytes != 0 {
				t.Errorf("%s: stored %+v", stage, got)
			}
		}
		if _, err := s.Sweep(t.Context(), time.Now().Add(24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if files := s.Disk(); len(files) != 0 {
			t.Errorf("left behind: %v", files)
		}
		s.Agree()
	})
}
