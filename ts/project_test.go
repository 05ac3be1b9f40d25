package ts_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/bundle"
	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/ts"
)

// loaded tries to load a project.
func loaded(t *testing.T, archive string, declare ...func(*svc.Runtime)) error {
	t.Helper()
	return tryLoad(t, archive, ts.Config{}, declare...)
}

func tryLoad(t *testing.T, archive string, c ts.Config, declare ...func(*svc.Runtime)) error {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	rt, err := svc.New(svc.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range declare {
		f(rt)
	}
	p, err := ts.Load(t.Context(), rt, bundletest.Project(t, archive), c)
	if err == nil {
		p.Close()
	}
	return err
}

func TestWhatIsWrongWithAProjectIsSaidWhenItIsLoaded(t *testing.T) {
	for _, c := range []struct{ name, archive, typ, says string }{
		{"syntax", "-- app.ts --\nexport default {", "bundle_failed", "app.ts:2:"},
		{"nothing", "-- src/x.ts --\n", "module_invalid", "no agents, workflows, channels or app in"},
		{"no agent", "-- agents/x.ts --\nexport default 1;", "module_invalid", "agents/x: the default export must come from defineAgent()."},
		{"a guard", "-- agents/x.ts --\nimport { defineAgent } from \"@svc/runtime\";\nexport const route = 1;\nexport default defineAgent(() => ({}));", "module_invalid", "agents/x: route must be a function."},
		{"no workflow", "-- workflows/x.ts --\nexport const x = 1;", "module_invalid", "workflows/x: the default export must come from defineWorkflow()."},
		{"no object", "-- workflows/x.ts --\nimport { defineWorkflow } from \"@svc/runtime\";\nconst input = { \"~standard\": { version: 1, vendor: \"x\", validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: \"string\" }) } } };\nexport default defineWorkflow({ input, run() {} });", "module_invalid", "workflows/x: the input of a workflow must be an object."},
		{"no channel", "-- channels/x.ts --\nexport const channel = {};", "module_invalid", "channels/x: a module of a channel exports channel, which has routes."},
		{"no route", "-- channels/x.ts --\nexport const channel = { routes: [{ method: \"GET\", path: \"/x\" }] };", "module_invalid", "channels/x: a route has a method, a path and a handler."},
		{"a dot segment", "-- channels/x.ts --\nexport const channel = { routes: [{ method: \"GET\", path: \"/../x\", handler() {} }] };", "module_invalid", "channels/x: svc: channel \"x\": path \"/../x\" has a dot segment."},
		{"double routes", "-- channels/x.ts --\nconst r = { method: \"GET\", path: \"/x\", handler() {} };\nexport const channel = { routes: [r, r] };", "module_invalid", "declares GET /x twice"},
		{"no fetch", "-- app.ts --\nexport default {};", "module_invalid", "app: the default export must have fetch(request)."},
		{"thrown", "-- app.ts --\nconst x: any = null;\nexport default { fetch: x.y };", "project_failed", "app.ts:2:"},
		{"awaited", "-- app.ts --\nawait new Promise((_, no) => setTimeout(() => no(new RangeError(\"late\")), 1));\nexport default {};", "project_failed", "RangeError: late"},
		{"defined", "-- agents/x.ts --\nimport { defineAgent } from \"@svc/runtime\";\nexport default defineAgent({});", "project_failed", "The argument of defineAgent() must be a function."},
		{"renamed", "-- app.ts --\nimport { defineTool } from \"@svc/runtime\";\ndefineTool({ name: \"x\", description: \"x\", parameters: {}, execute() {} });\nexport default { fetch() {} };", "project_failed", "parameters and execute are called input and run."},
		{"asking", "-- app.ts --\nimport { listRuns } from \"@svc/runtime\";\nawait listRuns();\nexport default { fetch() {} };", "project_failed", "modules cannot ask while they are loaded"},
		{"later", "-- app.ts --\nimport { registerProvider } from \"@svc/runtime\";\nregisterProvider();\nexport default { fetch() {} };", "project_failed", "registerProvider() is not available in svc projects yet."},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := loaded(t, c.archive)
			f := fault.From(err)
			if err == nil || f.Type != c.typ || !strings.Contains(f.Message+"\n"+f.Details, c.says) {
				t.Errorf("it fails with %v, and not with %s: %s", err, c.typ, c.says)
			}
		})
	}
	err := loaded(t, "-- workflows/x.ts --\nimport { defineWorkflow } from \"@svc/runtime\";\nexport default defineWorkflow({ run() {} });", func(rt *svc.Runtime) {
		rt.AddWorkflow(svc.NewWorkflow("x", func(context.Context, *svc.Work, struct{}) (int, error) { return 0, nil }))
	})
	contains(t, "a name that is taken", fmt.Sprint(err), `module_invalid: workflows/x: svc: workflow "x" is declared twice.`)
}

// TestAProjectRunsFromItsFile has neither sources nor packages.
func TestAProjectRunsFromItsFile(t *testing.T) {
	file, made := bundled(t, bundletest.With(t, bundletest.Project(t, shop)))
	s := playIn(t, file)
	expect(t, "said", s.says("helper", "ada", `use look_up {"order":"order_1"}`), `The tool says {"status":"ada's is packed"}`)
	expect(t, "hash", s.project.Hash(), made.Hash())
	contains(t, "a stack", s.says("helper", "thrown", "hello")+s.log.String(), "src/agents/helper.ts:27:")
}

// bundled makes a project a file.
func bundled(t *testing.T, folder string) (string, *bundle.Bundle) {
	t.Helper()
	made, err := bundle.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	data, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "project.bundle")
	write(t, file, string(data))
	return file, made
}

// TestTheExampleRunsWhereThereIsNoNode has neither sources nor packages, and finds no program at all: the file is enough.
func TestTheExampleRunsWhereThereIsNoNode(t *testing.T) {
	folder := example(t)
	file, _ := bundled(t, folder)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	if found, err := exec.LookPath("node"); err == nil {
		t.Fatalf("there is a node: %s", found)
	}
	s := playIn(t, file)
	contains(t, "a refund", s.do("POST", "/api/workflows/refund?wait=result", `{"order":"order_1042","customer":"ada"}`, "Content-Type", "application/json"), "200 ", `"cents":1250`)
	expect(t, "a tool", s.says("helper", "eve", `use look_up_order {"order":"order_1042"}`), `The tool says {"id":"order_1042","cents":1250,"status":"packed"}`)
}

// TestAProjectOfOtherNamesRunsByItsAlias has every part of the first version under the names of another package.
func TestAProjectOfOtherNamesRunsByItsAlias(t *testing.T) {
	other := strings.NewReplacer("@svc/runtime", "@old/runtime", "{ svc }", "{ oldRoutes }", "svc()", "oldRoutes()").Replace(guarded + application)
	s := playWith(t, other+"-- package.json --\n"+`{"svc": {"alias": {"@old/runtime": "@svc/runtime"}, "factory": "oldRoutes"}}`)
	guards(t, s, "/api/v1", "ada")
}

// TestTheExampleRuns plays examples/project as its main.go does.
func TestTheExampleRuns(t *testing.T) {
	s := playIn(t, example(t))
	expect(t, "application", s.get("/"), "200 A shop.")
	contains(t, "a stranger", s.get("/api/agents/helper/ada", "X-Customer", "bob"), "403 ", "another customer")
	contains(t, "a refund", s.do("POST", "/api/workflows/refund?wait=result", `{"order":"order_1042","customer":"ada"}`, "Content-Type", "application/json"),
		"200 ", `"cents":1250,"mailed":"Dear ada, 12.5 are on their way."`)
	contains(t, "a refund of nothing", s.do("POST", "/api/workflows/refund", `{"order":1}`, "Content-Type", "application/json"), "400 ", "action_input_validation", "expected string")
	contains(t, "an order that there is not", s.ends("refund", `{"order":"x","customer":"ada"}`), "order_not_found")
	event := `{"id":"evt_1","type":"contested","order":"order_1043","customer":"bob"}`
	first, again := s.do("POST", "/api/channels/payments/events", event), s.do("POST", "/api/channels/payments/events", event)
	contains(t, "an event", first, "202 ", `"runId":"run_`)
	expect(t, "the same event", again, first)
	id := strings.Split(first, `"`)[3]
	contains(t, "its run", ending(s.await("refund", id)), `"cents":990`)
	contains(t, "the list", s.get("/refunds"), "200 ", id)
	contains(t, "the run", s.get("/refunds/"+id), `"workflowName":"refund"`)
	contains(t, "a conversation", s.get("/api/agents/helper/ada", "X-Customer", "ada"), "200 ", "refunded")
	expect(t, "a tool", s.says("helper", "eve", `use look_up_order {"order":"order_1042"}`), `The tool says {"id":"order_1042","cents":1250,"status":"packed"}`)
}

// example is a copy of examples/project with its packages.
func example(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "src"), os.DirFS("../examples/project/src")); err != nil {
		t.Fatal(err)
	}
	return bundletest.With(t, dir)
}
