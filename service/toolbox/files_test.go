package toolbox_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/outward"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/project/projecttest"
	"svc.dev/svc/service/toolbox"
)

func TestFilesAreListedReadWrittenEditedAndFound(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		s.Make("secret")
		b := open(t, s, outward.Config{})
		b.gives("list_files", object{"project": "site"}, "[nothing is there]\n")
		b.gives("write_file", object{"project": "site", "path": "src/main.txt", "content": "one\ntwo\nthree\n"}, "Made src/main.txt, 14 bytes.")
		b.gives("write_file", object{"project": "site", "path": "README.md", "content": "Hello"}, "Made README.md, 5 bytes.")
		b.gives("write_file", object{"project": "site", "path": "README.md", "content": "Hello, two"}, "Replaced README.md, now 10 bytes.")
		b.gives("list_files", object{}, "site\tsite\t2 files\n")
		found, err := s.Files(t.Context(), projecttest.Shop, "site", project.FileQuery{Prefix: "README.md"})
		if err != nil || len(found.Items) != 1 || found.Items[0].Agent != "a" {
			t.Errorf("the file does not name the agent that wrote it: %+v, %v", found.Items, err)
		}
		listed, err := b.use(grant, "list_files", object{"project": "site"})
		if err != nil || !strings.HasPrefix(listed, "README.md\t10 bytes\t") || !strings.HasSuffix(listed, "\nsrc/\n") {
			t.Errorf("listed: %q, %v", listed, err)
		}
		listed, err = b.use(grant, "list_files", object{"project": "site", "recursive": true, "prefix": "src"})
		if err != nil || !strings.HasPrefix(listed, "src/main.txt\t14 bytes\t") {
			t.Errorf("listed: %q, %v", listed, err)
		}
		b.gives("read_file", object{"project": "site", "path": "src/main.txt"}, "     1\tone\n     2\ttwo\n     3\tthree\n")
		b.gives("read_file", object{"project": "site", "path": "src/main.txt", "from": 2, "lines": 1}, "     2\ttwo\n[the file goes on (14 bytes in all): read on with from=3]\n")
		b.gives("read_file", object{"project": "site", "path": "src/main.txt", "from": 9}, "[the file has 3 lines]\n")
		b.gives("edit_file", object{"project": "site", "path": "src/main.txt", "old": "two", "new": "2"}, "Replaced in src/main.txt: 1, the first in line 2.")
		b.gives("search_files", object{"project": "site", "regexp": `^t\w+e$`}, "src/main.txt:3: three\n")
		b.gives("search_files", object{"project": "site", "text": "TWO", "ignoreCase": true}, "README.md:1: Hello, two\n")
		b.gives("search_files", object{"project": "site", "text": "2", "context": 1}, "src/main.txt-1- one\nsrc/main.txt:2: 2\nsrc/main.txt-3- three\n")
		b.gives("search_files", object{"project": "site", "text": "nowhere"}, "[nothing was found]\n")
		if got := b.Content("site", "src/main.txt"); got != "one\n2\nthree\n" {
			t.Errorf("the file is %q", got)
		}
		b.Agree()
	})
}

func TestWhatCannotBeDoneWithAFileIsSaid(t *testing.T) {
	b := files(t)
	b.Save("site", "twice.txt", "a a")
	b.Save("site", "binary", "GIF89a\x00\x01")
	b.Save("site", "latin", "caf\xe9")
	b.Save("site", "large.txt", strings.Repeat("x", 1<<20+1))
	b.Save("site", "empty", "")
	for _, c := range []struct {
		tool  string
		input object
		typ   string
		want  string
	}{
		{"read_file", object{"project": "site", "path": "nothing"}, fault.ItemNotFound, ""},
		{"read_file", object{"project": "site", "path": "binary"}, fault.InvalidRequest, "no text: 8 bytes"},
		{"read_file", object{"project": "site", "path": "latin"}, fault.InvalidRequest, "no text"},
		{"read_file", object{"project": "site"}, "tool_input_validation", "path"},
		{"read_file", object{"project": "site", "path": 7}, "tool_input_validation", "path"},
		{"read_file", object{"project": "other", "path": "a"}, fault.Forbidden, "Those that it was given: site."},
		{"write_file", object{"project": "other", "path": "a", "content": ""}, fault.Forbidden, "site"},
		{"list_files", object{"project": "site", "cursor": "nonsense"}, fault.InvalidRequest, "cursor"},
		{"edit_file", object{"project": "site", "path": "twice.txt", "old": "a", "new": "b"}, fault.InvalidRequest, "2 times"},
		{"edit_file", object{"project": "site", "path": "twice.txt", "old": "c", "new": "b"}, fault.InvalidRequest, "does not stand in the file"},
		{"edit_file", object{"project": "site", "path": "twice.txt", "old": "", "new": "b"}, fault.InvalidRequest, "old is empty"},
		{"edit_file", object{"project": "site", "path": "large.txt", "old": "x", "new": "y", "all": true}, fault.InvalidRequest, "at most"},
		{"edit_file", object{"project": "site", "path": "binary", "old": "G", "new": "y"}, fault.InvalidRequest, "no text"},
		{"edit_file", object{"project": "site", "path": "twice.txt", "old": "a", "new": strings.Repeat("y", 1<<19+1), "all": true}, fault.InvalidRequest, "more than"},
		{"write_file", object{"project": "site", "path": "a", "content": strings.Repeat("x", 1<<20+1)}, fault.InvalidRequest, "At most"},
		{"search_files", object{"project": "site"}, fault.InvalidRequest, "either text or regexp"},
		{"search_files", object{"project": "site", "text": "a", "regexp": "b"}, fault.InvalidRequest, "either text or regexp"},
		{"search_files", object{"project": "site", "regexp": "("}, fault.InvalidRequest, "regexp"},
		{"search_files", object{"project": "site", "regexp": strings.Repeat("(a{1000}){1000}", 9)}, fault.InvalidRequest, "regexp"},
		{"search_files", object{"project": "site", "regexp": strings.Repeat(".{1000}", 100)}, fault.InvalidRequest, "regexp: it repeats too much."},
		{"search_files", object{"project": "site", "text": strings.Repeat("x", 1025)}, fault.InvalidRequest, "At most"},
	} {
		b.refuses(grant, c.tool, c.input, c.typ, c.want)
	}
	b.gives("edit_file", object{"project": "site", "path": "twice.txt", "old": "a", "new": "b", "all": true}, "Replaced in twice.txt: 2, the first in line 1.")
	b.gives("read_file", object{"project": "site", "path": "empty"}, "[the file is empty]\n")
	b.refuses(toolbox.Grant{Tools: all}, "list_files", object{"project": "site"}, fault.Forbidden, "none")
	if none := open(t, nil, outward.Config{}); none != nil {
		none.refuses(grant, "list_files", object{}, fault.Unavailable, "")
		none.refuses(grant, "read_file", object{"project": "site", "path": "a"}, fault.Unavailable, "")
	}
}

// TestAnswersFitAModel reads, lists and searches what is far too long.
func TestAnswersFitAModel(t *testing.T) {
	const most = 34 << 10
	b := files(t)
	b.Save("site", "long.txt", strings.Repeat(strings.Repeat("é", 2000)+"\n", 100))
	b.Save("site", "lines.txt", strings.Repeat("hit\n", 10_000))
	for i := range 150 {
		b.Save("site", fmt.Sprintf("many/%s%d", strings.Repeat("n", 200), i), "hit")
	}
	for _, c := range []struct {
		tool  string
		input object
		hint  string
	}{
		{"read_file", object{"project": "site", "path": "long.txt"}, "read on with from="},
		{"read_file", object{"project": "site", "path": "long.txt", "lines": 100_000}, "read on with from="},
		{"read_file", object{"project": "site", "path": "lines.txt"}, "from=401]"},
		{"read_file", object{"project": "site", "path": "lines.txt", "lines": 1 << 30}, "read on with from="},
		{"list_files", object{"project": "site", "recursive": true}, "longer prefix]"},
		{"search_files", object{"project": "site", "text": "hit", "context": 5}, "more may be found"},
		{"search_files", object{"project": "site", "text": "é"}, "more may be found"},
	} {
		got, err := b.use(grant, c.tool, c.input)
		if err != nil || len(got) > most || !strings.Contains(got, c.hint) {
			t.Errorf("%s %v: %d bytes, %v: …%s", c.tool, c.input, len(got), err, got[max(0, len(got)-100):])
		}
	}
}

// TestNoSpellingOfAPathLeavesItsProject tries each with every tool that takes a path.
func TestNoSpellingOfAPathLeavesItsProject(t *testing.T) {
	b := files(t)
	b.Make("other")
	b.Save("other", "secret.txt", "hidden")
	b.Save("site", "a.txt", "open")
	b.Save("site", "dir/b.txt", "open")
	folder := b.Folder("site")
	for link, to := range map[string]string{"link.txt": "../other/secret.txt", "up": "../other", "abs": "/etc/passwd", "dir/back": "../../other"} {
		if err := os.Symlink(to, folder+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(b.Folder("other")+"/secret.txt", folder+"/hard.txt"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"", "/", ".", "..", "../other/secret.txt", "./../other/secret.txt", "dir/../../other/secret.txt", "dir/../a.txt", "/etc/passwd", "//etc/passwd",
		"a.txt/../../other/secret.txt", `..\other\secret.txt`, "..%2fother%2fsecret.txt", "%2e%2e/other/secret.txt", "..\u2215other\u2215secret.txt", "\u002e\u002e/other/secret.txt",
		"dir//b.txt", "dir/./b.txt", "a.txt/", "a.txt\x00", "a.txt\x00.png", "\xff", ".svc-tmp-x", "link.txt", "up/secret.txt", "abs", "dir/back/secret.txt", "hard.txt",
		strings.Repeat("../", 40) + "etc/passwd", "file:///etc/passwd", "~/x/../../y", "C:/x/../../y",
	} {
		for _, c := range []struct {
			tool  string
			input object
		}{
			{"read_file", object{"project": "site", "path": path}},
			{"edit_file", object{"project": "site", "path": path, "old": "hidden", "new": "seen"}},
		} {
			if got, err := b.use(grant, c.tool, c.input); err == nil {
				t.Errorf("%s %q: %q", c.tool, path, got)
			}
		}
		if got, err := b.use(grant, "search_files", object{"project": "site", "text": "hidden", "prefix": path}); strings.Contains(got, "hidden") {
			t.Errorf("search below %q: %q, %v", path, got, err)
		}
		_, _ = b.use(grant, "write_file", object{"project": "site", "path": path, "content": "overwritten"})
	}
	for _, slug := range []string{"", "other", "../other", "site/../other", "SITE", "site ", "*", "site\x00"} {
		if got, err := b.use(grant, "read_file", object{"project": slug, "path": "secret.txt"}); err == nil {
			t.Errorf("project %q: %q", slug, got)
		}
		if got, err := b.use(toolbox.Grant{Tools: all, Projects: []string{toolbox.All}}, "read_file", object{"project": slug, "path": "secret.txt"}); err == nil && slug != "other" {
			t.Errorf("project %q of all: %q", slug, got)
		}
	}
	if got := b.Content("other", "secret.txt"); got != "hidden" {
		t.Errorf("the other project's file is now %q", got)
	}
}

// TestWritingStaysWithinTheQuota writes and edits up to the limit of a workspace.
func TestWritingStaysWithinTheQuota(t *testing.T) {
	s := projecttest.One(t, projecttest.Config{Limit: 1000})
	s.Make("site")
	b := open(t, s, outward.Config{})
	b.gives("write_file", object{"project": "site", "path": "a", "content": strings.Repeat("x", 900)}, "Made a, 900 bytes.")
	b.refuses(grant, "write_file", object{"project": "site", "path": "b", "content": strings.Repeat("x", 200)}, fault.StorageQuotaExceeded, "")
	b.refuses(grant, "edit_file", object{"project": "site", "path": "a", "old": strings.Repeat("x", 900), "new": strings.Repeat("y", 1100)}, fault.StorageQuotaExceeded, "")
	if got := b.Stored(); got.UsedBytes != 900 {
		t.Errorf("stored: %+v", got)
	}
	b.Agree()
}
