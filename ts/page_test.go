package ts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"svc.dev/svc/internal/bundle/bundletest"
)

// pageModules are the modules that docs/typescript.md shows, by the file that their first line names.
func pageModules(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/typescript.md")
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]string{}
	for _, block := range regexp.MustCompile("(?ms)^```ts\n// (src/\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		modules[block[1]] = block[2]
	}
	if blocks := strings.Count(string(page), "\n```ts\n"); len(modules) != blocks || blocks == 0 {
		t.Fatalf("%d of %d blocks name their file", len(modules), blocks)
	}
	return modules
}

// TestThePageShowsAProjectThatRuns runs the modules of docs/typescript.md as they stand.
func TestThePageShowsAProjectThatRuns(t *testing.T) {
	dir := t.TempDir()
	for file, text := range pageModules(t) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, file), text)
	}
	s := playIn(t, bundletest.With(t, dir))
	expect(t, "a workflow", s.ends("restock", `{"item":"lamp","count":2}`), `{"price":500,"place":"shelf 7"}`)
	contains(t, "its error", s.ends("restock", `{"item":"unicorn","count":1}`), "out_of_print")
	contains(t, "its input", s.do("POST", "/api/workflows/restock", `{"item":"lamp","count":0}`, "Content-Type", "application/json"), "400 ", "action_input_validation")
	eventually(t, "the clerk was told", func() bool {
		return strings.Contains(s.get("/api/agents/clerk/back-office", "X-User", "back-office"), "2 lamp")
	})
	expect(t, "a guard", s.get("/api/agents/clerk/ada", "X-User", "bob"), `403 {"error":"Not yours."}`)
	expect(t, "a tool", s.says("clerk", "ada", `use count_items {"item":"lamp"}`), `The tool says {"item":"lamp","count":4}`)
	event := `{"id":"evt_1","item":"lamp","count":3}`
	first := s.do("POST", "/api/channels/supplier/events", event)
	contains(t, "an event", first, "202 ", `{"runId":"run_`)
	expect(t, "the event again", s.do("POST", "/api/channels/supplier/events", event), first)
	id := strings.Split(first, `"`)[3]
	expect(t, "its run", ending(s.await("restock", id)), `{"price":750,"place":"shelf 7"}`)
	contains(t, "the list", s.get("/orders"), "200 ", id)
	contains(t, "the run", s.get("/orders/"+id), "200 ", `"status":"completed"`)
}
