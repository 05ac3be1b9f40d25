package bundle_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"modernc.org/quickjs"

	"svc.dev/svc/internal/bundle"
	"svc.dev/svc/internal/bundle/bundletest"
)

// TestModulesAreFoundByKindAndName leaves types, nested files and other files to be support code.
func TestModulesAreFoundByKindAndName(t *testing.T) {
	p := find(t, `
-- src/agents/helper.ts --
-- src/agents/types.d.ts --
-- src/agents/nested/part.ts --
-- src/agents/README.md --
-- src/agents/folder.ts/x.ts --
-- src/workflows/b.mjs --
-- src/workflows/a.b.mts --
-- src/channels/hook.js --
-- src/app.mts --
-- src/other.ts --
-- agents/outside.ts --
`)
	want := []bundle.Module{
		{Kind: bundle.Agents, Name: "helper", File: "src/agents/helper.ts"},
		{Kind: bundle.Workflows, Name: "a.b", File: "src/workflows/a.b.mts"},
		{Kind: bundle.Workflows, Name: "b", File: "src/workflows/b.mjs"},
		{Kind: bundle.Channels, Name: "hook", File: "src/channels/hook.js"},
	}
	if diff := cmp.Diff(want, p.Modules); diff != "" {
		t.Errorf("modules (-want +got)\n%s", diff)
	}
	if p.App != "src/app.mts" {
		t.Errorf("the application is %q", p.App)
	}
}

func TestWithoutAFolderForSourcesTheRootIsOne(t *testing.T) {
	p := find(t, "-- workflows/a.ts --\n-- app.js --\n")
	if len(p.Modules) != 1 || p.Modules[0].File != "workflows/a.ts" || p.App != "app.js" {
		t.Errorf("found %+v and %q", p.Modules, p.App)
	}
}

// TestALinkedProjectIsTheSame bundles a project by a link to its folder: its files are called as they are without.
func TestALinkedProjectIsTheSame(t *testing.T) {
	dir := bundletest.Project(t, "-- src/app.ts --\nimport { x } from \"./x.ts\";\nexport default x;\n-- src/x.ts --\nexport const x = 1;\n")
	link := filepath.Join(t.TempDir(), "current")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	plain, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	linked, err := bundle.Open(link)
	if err != nil || !linked.Equal(plain) || linked.Hash() != plain.Hash() {
		t.Errorf("the link makes\n%+v, %v\nand the folder\n%+v", linked, err, plain)
	}
}

// TestSourcesAreToldWhateverComesOfThem has files outside of the folder that are right, wrong, and missing.
func TestSourcesAreToldWhateverComesOfThem(t *testing.T) {
	for name, wrong := range map[string]bool{"right": false, "wrong": true, "missing": true} {
		root := bundletest.Project(t, "-- shop/app.ts --\nimport x from \"../lib/"+name+".ts\";\nimport p from \"p\";\nexport default [x, p];\n"+
			"-- lib/right.ts --\nexport default 1;\n-- lib/wrong.ts --\nexport default ;\n-- shop/node_modules/p/index.js --\nexport { default } from \"./q.js\";\n-- shop/node_modules/p/q.js --\nexport default 2;\n")
		made, err := bundle.Open(filepath.Join(root, "shop"))
		if (err != nil) != wrong {
			t.Fatalf("%s: %v", name, err)
		}
		var sources []string
		if failed := (*bundle.Error)(nil); errors.As(err, &failed) {
			sources = failed.Sources
		} else {
			sources = made.Sources
		}
		want := []string{filepath.Join(root, "lib"), filepath.Join(root, "lib", name+".ts"), filepath.Join(root, "shop"), filepath.Join(root, "shop", "app.ts")}
		if diff := cmp.Diff(want, sources); diff != "" {
			t.Errorf("%s: sources (-want +got)\n%s", name, diff)
		}
	}
}

// TestWhatIsRefusedIsSaid plays testdata/refused: the lines before the files are in the error, all of them.
func TestWhatIsRefusedIsSaid(t *testing.T) {
	files, err := filepath.Glob("testdata/refused/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no projects: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			said, _, _ := strings.Cut(string(data), "-- ")
			_, err = bundle.Open(bundletest.Project(t, string(data)))
			for line := range strings.Lines(said) {
				if err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(line, "\n")) {
					t.Errorf("the error is\n%v\nand not\n%s", err, said)
				}
			}
		})
	}
}

func TestAProjectIsHandedOverByKindAndName(t *testing.T) {
	got := run(t, bundled(t, `
-- src/agents/__proto__.ts --
export default "an agent";
export const route = 1;
-- src/workflows/a"b.js --
import { shared } from "../shared/x.ts";
export default shared;
-- src/shared/x.ts --
export enum Color { Red = "red" }
export const shared: Color = Color.Red;
-- src/app.ts --
export default { app: true };
`), `JSON.stringify(project)`)
	want := `{"agents":{"__proto__":{"default":"an agent","route":1}},"workflows":{"a\"b":{"default":"red"}},"channels":{},"app":{"default":{"app":true}}}`
	if got != want {
		t.Errorf("handed over\n%s\nand not\n%s", got, want)
	}
}

// TestForAwaitWaitsForTheEndOfTheIterator is what the engine does not do by itself.
func TestForAwaitWaitsForTheEndOfTheIterator(t *testing.T) {
	got := run(t, bundled(t, `
-- app.ts --
const said: string[] = [];
async function* count() {
  try { for (let i = 0; ; i++) yield i; } finally { await null; await null; said.push("closed"); }
}
for await (const n of count()) if (n === 2) break;
said.push("behind");
export default said;
`), `project.app.default.join()`)
	if got != "closed,behind" {
		t.Errorf("said %s", got)
	}
}

func TestUsingIsLowered(t *testing.T) {
	got := run(t, bundled(t, `
-- app.ts --
const said: string[] = [];
{ using x = { [Symbol.dispose]() { said.push("disposed"); } }; said.push("used"); }
export default said;
`), `project.app.default.join()`)
	if got != "used,disposed" {
		t.Errorf("said %s", got)
	}
}

// TestFunctionsKeepTheirNames also where a bundle must call them otherwise: two of one name, and a class that names itself. The engine gives
// the names, since a bundle asks for that again at each time that a function is made.
func TestFunctionsKeepTheirNames(t *testing.T) {
	b := bundled(t, `
-- app.ts --
import { Money as Other, convert as other } from "./other";
class Money { static none = () => new Money(); }
function convert() {}
const made = () => { const inner = () => {}; return inner; };
export default [Money, Other, convert, other, made, made(), Money.none, class { field = () => {} }].map((f) => f.name).concat(new (class { field = () => {}; })().field.name);
-- other.ts --
export class Money { static none = new Money(); }
export function convert() {}
`)
	if got := run(t, b, `project.app.default.join()`); got != "Money,Money,convert,convert,made,inner,none,,field" {
		t.Errorf("the names are %s", got)
	}
	if !strings.Contains(b.Code, "__name = __svc.named;") {
		t.Error("the bundle names its functions by itself: esbuild writes that otherwise than it did")
	}
}

func TestAMarkdownImportIsItsText(t *testing.T) {
	got := run(t, bundled(t, "-- app.ts --\nimport text from \"./prompt.md\" with { type: \"markdown\" };\nexport default text;\n-- prompt.md --\n# Be `kind`\n"), `project.app.default`)
	if got != "# Be `kind`\n" {
		t.Errorf("imported %q", got)
	}
}

// TestAPackageMayImportNodeUnused lets a package that names modules of Node load, extend and hand them on, and throws where one is used.
func TestAPackageMayImportNodeUnused(t *testing.T) {
	b := bundled(t, `
-- app.ts --
import { Reader, read, load } from "reader";
const failing = (f: () => unknown) => { try { f(); return "nothing"; } catch (e) { return (e as Error).message; } };
export default [typeof Reader, failing(read), failing(load), failing(() => new Reader())];
-- node_modules/reader/package.json --
{"name": "reader", "main": "index.js", "module": "index.mjs"}
-- node_modules/reader/index.mjs --
import { readFileSync } from "node:fs";
import { EventEmitter } from "events";
import path from "path";
export class Reader extends EventEmitter {}
export const read = () => readFileSync(path);
export const load = () => new path.Deep.Part();
`)
	got := run(t, b, `project.app.default.join("; ")`)
	want := "function; node:fs.readFileSync is a part of Node, which svc projects do not run on; " +
		"node:path.Deep.Part is a part of Node, which svc projects do not run on; node:events.EventEmitter is a part of Node, which svc projects do not run on"
	if got != want {
		t.Errorf("said\n%s\nand not\n%s", got, want)
	}
}

func TestAnInstalledPackageStandsBeforeNodesOwn(t *testing.T) {
	got := run(t, bundled(t, `
-- app.ts --
import { Buffer } from "buffer";
import { part } from "util/part";
export default Buffer + part;
-- node_modules/buffer/package.json --
{"name": "buffer", "main": "index.js"}
-- node_modules/buffer/index.js --
exports.Buffer = "the package";
-- node_modules/util/part.js --
exports.part = " and its part";
`), `project.app.default`)
	if got != "the package and its part" {
		t.Errorf("imported %q", got)
	}
}

func TestConditionsChooseTheWebsFiles(t *testing.T) {
	for _, c := range []struct{ exports, want string }{
		{`{"node": "./node.js", "browser": "./browser.js", "default": "./default.js"}`, "browser"},
		{`{"browser": "./browser.js", "workerd": "./worker.js"}`, "browser"},
		{`{"svc": "./default.js", "workerd": "./worker.js"}`, "default"},
		{`{"node": "./node.js", "worker": "./worker.js", "import": "./default.js"}`, "worker"},
		{`{"require": "./node.js", "import": "./default.js"}`, "default"},
	} {
		archive := "-- app.ts --\nimport which from \"which\";\nexport default which;\n-- node_modules/which/package.json --\n{\"name\": \"which\", \"exports\": " + c.exports + "}\n"
		for _, name := range []string{"node", "browser", "worker", "default"} {
			archive += fmt.Sprintf("-- node_modules/which/%s.js --\nexport default %[1]q;\n", name)
		}
		if got := run(t, bundled(t, archive), `project.app.default`); got != c.want {
			t.Errorf("of %s %s was chosen, not %s", c.exports, got, c.want)
		}
	}
}

// TestOtherNamesOfTheRuntimeAreOurs has a project as it was written for another.
func TestOtherNamesOfTheRuntimeAreOurs(t *testing.T) {
	dir := bundletest.With(t, bundletest.Project(t, `
-- package.json --
{"svc": {"alias": {"@old/runtime": "@svc/runtime"}, "factory": "oldFactory"}}
-- app.ts --
import { defineAgent, SvcError } from "@old/runtime";
import { oldFactory, svc } from "@old/runtime/routing";
import theirs from "@old/runtime-like";
export default [defineAgent, oldFactory === svc, typeof oldFactory().fetch, theirs, SvcError === undefined].join();
`))
	// The folder of packages is shared: one more is found from the project's own.
	write(t, filepath.Join(dir, "src.js"), "export default 'a package of its own';")
	write(t, filepath.Join(dir, "tsconfig.json"), `{"compilerOptions": {"paths": {"@old/runtime-like": ["./src.js"]}}}`)
	b, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, b, `project.app.default`); got != "define,true,function,a package of its own,true" {
		t.Errorf("imported %s", got)
	}
}

// TestPublishedPackagesBundleAndRun has what most projects import.
func TestPublishedPackagesBundleAndRun(t *testing.T) {
	dir := bundletest.With(t, bundletest.Project(t, `
-- src/app.ts --
import { Hono } from "hono";
import * as v from "valibot";
import { z } from "zod";
const app = new Hono().get("/x", (c) => c.text("x"));
const form = v.object({ n: v.pipe(v.number(), v.minValue(2)) });
export default [app.routes.length, v.safeParse(form, { n: 1 }).success, v.safeParse(form, { n: 2 }).success,
  z.object({ a: z.string() }).safeParse({ a: 1 }).success, JSON.stringify(z.toJSONSchema(z.object({ a: z.string() })).required)].join();
`))
	b, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, b, `project.app.default`); got != `1,false,true,false,["a"]` {
		t.Errorf("said %s", got)
	}
	t.Logf("%d bytes", len(b.Code))
}

func TestTheSameSourcesMakeTheSameBundleAnywhere(t *testing.T) {
	archive := "-- src/agents/a.ts --\nimport { x } from \"p\";\nexport default x;\n-- node_modules/p/index.js --\nexport const x = import.meta.url;\n-- node_modules/p/package.json --\n{\"module\": \"index.js\"}\n"
	one, other := bundled(t, archive), bundled(t, archive)
	if one.Hash() != other.Hash() || len(one.Hash()) != 64 {
		t.Errorf("hashes %s and %s of\n%s\n%s", one.Hash(), other.Hash(), one.Code, other.Code)
	}
	if changed := bundled(t, strings.Replace(archive, "const x", "const x = 1, y", 1)); changed.Hash() == one.Hash() {
		t.Error("another source has the same hash")
	}
	a, err := one.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := other.Encode(); !bytes.Equal(a, b) {
		t.Error("their files differ")
	}
}

func TestAScriptThatIsTooLongIsRefused(t *testing.T) {
	dir := bundletest.Project(t, "-- app.ts --\nimport data from \"./data.json\";\nexport default data;\n")
	data, _ := json.Marshal(strings.Repeat("x", bundle.MaxCode))
	write(t, filepath.Join(dir, "data.json"), string(data))
	if _, err := bundle.Open(dir); err == nil || !strings.Contains(err.Error(), "16777216 at most may be") {
		t.Errorf("refused with %v", err)
	}
}

func TestNotMoreProblemsAreToldThanSomebodyReads(t *testing.T) {
	archive := "-- app.ts --\n"
	for i := range 30 {
		archive += fmt.Sprintf("import \"./gone%d.ts\";\n", i)
	}
	_, err := bundle.Open(bundletest.Project(t, archive))
	if err == nil || strings.Count(err.Error(), "Could not resolve") != 10 || !strings.HasSuffix(err.Error(), "and 20 more") {
		t.Errorf("told\n%v", err)
	}
}

func find(t *testing.T, archive string) *bundle.Project {
	t.Helper()
	p, err := bundle.Find(bundletest.Project(t, archive))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func bundled(t *testing.T, archive string) *bundle.Bundle {
	t.Helper()
	b, err := find(t, archive).Make()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a bundle in a bare engine, and evaluates an expression of the project that it handed over.
func run(t *testing.T, b *bundle.Bundle, expression string) string {
	t.Helper()
	vm, err := quickjs.NewVM()
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Close()
	for _, code := range []string{
		`var project, failure; globalThis.Symbol.dispose ??= Symbol("dispose");
		var __svc = {
			project(p) { project = p; }, runtime: { defineAgent: "define" },
			named: (fn, name) => Object.defineProperty(fn, "name", { value: name, configurable: true }),
		}; 0`,
		`(async () => {` + b.Code + "\n})().catch((e) => { failure = e + '\\n' + e.stack; }); 0",
	} {
		if _, err := vm.Eval(code, quickjs.EvalGlobal); err != nil {
			t.Fatal(err)
		}
	}
	for {
		n, err := vm.ExecutePendingJobs()
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
	}
	got, err := vm.Eval(`if (failure) throw new Error(failure); String(`+expression+`)`, quickjs.EvalGlobal)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(got)
}
