package browser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/bundle/bundletest"
)

// shop is a project with one module of each kind.
const shop = `
-- shop/src/app.ts --
export default { fetch: () => new Response("a shop") };
-- shop/src/agents/helper.ts --
import { defineAgent, defineTool } from "@svc/runtime";
const lookUp = defineTool({ name: "look_up", description: "Looks up.", run: () => ({ found: "7" }) });
export default defineAgent(() => ({ model: "scripted/any", instructions: "Help.", tools: [lookUp] }));
-- shop/src/workflows/add.ts --
import { defineWorkflow } from "@svc/runtime";
export const description = "Adds two numbers.";
export const route = (c, next) => next(), runs = route;
const input = { "~standard": { version: 1, vendor: "here", validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: "object", properties: { a: { type: "number" }, b: { type: "number" } } }) } } };
export default defineWorkflow({ input, run: async ({ input, step }) => step("add", () => input.a + input.b) });
-- shop/src/workflows/silent.ts --
import { defineWorkflow } from "@svc/runtime";
export const route = (c, next) => next();
export default defineWorkflow({ run: async ({ sleep }) => { await sleep(4000); return "it is done"; } });
-- shop/src/channels/orders.ts --
export const channel = { routes: [{ method: "POST", path: "/in", handler: (c) => c.json({ taken: true }, 202) }] };
`

// TestAProjectIsWorkedOn tries modules out on the page of svc dev, breaks one and mends it.
func TestAProjectIsWorkedOn(t *testing.T) {
	enter(t)
	dir := filepath.Join(bundletest.Project(t, shop), "shop")
	p := newPart(nil)
	p.args = []string{"dev", dir, "--log-format", "json"}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.dismiss(t) })
	added, err := os.ReadFile(filepath.Join(dir, "src", "workflows", "add.ts"))
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{
		given: map[string]any{"platform": p.Address, "mended": strings.Replace(string(added), "Adds two numbers.", "Adds them.", 1)},
		acts:  map[string]func(json.RawMessage) (any, error){},
	}
	on(s, "save", func(of struct{ File, Text string }) (any, error) {
		return nil, os.WriteFile(filepath.Join(dir, filepath.FromSlash(of.File)), []byte(of.Text), 0o644)
	})
	s.play(t, "dev.mjs")
}
