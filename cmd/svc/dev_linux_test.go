package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"svc.dev/svc/internal/bundle/bundletest"
)

// TestDevAtATerminal works on a project as a person does: it is served, changed, broken, mended and left.
func TestDevAtATerminal(t *testing.T) {
	dir := bundletest.Project(t, "-- svc-env.d.ts --\nold\n-- src/app.ts --\nexport default { fetch: () => new Response(\"one\") };\n")
	save := func(text string) { writeFile(t, filepath.Join(dir, "src", "app.ts"), text) }
	s := sitDown(t, nil, "dev", dir, "--listen", "127.0.0.1:0")
	s.awaits(t, 0, "build 1 serves: ")
	at := regexp.MustCompile(`project  (http://\S+)`).FindStringSubmatch(s.seen())
	if at == nil || !strings.Contains(s.seen(), "page     "+at[1]+"/_svc") {
		t.Fatalf("where is it? %q", s.seen())
	}
	says := func(want string) {
		t.Helper()
		if got := send(t, "GET", at[1]+"/", http.Header{}, ""); got.status != 200 || got.body != want {
			t.Errorf("it answers %d %s, and not %s", got.status, got.body, want)
		}
	}
	says("one")
	save("export default { fetch: () => new Response(\"two\") };\n")
	s.awaits(t, 0, "build 2 serves: ")
	says("two")
	save("export default { fetch: () => new Response(\"three) };\n")
	s.awaits(t, 0, "The last good build goes on serving.")
	for _, frame := range []string{"build 3 failed", "Unterminated string literal", "src/app.ts:1:", `Response("three)`} {
		if !strings.Contains(s.seen(), frame) {
			t.Errorf("%q is not shown: %q", frame, s.seen())
		}
	}
	says("two")
	save("export default { fetch: () => new Response(\"four\") };\n")
	s.awaits(t, 0, "build 4 serves: ")
	says("four")
	s.types(t, ctrlC)
	s.exits(t, 0)
	if types, err := os.ReadFile(filepath.Join(dir, "svc-env.d.ts")); err != nil || !strings.Contains(string(types), "@svc/runtime") {
		t.Errorf("the types were not renewed: %v", err)
	}
	if ignored, err := os.ReadFile(filepath.Join(dir, ".svc", ".gitignore")); err != nil || string(ignored) != "*\n" {
		t.Errorf("a repository would keep the data: %q, %v", ignored, err)
	}
}
