package service_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/servicetest"
)

// spyProject has a module of every kind look for runs and agents that are not its workspace's.
const spyProject = `
-- src/spy.ts --
import { listRuns, getRun, listAgents, invoke } from "@svc/runtime";
import { svc } from "@svc/runtime/routing";
// refused is no run where a question is not taken.
async function refused(ask) { try { return await ask(); } catch { return { runs: [] }; } }
// Only what a request, a run or a channel is given names another workspace.
export async function spy({ id, cursor }) {
  const pages = [await listRuns(), await listRuns({ cursor }), await listRuns({ workflowName: "secret" }), await refused(() => listRuns({ scope: "users/eve/personal" }))];
  const found = [await getRun(id), await getRun("users/eve/personal/" + id), await getRun("../" + id)];
  return { runs: pages.flatMap((p) => p.runs).map((r) => r.runId), found, agents: (await listAgents()).map((a) => a.name) };
}
const eves = { "x-svc-scope": "users/eve/personal", "x-svc-account": "eve", "x-svc-actor": "eve" };
export async function knock({ id }) {
  const api = svc();
  const paths = ["/runs/" + id, "/runs/" + id + "?meta", "/own/runs", "/own/run?run=" + id, "/own/all/runs", "/v1/eve/personal/runs/" + id, "/own/entrypoint/runs/" + id];
  const answers = [];
  for (const path of paths) {
    const r = await api.fetch(new Request("http://x" + path, { headers: eves }));
    answers.push(r.status + " " + (await r.text()));
  }
  return answers;
}
-- src/workflows/secret.ts --
import { defineWorkflow } from "@svc/runtime";
export const route = (c, next) => next();
export const runs = (c, next) => next();
export default defineWorkflow({ run({ input }) { return input ?? "eve's own"; } });
-- src/workflows/spies.ts --
import { defineWorkflow } from "@svc/runtime";
import { spy } from "../spy";
const anything = { "~standard": { version: 1, vendor: "own", validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: "object" }), output: () => ({}) } } };
export const route = (c, next) => next();
export const runs = (c, next) => next();
export default defineWorkflow({ input: anything, async run({ input, step }) { return [await spy(input), await step("look", () => spy(input))]; } });
-- src/channels/spying.ts --
import { spy } from "../spy";
export const channel = { routes: [{ method: "POST", path: "/in", handler: async (c) => c.json(await spy(await c.req.json())) }] };
-- src/app.ts --
import { svc } from "@svc/runtime/routing";
import { spy, knock } from "./spy";
const api = svc();
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/spy") return Response.json(await spy(await request.json()));
    if (pathname === "/knock") return Response.json(await knock(await request.json()));
    return api.fetch(request);
  },
};
`

// TestAProjectSeesOneWorkspace has ada's requests, runs and webhooks look for what is eve's, in one process and in two.
func TestAProjectSeesOneWorkspace(t *testing.T) {
	for name, start := range map[string]func(*testing.T, config.Config) *servicetest.Served{"serve": servicetest.Start, "split": startSplit} {
		t.Run(name, func(t *testing.T) {
			c := servicetest.Config(t)
			c.Project = bundletest.With(t, bundletest.Project(t, spyProject))
			s := start(t, c)
			scopes := []string{"agents:read", "agents:write", "runs:read", "workflows:run"}
			e := entered{s, s.SignUp(t, scopes...)}
			eve := s.Key(t, "eve", scopes...)
			hers := strings.Replace(e.ada.API, "/ada/", "/eve/", 1)
			id := runIn(t, hers, eve)
			runIn(t, hers, eve)
			page := servicetest.Send(t, servicetest.Client, keyed(t, http.MethodGet, hers+"/runs?limit=1", eve, ""))
			var listed struct{ NextCursor string }
			if err := json.Unmarshal([]byte(page.Body), &listed); err != nil || listed.NextCursor == "" {
				t.Fatalf("eve's runs: %s, %v", page.Body, err)
			}
			own := runIn(t, e.ada.API, e.ada.Key)
			body, err := json.Marshal(map[string]string{"id": id, "cursor": listed.NextCursor})
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"/spy", "/workflows/spies?wait=result", "/channels/spying/in"} {
				got := e.do(t, "POST", path, e.ada.Key, strings.NewReader(string(body)), http.Header{"Content-Type": {"application/json"}})
				if got.Status != 200 || !strings.Contains(got.Body, own) || !strings.Contains(got.Body, `"found":[null,null,null]`) {
					t.Errorf("%s is answered %d %s", path, got.Status, got.Body)
				}
				if strings.Contains(got.Body, id) || strings.Contains(got.Body, "eve") {
					t.Errorf("%s tells of eve: %s", path, got.Body)
				}
			}
			got := e.do(t, "POST", "/knock", e.ada.Key, strings.NewReader(string(body)), nil)
			var answers []string
			if err := json.Unmarshal([]byte(got.Body), &answers); err != nil || len(answers) != 7 {
				t.Fatalf("knocking: %d %s", got.Status, got.Body)
			}
			for _, answer := range answers {
				if !strings.HasPrefix(answer, "404 ") {
					t.Errorf("the API opens: %s", answer)
				}
			}
			if got := servicetest.Send(t, servicetest.Client, keyed(t, http.MethodGet, hers+"/runs/"+url.PathEscape(id)+"?meta", e.ada.Key, "")); got.Status != 404 {
				t.Errorf("ada's key reads eve's run: %d %s", got.Status, got.Body)
			}
		})
	}
}

// keyed is a request with a key.
func keyed(t *testing.T, method, address, key, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	return r
}

// runIn starts a run of a workspace and waits for its end.
func runIn(t *testing.T, api, key string) string {
	t.Helper()
	got := servicetest.Send(t, servicetest.Client, keyed(t, http.MethodPost, api+"/workflows/secret?wait=result", key, ""))
	var run struct{ RunID string }
	if err := json.Unmarshal([]byte(got.Body), &run); err != nil || run.RunID == "" {
		t.Fatalf("run: %d %s", got.Status, got.Body)
	}
	return run.RunID
}
