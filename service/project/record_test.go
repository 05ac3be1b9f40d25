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
)

func TestAProjectIsMadeListedChangedAndDeleted(t *testing.T) {
	each(t, project.Config{}, func(t *testing.T, s *scene) {
		made, err := s.Create(t.Context(), ada, shop, project.Draft{Slug: "site", Name: " The Site ", Description: "a\nb"})
		if err != nil || made.Name != "The Site" || made.Version != 1 || made.Slug != "site" || made.Scope != shop.Scope || made.Workspace != shop.Workspace {
			t.Fatalf("got %+v, %v", made, err)
		}
		name := "Other"
		changed, err := s.Patch(t.Context(), ada, shop, "site", 1, project.Edit{Name: &name})
		if err != nil || changed.Version != 2 || changed.Name != name || changed.Description != "a\nb" {
			t.Errorf("got %+v, %v", changed, err)
		}
		if got, err := s.Get(t.Context(), shop, "site"); err != nil || got != changed {
			t.Errorf("got %+v, %v", got, err)
		}
		_, err = s.Patch(t.Context(), ada, shop, "site", 1, project.Edit{Name: &name})
		if v := refused(t, err, fault.VersionConflict).Meta["version"]; v != int64(2) {
			t.Errorf("version %v", v)
		}
		if same, err := s.Patch(t.Context(), ada, shop, "site", 2, project.Edit{Name: &name}); err != nil || same.Version != 2 {
			t.Errorf("a change of nothing: %+v, %v", same, err)
		}
		s.write("site", "a/b", "text")
		refused(t, s.Delete(t.Context(), ada, shop, "site", 1), fault.VersionConflict)
		if err := s.Delete(t.Context(), ada, shop, "site", 2); err != nil {
			t.Fatal(err)
		}
		refused(t, s.Delete(t.Context(), ada, shop, "site", 0), project.ItemNotFound)
		if files := s.disk(); len(files) != 0 {
			t.Errorf("left behind: %v", files)
		}
		if got := s.storage(); got.UsedBytes != 0 {
			t.Errorf("stored %+v", got)
		}
		s.create("site")
		if got := s.content("site", "a/b"); got != project.ItemNotFound {
			t.Errorf("the new project has the old one's file: %q", got)
		}
		s.agree()
	})
}

func TestANameIsTakenOnceInAWorkspace(t *testing.T) {
	each(t, project.Config{}, func(t *testing.T, s *scene) {
		results := make(chan error)
		for range 8 {
			go func() {
				_, err := s.Create(t.Context(), ada, shop, project.Draft{Slug: "site"})
				results <- err
			}()
		}
		made := 0
		for range 8 {
			if err := <-results; err == nil {
				made++
			} else {
				refused(t, err, project.NameTaken)
			}
		}
		if made != 1 {
			t.Errorf("made %d", made)
		}
		if _, err := s.Create(t.Context(), ada, bakery, project.Draft{Slug: "site"}); err != nil {
			t.Error(err)
		}
	})
}

func TestWrongDraftsAreRefused(t *testing.T) {
	s := one(t, project.Config{})
	for _, d := range []project.Draft{
		{}, {Slug: "-a"}, {Slug: "A"}, {Slug: "a--b"}, {Slug: "new"}, {Slug: "con"}, {Slug: "../x"}, {Slug: strings.Repeat("a", 65)},
		{Slug: "a", Name: strings.Repeat("n", 81)}, {Slug: "a", Name: "x\x00"}, {Slug: "a", Name: "x\u202ey"}, {Slug: "a", Name: "\xff"},
		{Slug: "a", Description: strings.Repeat("d", 2001)}, {Slug: "a", Description: "\x00"}, {Name: "???"},
	} {
		_, err := s.Create(t.Context(), ada, shop, d)
		refused(t, err, "invalid_request")
	}
	for _, scope := range []string{"", "users/ada", "users/../x", "users/Ada/shop", "root", "users/ada/shop/x"} {
		_, err := s.Create(t.Context(), ada, project.Owner{Workspace: "w", Scope: scope}, project.Draft{Slug: "a"})
		refused(t, err, project.InvalidScope)
	}
	if made, err := s.Create(t.Context(), ada, shop, project.Draft{Name: "My Größe Site!"}); err != nil || made.Slug != "my-gr-e-site" {
		t.Errorf("got %+v, %v", made, err)
	}
}

func TestProjectsAreListedNewestFirst(t *testing.T) {
	each(t, project.Config{}, func(t *testing.T, s *scene) {
		var want []string
		for i := range 7 {
			slug := fmt.Sprint("p", i)
			s.create(slug)
			if i%2 == 0 {
				s.clock.Advance(time.Second)
			}
			want = append([]string{slug}, want...)
		}
		if _, err := s.Create(t.Context(), ada, bakery, project.Draft{Slug: "bread", Name: "100% Rye_"}); err != nil {
			t.Fatal(err)
		}
		list := func(q listing.Query) (all []string) {
			for {
				page, err := s.List(t.Context(), shop, q)
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
		_, err := s.List(t.Context(), shop, listing.Query{Cursor: "x"})
		refused(t, err, "invalid_request")
		_, err = s.List(t.Context(), shop, listing.Query{Q: "\x00"})
		refused(t, err, "invalid_request")
	})
}

func TestHasProjectAsksInTheCallersTransaction(t *testing.T) {
	s := one(t, project.Config{})
	s.create("site")
	for slug, want := range map[string]bool{"site": true, "other": false, "../x": false, "": false} {
		err := s.db.Read(t.Context(), func(tx *sqldb.Tx) error {
			got, err := project.Has(tx, shop.Workspace, slug)
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
	c := project.Config{Removed: func(_ *sqldb.Tx, workspace, slug string) error {
		gone = append(gone, workspace+" "+slug)
		return nil
	}}
	s := one(t, c)
	s.create("site")
	if err := s.Delete(t.Context(), ada, shop, "site", 0); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(gone, []string{shop.Workspace + " site"}) {
		t.Errorf("got %v", gone)
	}
}

func TestEraseLeavesNothing(t *testing.T) {
	each(t, project.Config{}, func(t *testing.T, s *scene) {
		for _, slug := range []string{"one", "two"} {
			s.create(slug)
			s.write(slug, "a/b/c", "text")
		}
		if _, err := s.Create(t.Context(), ada, bakery, project.Draft{Slug: "bread"}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Erase(t.Context(), shop); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.number("SELECT (SELECT count(*) FROM project_files) + (SELECT count(*) FROM storage_quotas) + (SELECT count(*) FROM projects)"); n != 1 {
			t.Errorf("%d rows", n)
		}
		if _, err := os.Stat(s.folder("one")); !errors.Is(err, os.ErrNotExist) {
			t.Error("the folder stays")
		}
		if _, err := os.Stat(s.Root + "/ada/shop"); !errors.Is(err, os.ErrNotExist) {
			t.Error("the workspace's folder stays")
		}
	})
}

func TestADeletionThatDiedIsSwept(t *testing.T) {
	each(t, project.Config{}, func(t *testing.T, s *scene) {
		for i, stage := range []string{"marked", "discarded"} {
			slug := fmt.Sprint("site-", i)
			s.create(slug)
			s.write(slug, "a", "text")
			func() {
				defer func() { _ = recover() }()
				project.OnStep(s.Projects, func(at string) {
					if at == stage {
						panic("died")
					}
				})
				_ = s.Delete(t.Context(), ada, shop, slug, 0)
			}()
			project.OnStep(s.Projects, func(string) {})
			_, err := s.Get(t.Context(), shop, slug)
			refused(t, err, project.ItemNotFound)
			_, err = s.Create(t.Context(), ada, shop, project.Draft{Slug: slug})
			refused(t, err, project.NameTaken)
			s.clock.Advance(time.Minute)
			if n, err := s.Sweep(t.Context(), s.clock.Now()); n != 1 || err != nil {
				t.Errorf("%s: swept %d, %v", stage, n, err)
			}
			s.create(slug)
			if got := s.content(slug, "a"); got != project.ItemNotFound {
				t.Errorf("%s: read %q", stage, got)
			}
			if got := s.storage(); got.UsedBytes != 0 {
				t.Errorf("%s: stored %+v", stage, got)
			}
		}
		if _, err := s.Sweep(t.Context(), time.Now().Add(24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if files := s.disk(); len(files) != 0 {
			t.Errorf("left behind: %v", files)
		}
		s.agree()
	})
}
