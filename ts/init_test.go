package ts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/ts"
)

func TestAFolderBecomesAProjectThatRuns(t *testing.T) {
	dir := t.TempDir()
	files, err := ts.Init(dir)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "files", strings.Join(files, " "), "package.json src/workflows/hello.ts svc-env.d.ts tsconfig.json")
	s := playIn(t, bundletest.With(t, dir))
	expect(t, "its workflow", s.ends("hello", `{"name":"Ada"}`), `{"greeting":"Hello, Ada!"}`)
}

// TestWhatIsThereStays lets only the types be written again.
func TestWhatIsThereStays(t *testing.T) {
	dir := bundletest.Project(t, "-- package.json --\nmine\n-- tsconfig.json --\nmine\n-- svc-env.d.ts --\nold\n-- src/app.ts --\nmine\n")
	files, err := ts.Init(dir)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "files", strings.Join(files, " "), "svc-env.d.ts")
	for name, is := range map[string]bool{"package.json": true, "tsconfig.json": true, "src/app.ts": true, "svc-env.d.ts": false} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || (string(data) == "mine\n") != is {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
}

// TestModulesInTheRootStay has no folder made that would hide them.
func TestModulesInTheRootStay(t *testing.T) {
	for _, archive := range []string{"-- workflows/a.ts --\n", "-- agents/later.md --\n", "-- app.mjs --\n", "-- app.ts --\n-- app.js --\n"} {
		files, err := ts.Init(bundletest.Project(t, archive))
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "files beside "+archive, strings.Join(files, " "), "package.json svc-env.d.ts tsconfig.json")
	}
}

// TestTheExampleIsTyped holds the example, what svc init writes and the modules of docs/typescript.md to the types of all, and has tsc refuse
// what does not fit them. It is asked once: it takes its time.
func TestTheExampleIsTyped(t *testing.T) {
	dir := bundletest.With(t, t.TempDir())
	for _, name := range []string{"svc-env.d.ts", "tsconfig.json"} {
		ours, err := os.ReadFile(filepath.Join("init", name))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := os.ReadFile(filepath.Join("..", "examples", "project", name))
		if err != nil || string(ours) != string(theirs) {
			t.Errorf("examples/project/%s is not what svc init writes: %v", name, err)
		}
		write(t, filepath.Join(dir, name), string(ours))
	}
	for _, from := range []string{"../examples/project/src", "init/src"} {
		if err := os.CopyFS(filepath.Join(dir, "src"), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range pageModules(t) {
		at := filepath.Join(dir, "src", "page", strings.TrimPrefix(file, "src/"))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, at, text)
	}
	write(t, filepath.Join(dir, "src", "wrong.ts"), `
import { defineTool, defineWorkflow, dispatch, invoke } from "@svc/runtime";
import * as v from "valibot";
import refund from "./workflows/refund.ts";
invoke(refund, { input: { order: 1, customer: "ada" } }); // wrong 1
invoke(refund); // wrong 2
defineTool({ name: "x", description: "x", input: v.object({ n: v.number() }), run: ({ input }) => input.m }); // wrong 3
defineWorkflow({ input: v.object({ n: v.number() }), output: v.object({ m: v.number() }), run: async ({ input }) => ({ m: String(input.n) }) }); // wrong 4
dispatch("helper", { id: "x", message: { kind: "odd", body: "x" } }); // wrong 5
defineWorkflow({ run: async ({ step }) => { const n: string = await step("x", () => 1); return n; } }); // wrong 6
defineWorkflow({ run: async ({ sleep }) => { await sleep("soon"); } }); // wrong 7
`)
	tsc := exec.CommandContext(t.Context(), "node", "node_modules/typescript/bin/tsc", "--pretty", "false")
	tsc.Dir = dir
	out, _ := tsc.CombinedOutput() // it fails, and says why
	for i := range 7 {
		if !strings.Contains(string(out), fmt.Sprintf("src/wrong.ts(%d,", 5+i)) {
			t.Errorf("tsc lets mistake %d pass", i+1)
		}
	}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "src/wrong.ts(") && !strings.HasPrefix(line, " ") {
			t.Errorf("tsc refuses what is right: %s", line)
		}
	}
	if t.Failed() {
		t.Logf("tsc said\n%s", out)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
