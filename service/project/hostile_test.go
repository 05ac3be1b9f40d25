package project_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/project/projecttest"
)

var (
	long255 = strings.Repeat("n", 255)
	deep    = strings.Repeat("d/", 31)
)

// refusedPaths name no file.
var refusedPaths = []string{
	"", "/", "//", ".", "..", "./", "../", "./a", "a/.", "a/./b", "../x", "../../x", "a/..", "a/../b", "a/../../b", "a/b/../../../c",
	"/a", "/etc/passwd", "//a", "///", "a/", "a//b", "a///b", "a//", "../../../../../../../../etc/passwd", "..//x", "a/..//..//x",
	"\x00", "a\x00", "a\x00b", "a/\x00/b", "\x01", "a\nb", "a\rb", "a\tb", "a\x1b[2J", "a\x7f", "a\u0080b", "a\u0085", "a\u009f",
	`\`, `a\b`, `..\x`, `a\..\..\b`, `C:\x`, `\\server\share`, "a/\\/b",
	"\xff", "a/\xc0\xaf/b", "\xc0\xae\xc0\xae/x", "a\xed\xa0\x80", "\xf4\x90\x80\x80", "é\xcc",
	strings.Repeat("n", 256), "a/" + strings.Repeat("é", 128), strings.Repeat("a/", 512) + "b", strings.Repeat("x", 4096),
	deep + "e/f", strings.Repeat("a", 255) + "/" + strings.Repeat(strings.Repeat("b", 255)+"/", 4) + "c",
	".svc-tmp-", ".svc-tmp-x", "a/.svc-tmp-01H", ".SVC-TMP-x", ".ſvc-tmp-x", ".svc-tmp-x/y",
}

// literalPaths look like something else and are names.
var literalPaths = []string{
	"%2e%2e", "%2e%2e/x", "%2e%2e%2fetc%2fpasswd", "..%2fx", "%00", "%5c", "...", "....", ".a", "a.", "..a", "a..", "a..b", ". .", " ", " a ", "~", "~root",
	"-rf", "--", "$HOME", "`id`", "$(id)", "a;b", "a|b", "a&b", "a?b=c", "a#b", "*", "[a]", "{a,b}", "'", `"`, "a:b", "C:", "con", "nul.txt", "aux",
	".git", ".git/config", ".ssh/authorized_keys", ".svc-tm", "svc-tmp-x", "é", "e\u0301", "日本/語", "👩‍👩‍👧", "a\u202eb", "\u200b", "\ufeff", "\ufffd",
	long255, deep + "e", "<script>", "' OR 1=1 --", "%", "_", "a%b_c",
}

func TestHostilePathsAreRefused(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	s.Save("site", "a", "a")
	for _, path := range refusedPaths {
		t.Run(fmt.Sprintf("%.40q", path), func(t *testing.T) {
			_, _, err := s.Put("site", path, "x", project.Condition{})
			projecttest.Refused(t, err, fault.InvalidPath)
			_, err = s.Open(t.Context(), projecttest.Shop, "site", path)
			projecttest.Refused(t, err, fault.InvalidPath)
			projecttest.Refused(t, s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", path, project.Condition{}), fault.InvalidPath)
			_, err = s.Move(t.Context(), projecttest.Ada, projecttest.Shop, "site", "a", path, project.Condition{})
			projecttest.Refused(t, err, fault.InvalidPath)
			_, err = s.Move(t.Context(), projecttest.Ada, projecttest.Shop, "site", path, "b", project.Condition{})
			projecttest.Refused(t, err, fault.InvalidPath)
		})
	}
	if files := s.Disk(); len(files) != 1 {
		t.Errorf("on disk: %q", files)
	}
	s.Agree()
}

func TestLiteralPathsAreNames(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	for i, path := range literalPaths {
		slug := "site"
		// Some are folders of others.
		if path == ".git" || path == "%2e%2e" {
			slug = fmt.Sprint("other-", i)
			s.Make(slug)
		}
		s.Save(slug, path, path)
		if got := s.Content(slug, path); got != path {
			t.Errorf("%q: read %q", path, got)
		}
		if text, err := os.ReadFile(s.Folder(slug) + "/" + path); err != nil || string(text) != path {
			t.Errorf("%q: on disk %q, %v", path, text, err)
		}
	}
	s.Agree()
}

// plant puts something into a project's folder behind the service's back.
type plant struct {
	name string
	make func(t *testing.T, folder, outside string)
	path string
}

var plants = []plant{
	{"link to a file outside", link("../../../../../secret"), "link"},
	{"link to a file outside by its full path", func(t *testing.T, folder, outside string) {
		projecttest.Must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(folder, "link")))
	}, "link"},
	{"link to a folder outside", func(t *testing.T, folder, outside string) {
		projecttest.Must(t, os.Symlink(outside, filepath.Join(folder, "link")))
	}, "link/secret"},
	{"new file below a link to a folder outside", func(t *testing.T, folder, outside string) {
		projecttest.Must(t, os.Symlink(outside, filepath.Join(folder, "link")))
	}, "link/new"},
	{"link to a file inside", link("a"), "link"},
	{"link to a folder inside", link("d"), "link/e"},
	{"new file below a link to a folder inside", link("d"), "link/new"},
	{"link to another project", link("../other"), "link/f"},
	{"link to itself", link("link"), "link"},
	{"link to nothing", link("nothing"), "link"},
	{"link to a device", link("/dev/zero"), "link"},
	{"link to /proc", link("/proc/self"), "link/environ"},
	{"link to the root", link("/"), "link/etc/passwd"},
	{"hard link to a file outside", func(t *testing.T, folder, outside string) {
		projecttest.Must(t, os.Link(filepath.Join(outside, "secret"), filepath.Join(folder, "link")))
	}, "link"},
	{"hard link to a file inside", func(t *testing.T, folder, _ string) {
		projecttest.Must(t, os.Link(filepath.Join(folder, "a"), filepath.Join(folder, "link")))
	}, "link"},
	{"pipe", func(t *testing.T, folder, _ string) {
		projecttest.Must(t, syscall.Mkfifo(filepath.Join(folder, "link"), 0o600))
	}, "link"},
	{"socket", func(t *testing.T, folder, _ string) {
		t.Chdir(folder) // its address is short
		l, err := net.Listen("unix", "link")
		projecttest.Must(t, err)
		t.Cleanup(func() { l.Close() })
	}, "link"},
	{"device", func(t *testing.T, folder, _ string) {
		if err := syscall.Mknod(filepath.Join(folder, "link"), syscall.S_IFCHR|0o600, 1<<8|5); err != nil {
			t.Skipf("cannot make a device: %v", err)
		}
	}, "link"},
	{"folder", func(t *testing.T, folder, _ string) {
		projecttest.Must(t, os.Mkdir(filepath.Join(folder, "link"), 0o700))
	}, "link"},
	{"file where a folder is needed", func(t *testing.T, folder, _ string) {
		projecttest.Must(t, os.WriteFile(filepath.Join(folder, "link"), nil, 0o600))
	}, "link/x"},
}

func link(to string) func(t *testing.T, folder, _ string) {
	return func(t *testing.T, folder, _ string) {
		projecttest.Must(t, os.Symlink(to, filepath.Join(folder, "link")))
	}
}

// TestWhatIsNoFileIsNeverOpened plants something where the index knows nothing, and then where it knows a file.
func TestWhatIsNoFileIsNeverOpened(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	for i, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			slug := fmt.Sprint("site-", i)
			folder, outside := plantIn(t, s, slug, p)
			for _, known := range []bool{false, true} {
				if known {
					s.Exec(`INSERT INTO project_files (project, path, bytes, etag, mtime, updated_at, updated_by)
						SELECT id, $2, 6, 'abc', 1, 1, '[]' FROM projects WHERE slug = $1`, slug, p.path)
				}
				besiege(t, s, slug, p.path)
				text, err := os.ReadFile(filepath.Join(outside, "secret"))
				if err != nil || string(text) != "secret" {
					t.Fatalf("outside is %q, %v", text, err)
				}
				entries, err := os.ReadDir(outside)
				if err != nil || len(entries) != 1 {
					t.Fatalf("outside are %v, %v", entries, err)
				}
			}
			_ = folder
		})
	}
}

func plantIn(t *testing.T, s *projecttest.Scene, slug string, p plant) (folder, outside string) {
	t.Helper()
	s.Make(slug)
	if _, err := s.Create(t.Context(), projecttest.Ada, projecttest.Shop, project.Draft{Slug: "other"}); err == nil {
		s.Save("other", "f", "theirs")
	}
	s.Save(slug, "a", "a")
	s.Save(slug, "d/e", "e")
	folder, outside = s.Folder(slug), filepath.Join(filepath.Dir(s.Root), "outside-"+slug)
	projecttest.Must(t, os.Mkdir(outside, 0o700))
	projecttest.Must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	projecttest.Must(t, os.WriteFile(filepath.Join(filepath.Dir(s.Root), "secret"), []byte("secret"), 0o600))
	p.make(t, folder, outside)
	return folder, outside
}

// besiege tries every verb on a path; none may answer with what is there, or take long about it.
func besiege(t *testing.T, s *projecttest.Scene, slug, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if c, err := s.Open(ctx, projecttest.Shop, slug, path); err == nil {
		c.Close()
		t.Error("opened")
	} else if f := fault.From(err); f.Type != fault.ItemNotFound && f.Type != fault.InvalidPath {
		t.Errorf("open: %v", err)
	}
	if _, _, err := s.Put(slug, path, "x", project.Condition{}); err == nil {
		if info, err := os.Lstat(filepath.Join(s.Folder(slug), path)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("written to %v, %v", info, err)
		}
	} else if f := fault.From(err); f.Type != fault.InvalidPath && f.Type != fault.NameTaken {
		t.Errorf("write: %v", err)
	}
	if _, err := s.Move(ctx, projecttest.Ada, projecttest.Shop, slug, path, "moved-away", project.Condition{}); err == nil {
		if info, err := os.Lstat(filepath.Join(s.Folder(slug), "moved-away")); err != nil || !info.Mode().IsRegular() {
			t.Errorf("moved %v, %v", info, err)
		}
		projecttest.Must(t, s.Remove(ctx, projecttest.Ada, projecttest.Shop, slug, "moved-away", project.Condition{}))
	} else if f := fault.From(err); f.Type == fault.Internal {
		t.Errorf("move: %v", err)
	}
	if err := s.Remove(ctx, projecttest.Ada, projecttest.Shop, slug, path, project.Condition{}); err != nil && fault.From(err).Type == fault.Internal {
		t.Errorf("remove: %v", err)
	}
	if _, err := s.Recount(ctx, projecttest.Shop.Scope); err != nil {
		t.Errorf("recount: %v", err)
	}
}

// TestAProjectsFolderIsNoLink plants links above the files: at the project, the business and the person.
func TestAProjectsFolderIsNoLink(t *testing.T) {
	for _, place := range []string{"ada/shop/projects/site", "ada/shop/projects", "ada/shop", "ada"} {
		for _, target := range []string{"inside", "outside"} {
			t.Run(place+" "+target, func(t *testing.T) {
				s := projecttest.One(t, projecttest.Config{})
				s.Make("site")
				to := filepath.Join(filepath.Dir(s.Root), "outside")
				if target == "inside" {
					to = filepath.Join(s.Root, "bo/bakery/projects/bread")
				}
				projecttest.Must(t, os.MkdirAll(to, 0o700))
				if target == "inside" {
					to, _ = filepath.Rel(filepath.Dir(filepath.Join(s.Root, place)), to)
				}
				at := filepath.Join(s.Root, place)
				projecttest.Must(t, os.MkdirAll(filepath.Dir(at), 0o700))
				projecttest.Must(t, os.Symlink(to, at))
				if _, _, err := s.Put("site", "a", "x", project.Condition{}); err == nil {
					t.Error("written through a link")
				}
				if _, err := s.Open(t.Context(), projecttest.Shop, "site", "a"); err == nil {
					t.Error("read through a link")
				}
				for _, file := range s.Disk() {
					if info, err := os.Lstat(filepath.Join(s.Root, file)); err == nil && info.Mode().IsRegular() {
						t.Errorf("made %s", file)
					}
				}
			})
		}
	}
}

// TestRenamesBesideTheServiceNeverLeadOutside swaps a folder for a link as fast as it can while files are written and read.
func TestRenamesBesideTheServiceNeverLeadOutside(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	s.Save("site", "d/f", "inside")
	outside := t.TempDir()
	projecttest.Must(t, os.WriteFile(filepath.Join(outside, "f"), []byte("secret"), 0o600))
	folder := s.Folder("site")
	projecttest.Must(t, os.Symlink(outside, filepath.Join(folder, "evil")))
	ctx, stop := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer stop()
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			_ = os.Rename(filepath.Join(folder, "d"), filepath.Join(folder, "kept"))
			_ = os.Rename(filepath.Join(folder, "evil"), filepath.Join(folder, "d"))
			_ = os.Rename(filepath.Join(folder, "d"), filepath.Join(folder, "evil"))
			_ = os.Rename(filepath.Join(folder, "kept"), filepath.Join(folder, "d"))
		}
	})
	for i := range 4 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if i%2 == 0 {
					_, _, _ = s.Put("site", "d/f", fmt.Sprint("inside ", n), project.Condition{})
					continue
				}
				if got := s.Content("site", "d/f"); strings.Contains(got, "secret") {
					t.Errorf("read %q", got)
				}
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(filepath.Join(outside, "f"))
	if err != nil || string(text) != "secret" {
		t.Errorf("outside is %q, %v", text, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside are %v, %v", entries, err)
	}
}

// TestRacesOverNamesEndInOrder lets many write, move and delete the same few names, some of which are folders of others.
func TestRacesOverNamesEndInOrder(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		names := []string{"a", "a/b", "a/b/c", "d", "d/e"}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := range 12 {
					name, other := names[(i+n)%len(names)], names[(i*3+n*7+1)%len(names)]
					var err error
					switch (i + n) % 4 {
					case 0, 1:
						_, _, err = s.Put("site", name, strings.Repeat("x", i+n), project.Condition{})
					case 2:
						_, err = s.Move(t.Context(), projecttest.Ada, projecttest.Shop, "site", name, other, project.Condition{})
					case 3:
						err = s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", name, project.Condition{})
					}
					if err == nil {
						continue
					}
					if f := fault.From(err); f.Type != fault.ItemNotFound && f.Type != fault.NameTaken && f.Type != fault.Busy {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		}
		all.Wait()
		s.Agree()
		if n := s.Number("SELECT count(*) FROM project_changes"); n != 0 {
			t.Errorf("%d changes are left", n)
		}
	})
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

func TestADeletedProjectTakesNoMoreFiles(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		var all sync.WaitGroup
		var tried atomic.Int32
		for i := range 8 {
			all.Go(func() {
				for n := range 20 {
					_, _, err := s.Put("site", fmt.Sprint("f", i, n), "text", project.Condition{})
					tried.Add(1)
					if err != nil && !fault.Is(err, fault.ItemNotFound) && !fault.Is(err, fault.RuntimeTimeout) {
						t.Error(err)
					}
				}
			})
		}
		eventually(t, "files come", func() bool { return tried.Load() > 8 })
		if err := s.Delete(t.Context(), projecttest.Ada, projecttest.Shop, "site", 0); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		all.Wait()
		s.Clock.Advance(time.Hour)
		if _, err := s.Sweep(t.Context(), s.Clock.Now()); err != nil {
			t.Error(err)
		}
		if got := s.Stored(); got.UsedBytes != 0 || got.ReservedBytes != 0 {
			t.Errorf("stored %+v", got)
		}
		for _, file := range s.Disk() {
			t.Errorf("left behind: %s", file)
		}
	})
}
