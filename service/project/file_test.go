package project_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/project/projecttest"
)

func TestAFileIsWrittenReadReplacedAndDeleted(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		f, created, err := s.Put("site", "docs/read me.md", "hello", project.Condition{})
		if err != nil || !created || f.Bytes != 5 || f.UpdatedBy != projecttest.Ada || f.Kind != project.KindFile {
			t.Fatalf("got %+v, %v, %v", f, created, err)
		}
		if got := s.Content("site", "docs/read me.md"); got != "hello" {
			t.Errorf("read %q", got)
		}
		again, created, err := s.Put("site", "docs/read me.md", "hello, world", project.Condition{Match: f.ETag})
		if err != nil || created || again.ETag == f.ETag {
			t.Errorf("got %+v, %v, %v", again, created, err)
		}
		if got := s.Stored(); got.UsedBytes != 12 || got.ReservedBytes != 0 || got.ByKind.Projects != 12 {
			t.Errorf("stored %+v", got)
		}
		p, err := s.Get(t.Context(), projecttest.Shop, "site")
		if err != nil || p.Bytes != 12 || p.FileCount != 1 {
			t.Errorf("project %+v, %v", p, err)
		}
		if err := s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", "docs/read me.md", project.Condition{Match: again.ETag}); err != nil {
			t.Fatal(err)
		}
		if got := s.Content("site", "docs/read me.md"); got != fault.ItemNotFound {
			t.Errorf("read %q", got)
		}
		if _, err := os.Stat(filepath.Join(s.Folder("site"), "docs")); !os.IsNotExist(err) {
			t.Errorf("the empty folder stays: %v", err)
		}
		if got := s.Stored(); got.UsedBytes != 0 || got.ReservedBytes != 0 {
			t.Errorf("stored %+v", got)
		}
		s.Agree()
	})
}

func TestFilesLieWhereTheContractSays(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	s.Save("site", "a/b.txt", "x")
	text, err := os.ReadFile(filepath.Join(s.Root, "ada/shop/projects/site/a/b.txt"))
	if err != nil || string(text) != "x" {
		t.Errorf("read %q, %v", text, err)
	}
	staff := project.Owner{Workspace: "wsp_01ADMIN", Scope: "admin"}
	if _, err := s.Create(t.Context(), projecttest.Ada, staff, project.Draft{Slug: "site"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Write(t.Context(), projecttest.Ada, staff, "site", "c", project.Upload{Body: strings.NewReader("y"), Size: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.Root, "admin/projects/site/c")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(s.Folder("site"), "a/b.txt")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
}

func TestNobodySeesAnotherWorkspacesProject(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	f := s.Save("site", "a", "x")
	for _, stranger := range []project.Owner{projecttest.Bakery, {Workspace: projecttest.Shop.Workspace, Scope: projecttest.Bakery.Scope}, {Workspace: projecttest.Bakery.Workspace, Scope: projecttest.Shop.Scope}} {
		_, err := s.Open(t.Context(), stranger, "site", "a")
		projecttest.Refused(t, err, fault.ItemNotFound)
		_, _, err = s.Write(t.Context(), projecttest.Ada, stranger, "site", "a", project.Upload{Body: strings.NewReader("y"), Size: 1})
		projecttest.Refused(t, err, fault.ItemNotFound)
		projecttest.Refused(t, s.Remove(t.Context(), projecttest.Ada, stranger, "site", "a", project.Condition{Match: f.ETag}), fault.ItemNotFound)
		projecttest.Refused(t, s.Delete(t.Context(), projecttest.Ada, stranger, "site", 0), fault.ItemNotFound)
		_, err = s.Files(t.Context(), stranger, "site", project.FileQuery{})
		projecttest.Refused(t, err, fault.ItemNotFound)
		if page, err := s.List(t.Context(), stranger, listing.Query{}); err != nil || len(page.Items) != 0 {
			t.Errorf("listed %+v, %v", page, err)
		}
	}
}

func TestConditionsAreKept(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	f := s.Save("site", "a", "one")
	other := `"` + strings.Repeat("0", 64) + `"`
	for _, c := range []struct {
		path string
		when project.Condition
		ok   bool
	}{
		{"a", project.Condition{Match: f.ETag}, true},
		{"a", project.Condition{Match: "*"}, true},
		{"a", project.Condition{Match: other + ", " + f.ETag}, true},
		{"a", project.Condition{NoneMatch: other}, true},
		{"a", project.Condition{Match: other}, false},
		{"a", project.Condition{Match: "W/" + f.ETag}, false},
		{"a", project.Condition{Match: strings.Trim(f.ETag, `"`)}, false},
		{"a", project.Condition{Match: "garbage"}, false},
		{"a", project.Condition{NoneMatch: "*"}, false},
		{"a", project.Condition{NoneMatch: "W/" + f.ETag}, false},
		{"b", project.Condition{NoneMatch: "*"}, true},
		{"c", project.Condition{Match: "*"}, false},
		{"c", project.Condition{Match: f.ETag}, false},
	} {
		_, _, err := s.Put("site", c.path, "one", c.when)
		if c.ok && err != nil {
			t.Errorf("%s %+v: %v", c.path, c.when, err)
		}
		if !c.ok {
			meta := projecttest.Refused(t, err, fault.VersionConflict).Meta["version"]
			if want := map[string]string{"a": f.ETag, "c": ""}[c.path]; meta != want {
				t.Errorf("%s %+v: version %v", c.path, c.when, meta)
			}
		}
	}
	projecttest.Refused(t, s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", "a", project.Condition{Match: other}), fault.VersionConflict)
	_, err := s.Move(t.Context(), projecttest.Ada, projecttest.Shop, "site", "a", "z", project.Condition{Match: other})
	projecttest.Refused(t, err, fault.VersionConflict)
}

func TestOneOfManyWhoReplaceTheSameVersionSucceeds(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		f := s.Save("site", "a", "zero")
		results := make(chan error)
		for i := range 8 {
			go func() {
				_, _, err := s.Put("site", "a", fmt.Sprint("writer ", i), project.Condition{Match: f.ETag})
				results <- err
			}()
		}
		won := 0
		for range 8 {
			if err := <-results; err == nil {
				won++
			} else {
				projecttest.Refused(t, err, fault.VersionConflict)
			}
		}
		if won != 1 {
			t.Errorf("%d won", won)
		}
		s.Agree()
	})
}

func TestAFileIsServedInRanges(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	f := s.Save("site", "a.txt", "0123456789")
	handler := func(w http.ResponseWriter, r *http.Request) {
		c, err := s.Open(r.Context(), projecttest.Shop, "site", "a.txt")
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		w.Header().Set("ETag", c.ETag)
		http.ServeContent(w, r, "", c.UpdatedAt, c)
	}
	for _, c := range []struct {
		header, value string
		status        int
		body          string
	}{
		{"Range", "bytes=2-4", 206, "234"}, {"Range", "bytes=-3", 206, "789"}, {"Range", "bytes=50-", 416, "invalid range: failed to overlap\n"},
		{"If-None-Match", f.ETag, 304, ""}, {"If-Match", `"x"`, 412, ""}, {"Accept", "*/*", 200, "0123456789"},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		r.Header.Set(c.header, c.value)
		handler(w, r)
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s %s: %d %q", c.header, c.value, w.Code, w.Body)
		}
	}
}

func TestAnOpenFileStaysWhatItWas(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	s.Save("site", "a", "first")
	c, err := s.Open(t.Context(), projecttest.Shop, "site", "a")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.Save("site", "a", "other")
	if err := s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", "a", project.Condition{}); err != nil {
		t.Fatal(err)
	}
	var text [5]byte
	if _, err := c.Read(text[:]); err != nil || string(text[:]) != "first" {
		t.Errorf("read %q, %v", text, err)
	}
}

func TestFilesAreListedByPath(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		paths := []string{"B", "a", "a-b", "b.txt", "d/1", "d/2/x", "d/2/y", "d/3", "d-e", "é/ö", "ü", "z/%", "z/_"}
		for _, path := range paths {
			s.Save("site", path, path)
		}
		slices.Sort(paths)
		for _, c := range []struct {
			q    project.FileQuery
			want []string
		}{
			{project.FileQuery{}, paths},
			{project.FileQuery{Prefix: "d"}, []string{"d-e", "d/1", "d/2/x", "d/2/y", "d/3"}},
			{project.FileQuery{Prefix: "d/2"}, []string{"d/2/x", "d/2/y"}},
			{project.FileQuery{Prefix: "z/%"}, []string{"z/%"}},
			{project.FileQuery{Prefix: "é"}, []string{"é/ö"}},
			{project.FileQuery{Prefix: "nothing"}, nil},
			{project.FileQuery{Folded: true}, []string{"B", "a", "a-b", "b.txt", "d-e", "d/", "z/", "é/", "ü"}},
			{project.FileQuery{Folded: true, Prefix: "d/"}, []string{"d/1", "d/2/", "d/3"}},
			{project.FileQuery{Folded: true, Prefix: "d"}, []string{"d-e", "d/"}},
		} {
			for _, limit := range []int{0, 1, 2, 3} {
				c.q.Limit = limit
				if got := s.Walk(c.q); !slices.Equal(got, c.want) {
					t.Errorf("%+v: got %q", c.q, got)
				}
			}
		}
		_, err := s.Files(t.Context(), projecttest.Shop, "site", project.FileQuery{Query: listing.Query{Cursor: "x"}})
		projecttest.Refused(t, err, "invalid_request")
	})
}

func TestAFileMoves(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		f := s.Save("site", "a/b", "text")
		s.Save("site", "taken", "x")
		bo := audit.Actor{Kind: audit.Account, ID: "acc_01BO", Username: "bo"}
		moved, err := s.Move(t.Context(), bo, projecttest.Shop, "site", "a/b", "c/d/e", project.Condition{Match: f.ETag})
		if err != nil || moved.Path != "c/d/e" || moved.ETag != f.ETag || moved.Bytes != 4 || moved.UpdatedBy != bo {
			t.Errorf("got %+v, %v", moved, err)
		}
		if is, err := s.Files(t.Context(), projecttest.Shop, "site", project.FileQuery{Prefix: "c"}); err != nil || !slices.Equal(is.Items, []project.File{moved}) {
			t.Errorf("is %+v, %v, want %+v", is, err, moved)
		}
		if s.Content("site", "c/d/e") != "text" || s.Content("site", "a/b") != fault.ItemNotFound {
			t.Error("the file did not move")
		}
		for _, to := range []string{"taken", "taken/x", "c", "c/d", "c/d/e/f", "c/d/e"} {
			_, err := s.Move(t.Context(), projecttest.Ada, projecttest.Shop, "site", "c/d/e", to, project.Condition{})
			projecttest.Refused(t, err, fault.NameTaken)
		}
		_, err = s.Move(t.Context(), projecttest.Ada, projecttest.Shop, "site", "a/b", "y", project.Condition{})
		projecttest.Refused(t, err, fault.ItemNotFound)
		if got := s.Stored(); got.UsedBytes != 5 {
			t.Errorf("stored %+v", got)
		}
		s.Agree()
	})
}

func TestAFileCannotBeAFolderToo(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	s.Save("site", "a/b", "x")
	for _, path := range []string{"a", "a/b/c", "a/b/c/d"} {
		_, _, err := s.Put("site", path, "y", project.Condition{})
		projecttest.Refused(t, err, fault.NameTaken)
	}
	if got := s.Content("site", "a"); got != fault.ItemNotFound {
		t.Errorf("a folder was read: %q", got)
	}
	projecttest.Refused(t, s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", "a", project.Condition{}), fault.ItemNotFound)
	s.Agree()
}

func TestEveryActIsAudited(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	s.Save("site", "a", "x")
	if _, err := s.Move(t.Context(), projecttest.Ada, projecttest.Shop, "site", "a", "b", project.Condition{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", "b", project.Condition{}); err != nil {
		t.Fatal(err)
	}
	name := "Site"
	if _, err := s.Patch(t.Context(), projecttest.Ada, projecttest.Shop, "site", 1, project.Edit{Name: &name}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), projecttest.Ada, projecttest.Shop, "site", 2); err != nil {
		t.Fatal(err)
	}
	page, err := s.Audit.Page(t.Context(), audit.Query{Scope: projecttest.Shop.Scope})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range page.Items {
		if e.Actor != projecttest.Ada {
			t.Errorf("%s by %+v", e.Action, e.Actor)
		}
		got = append(got, e.Action)
	}
	want := []string{"project.deleted", "project.changed", "file.deleted", "file.moved", "file.written", "project.created"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
