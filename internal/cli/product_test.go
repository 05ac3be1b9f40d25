package cli_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/internal/cli"
	"svc.dev/svc/internal/command/commandtest"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// TestEveryAnswerForMachinesFitsItsSchema asks every verb for JSON, at a real service, on both databases.
func TestEveryAnswerForMachinesFitsItsSchema(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { asksForJSON(t, atService(t)) })
	t.Run("postgres", func(t *testing.T) { asksForJSON(t, atServiceOn(t, sqldbtest.Postgres(t))) })
}

func asksForJSON(t *testing.T, m member) {
	t.Helper()
	m.makeProject(t, "docs")
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d := run(t, m.key, "login", "--key", "-", m.base, "--json").wants(t, 0); !t.Failed() {
		commandtest.Fits(t, schemas, "login", d.out)
	}
	var sent struct{ Text, SubmissionID string }
	answer(t, 0, "agents-send", &sent, "agents", "send", "central", "talk", "n=2")
	if sent.Text != "word0 word1 " {
		t.Errorf("%+v", sent)
	}
	answer(t, 0, "agents-send", nil, "agents", "send", "central", "talk", "n=2", "--no-wait")
	answer(t, 1, "agents-send", nil, "agents", "send", "central", "talk", "fail")
	var begun struct{ RunID string }
	answer(t, 0, "projects-put", nil, "projects", "put", file, "docs/")
	answer(t, 0, "workflows-run", &begun, "workflows", "run", "digest", "--input", `{"project":"docs"}`)
	answer(t, 0, "workflows-run", nil, "workflows", "run", "digest", "--input", `{"project":"docs"}`, "--no-wait")
	answer(t, 1, "workflows-run", nil, "workflows", "run", "digest", "--input", `{"project":"nothing"}`)
	chat := run(t, "n=1\n", "chat", "central", "talk", "--json").wants(t, 0).out
	commandtest.Fits(t, schemas, "chat", chat)
	covered := []string{"login", "agents-send", "projects-put", "workflows-run", "chat"}
	for _, test := range []struct {
		name string
		args []string
	}{
		{"whoami", []string{"whoami"}},
		{"whoami", []string{"whoami", "--profile", "default"}},
		{"profiles-list", []string{"profiles", "list"}},
		{"profiles-use", []string{"profiles", "use", "default"}},
		{"agents-list", []string{"agents", "list"}},
		{"agents-tail", []string{"agents", "tail", "central", "talk", "--after", "-1", "--no-follow"}},
		{"agents-history", []string{"agents", "history", "central", "talk"}},
		{"agents-abort", []string{"agents", "abort", "central", "talk"}},
		{"workflows-list", []string{"workflows", "list"}},
		{"runs-list", []string{"runs", "list"}},
		{"runs-get", []string{"runs", "get", begun.RunID}},
		{"runs-tail", []string{"runs", "tail", begun.RunID}},
		{"runs-cancel", []string{"runs", "cancel", begun.RunID}},
		{"projects-create", []string{"projects", "create", "made", "--name", "日本語 & <b>", "--description", "what it is for"}},
		{"projects-ls", []string{"projects", "ls"}},
		{"projects-ls", []string{"projects", "ls", "docs"}},
		{"projects-get", []string{"projects", "get", "docs/a.txt", filepath.Join(t.TempDir(), "b")}},
		{"projects-sync", []string{"projects", "sync", filepath.Dir(file), "docs/deep/er"}},
		{"projects-ls", []string{"projects", "ls", "docs", "--recursive"}},
		{"projects-sync", []string{"projects", "sync", t.TempDir(), "docs", "--delete", "--dry-run"}},
		{"logout", []string{"logout"}},
	} {
		answer(t, 0, test.name, nil, test.args...)
		covered = append(covered, test.name)
	}
	for name := range commandtest.Answering(newRoot()) {
		if !slices.Contains(covered, name) {
			t.Errorf("nobody has asked svc %s --json", strings.ReplaceAll(name, "-", " "))
		}
	}
}

func TestWorkspaceIsListed(t *testing.T) {
	m := atService(t)
	m.makeProject(t, "docs")
	run(t, "", "agents", "list").wants(t, 0, "AGENT", "central", "built-in")
	run(t, "", "workflows", "list").wants(t, 0, "WORKFLOW", "digest")
	run(t, "", "projects", "ls").wants(t, 0, "PROJECT", "docs", "0 B")
	for range 3 {
		run(t, "", "workflows", "run", "digest", "--input", `{"project":"docs"}`).wants(t, 0)
	}
	if d := run(t, "", "runs", "list", "--limit", "2").wants(t, 0, "digest", "completed", "There are more"); strings.Count(d.out, "run_") != 2 {
		t.Errorf("%s", d.out)
	}
	if d := run(t, "", "runs", "list", "--limit", "0").wants(t, 0); strings.Count(d.out, "run_") != 3 || strings.Contains(d.out, "more") {
		t.Errorf("%s", d.out)
	}
	if d := run(t, "", "runs", "list", "--status", "errored").wants(t, 0); strings.Contains(d.out, "run_") {
		t.Errorf("%s", d.out)
	}
}

func TestRunIsCancelled(t *testing.T) {
	atService(t)
	id := strings.TrimSpace(run(t, "", "workflows", "run", "digest", "--no-wait", "--input", `{"project":"nothing"}`).wants(t, 0).out)
	run(t, "", "runs", "tail", id).wants(t, 1)
	run(t, "", "runs", "cancel", id).wants(t, 0, "It had ended.")
	run(t, "", "runs", "cancel", "run_00000000000000000000000000").wants(t, 1)
}

func TestProjectIsMadeOnce(t *testing.T) {
	atService(t)
	run(t, "", "projects", "create", "docs", "--name", "Our documents").wants(t, 0, "svc projects put FILE docs/")
	run(t, "", "projects", "ls").wants(t, 0, "docs", "Our documents")
	run(t, "x", "projects", "put", "-", "docs/a").wants(t, 0)
	run(t, "", "projects", "create", "docs").wants(t, 1, "taken")
	for _, name := range []string{"Docs", "a b", "docs/a", "-", "", strings.Repeat("a", 65), "../x"} {
		run(t, "", "projects", "create", "--", name).wants(t, 2, "cannot be the name of a project")
	}
	run(t, "", "projects", "create").wants(t, 2, "PROJECT is missing")
}

func TestFilesGoThereAndBack(t *testing.T) {
	m := atService(t)
	m.makeProject(t, "docs")
	folder := t.TempDir()
	name := filepath.Join(folder, "Zoë & 100%.txt")
	if err := os.WriteFile(name, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "", "projects", "put", name, "docs/deep/").wants(t, 0, "docs/deep/Zoë & 100%.txt: 5 B")
	run(t, "second", "projects", "put", "-", "docs/deep/b").wants(t, 0)
	if d := run(t, "", "projects", "get", "docs/deep/Zoë & 100%.txt").wants(t, 0); d.out != "first" || d.err != "" {
		t.Errorf("%q, %q", d.out, d.err)
	}
	to := filepath.Join(folder, "there")
	run(t, "", "projects", "get", "docs/deep/b", to).wants(t, 0)
	if text, err := os.ReadFile(to); err != nil || string(text) != "second" {
		t.Errorf("%q, %v", text, err)
	}
	run(t, "", "projects", "ls", "docs").wants(t, 0, "deep/")
	run(t, "", "projects", "ls", "docs/deep").wants(t, 0, "deep/b", "6 B")
	run(t, "third", "projects", "put", "-", "docs/deep/b", "--new").wants(t, 1, "changed")
	run(t, "third", "projects", "put", "-", "docs/deep/b", "--if-match", `"nothing"`).wants(t, 1, "changed")
	var f struct{ ETag string }
	answer(t, 0, "projects-get", &f, "projects", "get", "docs/deep/b", to)
	run(t, "third", "projects", "put", "-", "docs/deep/b", "--if-match", f.ETag).wants(t, 0)
	run(t, "", "projects", "get", "docs/nothing").wants(t, 1)
	run(t, "", "projects", "get", "docs/nothing", filepath.Join(folder, "none")).wants(t, 1)
	if _, err := os.Stat(filepath.Join(folder, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there was made: %v", err)
	}
	for _, args := range [][]string{{"get", "docs"}, {"get", "Docs/x"}, {"get", "docs/a//b"}, {"get", "docs/../x"}, {"put", "-", "docs"}, {"put", folder, "docs/x"}, {"get", "docs/deep/b", "--json"}} {
		run(t, "", append([]string{"projects"}, args...)...).wants(t, 2)
	}
}

// listed are the paths of all files of a project.
func listed(t *testing.T, project string) (paths []string) {
	t.Helper()
	var all struct{ Items []struct{ Path string } }
	answer(t, 0, "projects-ls", &all, "projects", "ls", project, "--recursive", "--limit", "0")
	for _, f := range all.Items {
		paths = append(paths, f.Path)
	}
	return paths
}

// TestThousandFilesAreMirrored sends a folder, changes it, and sends it again: only what differs goes.
func TestThousandFilesAreMirrored(t *testing.T) {
	m := atService(t)
	m.makeProject(t, "docs")
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		write(fmt.Sprintf("d%d/f%03d.txt", i%10, i), fmt.Sprintf("content %d", i))
	}
	run(t, "", "projects", "sync", folder, "docs", "--dry-run").wants(t, 0, "put d0/f000.txt", "1000 changed", "nothing was done")
	if paths := listed(t, "docs"); len(paths) > 0 {
		t.Fatalf("it is done all the same: %v", paths)
	}
	run(t, "", "projects", "sync", folder, "docs").wants(t, 0, "1000 changed, 0 unchanged")
	if paths := listed(t, "docs"); len(paths) != 1000 {
		t.Errorf("%d files", len(paths))
	}
	d := run(t, "", "projects", "sync", folder, "docs").wants(t, 0, "0 changed, 1000 unchanged")
	if d.out != "" {
		t.Errorf("once more: %s", d.out)
	}
	write("d3/f003.txt", "another")
	write("new.txt", "new")
	if err := errors.Join(os.Rename(filepath.Join(folder, "d7/f007.txt"), filepath.Join(folder, "d7/renamed.txt")), os.Remove(filepath.Join(folder, "d9/f009.txt"))); err != nil {
		t.Fatal(err)
	}
	d = run(t, "", "projects", "sync", folder, "docs", "--delete").wants(t, 0, "4 changed, 997 unchanged")
	lines := strings.Split(strings.TrimSpace(d.out), "\n")
	slices.Sort(lines)
	if want := []string{"delete d9/f009.txt", "move d7/f007.txt -> d7/renamed.txt", "put d3/f003.txt", "put new.txt"}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	if paths := listed(t, "docs"); len(paths) != 1000 || !slices.Contains(paths, "d7/renamed.txt") {
		t.Errorf("%d files", len(paths))
	}
	run(t, "", "projects", "get", "docs/d7/renamed.txt").wants(t, 0, "content 7")
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	write("other.txt", "not sent")
	run(t, "", "projects", "sync", folder, "docs").wants(t, 1, "links", "link")
	if paths := listed(t, "docs"); slices.Contains(paths, "other.txt") || slices.Contains(paths, "link") {
		t.Error("something was sent beside a link")
	}
	run(t, "", "projects", "sync", folder, "docs", "--exclude", "link").wants(t, 0, "put other.txt")
}

func TestMirrorStaysBelowItsPath(t *testing.T) {
	m := atService(t)
	m.makeProject(t, "docs")
	run(t, "x", "projects", "put", "-", "docs/outside").wants(t, 0)
	run(t, "x", "projects", "put", "-", "docs/sitemap").wants(t, 0)
	run(t, "x", "projects", "put", "-", "docs/site/old").wants(t, 0)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "page"), []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "", "projects", "sync", folder, "docs/site", "--delete").wants(t, 0, "put page", "delete old")
	if paths := listed(t, "docs"); !slices.Equal(paths, []string{"outside", "site/page", "sitemap"}) {
		t.Errorf("%v", paths)
	}
	for _, args := range [][]string{{"sync", folder, "nothing"}, {"put", filepath.Join(folder, "page"), "nothing/"}, {"ls", "nothing"}} {
		run(t, "", append([]string{"projects"}, args...)...).wants(t, 1, "nothing: There is no such item", "svc projects create nothing")
	}
	run(t, "", "runs", "list", "--status", "error").wants(t, 2, "is errored meant?")
	run(t, "", "runs", "list", "--limit", "-1").wants(t, 2)
	run(t, "", "projects", "sync", filepath.Join(folder, "none"), "docs").wants(t, 2)
}

func TestKeyIsOnlyGoodForWhatItWasMadeFor(t *testing.T) {
	m := atService(t)
	t.Setenv(cli.KeyVariable, m.makeKey(t, `["agents:read"]`))
	run(t, "", "agents", "list").wants(t, 0)
	run(t, "", "projects", "ls").wants(t, 1, "was not made for this", "projects:read")
	t.Setenv(cli.KeyVariable, "svck_nothing")
	run(t, "", "agents", "list").wants(t, 1, "is not accepted", "svc login")
	t.Setenv(cli.KeyVariable, "")
	run(t, "", "agents", "list").wants(t, 1, "wants a key")
}
