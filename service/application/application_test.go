package application_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"svc.dev/svc/service/application"
)

// release is a build whose one script has that text.
func release(text string) fstest.MapFS {
	index := `<!doctype html><meta name="svc-place" content="" /><script>go()</script><script type="module" src="/assets/main-` + text + `.js"></script>`
	return fstest.MapFS{
		"index.html":                    {Data: []byte(index)},
		"assets/main-" + text + ".js":   {Data: []byte(strings.Repeat(text, 500))},
		"assets/style-" + text + ".css": {Data: []byte("a{}")},
		"assets/secret.txt":             {Data: []byte("no page loads this")},
	}
}

func open(t *testing.T, built fstest.MapFS, folder string) *application.Application {
	t.Helper()
	a, err := application.Open(application.Config{Built: built, Folder: folder, Addresses: map[string]string{"agents": `http://agents.test/"><b>`}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestDocumentSaysWhereItIsServed(t *testing.T) {
	a := open(t, release("one"), "")
	body, _ := a.Document("agents")
	found := regexp.MustCompile(`name="svc-place" content="([^"]*)"`).FindSubmatch(body)
	if found == nil {
		t.Fatalf("no place in %s", body)
	}
	var told map[string]string
	if err := json.Unmarshal([]byte(html.UnescapeString(string(found[1]))), &told); err != nil {
		t.Fatal(err)
	}
	if told["surface"] != "agents" || told["agents"] != `http://agents.test/"><b>` || told["build"] != a.Build() || a.Build() == "" {
		t.Errorf("told %v, build %q", told, a.Build())
	}
}

func TestPolicyLetsOnlyItsOwnScriptsRun(t *testing.T) {
	_, policy := open(t, release("one"), "").Document("agents")
	for _, want := range []string{"default-src 'none'", "script-src 'self' 'sha256-5KYv+PUboo5h+0+YAtGRPbwv5d/QxzHslP4YGnUaxRw='", "style-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("%q is not in %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is loose: %s", policy)
	}
}

func TestWithoutABuildTheDocumentSaysHowToBuild(t *testing.T) {
	a := open(t, fstest.MapFS{".keep": {}}, t.TempDir())
	body, policy := a.Document("agents")
	if a.Built() || !strings.Contains(string(body), "scripts/web") || strings.Contains(policy, "script-src") {
		t.Errorf("built %v, %s, %s", a.Built(), policy, body)
	}
}

func TestAssetsAreSmallAndOfTheirType(t *testing.T) {
	a := open(t, release("one"), "")
	file, ok := a.Asset("main-one.js")
	if !ok || file.ContentType != "text/javascript; charset=utf-8" || len(file.Gzip) == 0 || len(file.Gzip) >= len(file.Body) {
		t.Fatalf("%v, %d of %d bytes, %s", ok, len(file.Gzip), len(file.Body), file.ContentType)
	}
	r, err := gzip.NewReader(bytes.NewReader(file.Gzip))
	if err != nil {
		t.Fatal(err)
	}
	if whole, err := io.ReadAll(r); err != nil || !bytes.Equal(whole, file.Body) {
		t.Errorf("%d bytes come out, %v", len(whole), err)
	}
	for _, name := range []string{"secret.txt", "../index.html", "..", "", "assets/main-one.js", "main-two.js", `..\index.html`} {
		if _, ok := a.Asset(name); ok {
			t.Errorf("%q is served", name)
		}
	}
}

// TestTwoReleasesAreKept starts three releases after each other, and the second once more.
func TestTwoReleasesAreKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "assets")
	for i, step := range []struct {
		start       string
		kept, gone  []string
		inTheFolder int
	}{
		{"one", []string{"one"}, []string{"two"}, 1},
		{"two", []string{"one", "two"}, nil, 2},
		{"three", []string{"two", "three"}, []string{"one"}, 2},
		{"two", []string{"two", "three"}, []string{"one"}, 2},
		{"one", []string{"one", "two"}, []string{"three"}, 2},
	} {
		older(t, folder)
		a := open(t, release(step.start), folder)
		for _, text := range step.kept {
			if file, ok := a.Asset("main-" + text + ".js"); !ok || string(file.Body) != strings.Repeat(text, 500) {
				t.Errorf("start %d, of %s: %s is gone", i, step.start, text)
			}
		}
		for _, text := range step.gone {
			if _, ok := a.Asset("main-" + text + ".js"); ok {
				t.Errorf("start %d, of %s: %s is still served", i, step.start, text)
			}
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) != step.inTheFolder {
			t.Errorf("start %d: %d folders, %v", i, len(entries), err)
		}
	}
}

// older moves what is kept into the past: file systems tell times apart by so much only.
func older(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		before := info.ModTime().Add(-time.Minute)
		if err := os.Chtimes(filepath.Join(folder, entry.Name()), before, before); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACrashWhileCopyingLeavesNothingHalf(t *testing.T) {
	folder := t.TempDir()
	left := filepath.Join(folder, open(t, release("one"), "").Build()+".part")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "main-one.js"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, release("one"), folder)
	file, ok := open(t, release("two"), folder).Asset("main-one.js")
	if !ok || len(file.Body) != 1500 {
		t.Errorf("%v, %d bytes", ok, len(file.Body))
	}
}

func TestAFolderThatCannotBeWrittenIsNoReasonToFail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := open(t, release("one"), filepath.Join(file, "assets")).Asset("main-one.js"); !ok {
		t.Error("the release itself is not served")
	}
}
