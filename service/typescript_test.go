package service_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/doctor"
	"svc.dev/svc/service/servicetest"
)

const operatorsProject = `
-- src/workflows/refund.ts --
import { defineWorkflow, listRuns } from "@svc/runtime";
export const route = (c, next) => next();
export const runs = (c, next) => next();
export default defineWorkflow({
  async run({ step }) {
    const mine = await step("count", async () => (await listRuns()).runs.length);
    return { mine, greeting: process.env.GREETING, secret: process.env.HOME ?? null };
  },
});
-- src/workflows/closed.ts --
import { defineWorkflow } from "@svc/runtime";
export const route = (c) => c.text("not now", 403);
export default defineWorkflow({ run() {} });
-- src/channels/orders.ts --
import { invoke } from "@svc/runtime";
export const channel = { routes: [{ method: "POST", path: "/in", handler: async (c) => c.json(await invoke("refund"), 202) }] };
`

// engineGoroutines are those of this process that belong to an engine of a project.
func engineGoroutines() int {
	all := make([]byte, 16<<20)
	return strings.Count(string(all[:runtime.Stack(all, true)]), "svc/internal/script.(*Engine).run(")
}

// TestWithoutAProjectNoEngineStarts looks at the goroutines of a service that has answered.
func TestWithoutAProjectNoEngineStarts(t *testing.T) {
	ada := servicetest.Start(t, servicetest.Config(t)).SignUp(t, "workflows:run", "runs:read")
	if got := answerTo(t, http.MethodGet, ada.API+"/runs/run_none", ada.Key); !strings.HasPrefix(got, "404 ") {
		t.Errorf("ada is answered %s", got)
	}
	if n := engineGoroutines(); n > 0 {
		t.Errorf("%d engines run, and there is no project", n)
	}
}

// TestAStopWaitsForWorkBehindAnAnswer has a request leave some.
func TestAStopWaitsForWorkBehindAnAnswer(t *testing.T) {
	done := make(chan bool, 1)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { done <- true }))
	defer other.Close()
	t.Setenv("OTHER", other.URL)
	c := servicetest.Config(t)
	c.ProjectEnv, c.Project = "OTHER", bundletest.Project(t, `
-- app.ts --
export default { fetch(request, env, ctx) {
  ctx.waitUntil(new Promise((go) => { setTimeout(go, 500); }).then(() => fetch(env.OTHER)));
  return new Response("answered");
} };
`)
	served := servicetest.Start(t, c)
	ada := served.SignUp(t, "agents:read", "runs:read")
	if got := answerTo(t, http.MethodGet, ada.API+"/", ada.Key); got != "200 answered" {
		t.Fatalf("ada is answered %s", got)
	}
	served.Stop()
	if err := <-served.Done; err != nil || len(done) != 1 {
		t.Errorf("stopped with %v, and the work was cut off: %t", err, len(done) == 0)
	}
}

// TestAProjectStandsInEveryWorkspace has two of them use the same workflow, and each see its own runs.
func TestAProjectStandsInEveryWorkspace(t *testing.T) {
	t.Setenv("GREETING", "hello")
	sqldbtest.Each(t, func(t *testing.T, address string) {
		c := servicetest.Config(t)
		c.Database, c.Project, c.ProjectEnv = address, bundletest.Project(t, operatorsProject), "GREETING,UNSET"
		served := servicetest.Start(t, c)
		ada := served.SignUp(t, "workflows:run", "runs:read")
		for i := range 2 {
			got := answerTo(t, http.MethodPost, ada.API+"/workflows/refund?wait=result", ada.Key)
			if want := fmt.Sprintf(`"result":{"mine":%d,"greeting":"hello","secret":null}`, i+1); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, want) {
				t.Errorf("ada is answered %s", got)
			}
		}
		if engineGoroutines() == 0 {
			t.Error("no engine is seen, though some must run")
		}
		if got := answerTo(t, http.MethodPost, ada.API+"/workflows/closed", ada.Key); got != "403 not now" {
			t.Errorf("the guard of the module answers %s", got)
		}
		if got := answerTo(t, http.MethodPost, ada.API+"/channels/orders/in", ""); !strings.HasPrefix(got, "202 ") {
			t.Errorf("the channel answers %s", got)
		}
		if got := answerTo(t, http.MethodPost, ada.API+"/workflows/refund", ""); !strings.HasPrefix(got, "403 ") {
			t.Errorf("nobody is answered %s", got)
		}
	})
}

// answerTo is the status and the body of an answer.
func answerTo(t *testing.T, method, url, key string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := servicetest.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", res.StatusCode, body)
}

func TestAProjectThatIsWrongDoesNotStart(t *testing.T) {
	for _, test := range []struct{ archive, says string }{
		{"-- src/app.ts --\nexport default {", "project.path: bundle_failed"},
		{"-- src/agents/x.ts --\nexport default 1;", "project.path: module_invalid: agents/x: the default export must come from defineAgent()."},
		{"-- src/workflows/workspace-verification.ts --\nimport { defineWorkflow } from \"@svc/runtime\";\nexport default defineWorkflow({ run() {} });", "is declared twice"},
	} {
		c := servicetest.Config(t)
		c.Project = bundletest.Project(t, test.archive)
		err := service.Serve(t.Context(), config.Whole, c, slog.New(slog.DiscardHandler), service.Caller{Announce: func(service.Serving) { t.Error("it serves") }})
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("it fails with %v, and not with %s", err, test.says)
		}
	}
}

const listedProject = `
-- src/agents/clerk.ts --
import { defineAgent } from "@svc/runtime";
export const description = "Keeps the books.";
export const route = (c, next) => next();
export default defineAgent(() => ({ model: "scripted/words" }));
-- src/workflows/refund.ts --
import { defineWorkflow } from "@svc/runtime";
export const route = (c, next) => next();
export default defineWorkflow({ run() {} });
-- src/channels/orders.ts --
export const channel = { routes: [{ method: "POST", path: "/in", handler: (c) => c.text("") }] };
`

// TestWhatAProjectDeclaresIsListedAndNotChanged looks at the lists of a workspace, in one process and in two.
func TestWhatAProjectDeclaresIsListedAndNotChanged(t *testing.T) {
	for name, start := range map[string]func(*testing.T, config.Config) *servicetest.Served{"serve": servicetest.Start, "split": startSplit} {
		t.Run(name, func(t *testing.T) {
			c := servicetest.Config(t)
			c.Project = bundletest.Project(t, listedProject)
			s := start(t, c)
			session := s.Session(t, "ada")
			do := func(method, path, body string) servicetest.Answer {
				t.Helper()
				r, err := http.NewRequestWithContext(t.Context(), method, s.Agents+"/api/workspaces/ada/personal"+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header = http.Header{"Origin": {s.Agents}, "Cookie": {session}, "Content-Type": {"application/json"}}
				return servicetest.Send(t, servicetest.Client, r)
			}
			for path, want := range map[string]map[string]string{
				"/agents": {"clerk": "project", "central": "built-in"}, "/workflows": {"refund": "project", "digest": "built-in"}, "/channels": {"orders": "project", "github": "built-in"},
			} {
				var page struct {
					Items []struct{ Name, Source string }
				}
				got := do("GET", path, "")
				if err := json.Unmarshal([]byte(got.Body), &page); err != nil || got.Status != 200 {
					t.Fatalf("%s: %d %s", path, got.Status, got.Body)
				}
				found := map[string]string{}
				for _, item := range page.Items {
					found[item.Name] = item.Source
				}
				for name, source := range want {
					if found[name] != source {
						t.Errorf("%s: %s is of %q, want %q", path, name, found[name], source)
					}
				}
			}
			if got := do("GET", "/channels?q=ord", ""); got.Body != `{"items":[{"name":"orders","source":"project","routes":[{"method":"POST","path":"/channels/orders/in"}]}]}` {
				t.Errorf("the channel is listed as %s", got.Body)
			}
			if got := do("GET", "/agents/clerk", ""); got.Status != 200 || !strings.Contains(got.Body, `"description":"Keeps the books."`) || !strings.Contains(got.Body, `"source":"project"`) {
				t.Errorf("the agent is shown as %d %s", got.Status, got.Body)
			}
			if got := do("GET", "/agents/clerk/versions", ""); got.Status != 200 || !strings.Contains(got.Body, `"version":1`) {
				t.Errorf("its versions are %d %s", got.Status, got.Body)
			}
			for _, change := range []struct{ method, path, body string }{
				{"PATCH", "/agents/clerk", `{"instructions":"Be brief."}`}, {"DELETE", "/agents/clerk", ""}, {"POST", "/agents/clerk/disable", ""}, {"POST", "/agents/clerk/enable", ""},
				{"POST", "/agents/clerk/versions/1/restore", ""},
			} {
				got := do(change.method, change.path, change.body)
				if got.Status != 409 || !strings.Contains(got.Body, `"read_only"`) || !strings.Contains(got.Body, "Change the project that declares it.") || !strings.Contains(got.Body, `"source":"project"`) {
					t.Errorf("%s %s: %d %s", change.method, change.path, got.Status, got.Body)
				}
			}
			for _, path := range []string{"/workflows/refund", "/channels", "/channels/orders"} {
				for _, method := range []string{"PATCH", "DELETE"} {
					if got := do(method, path, "{}"); got.Status != 405 && got.Status != 404 {
						t.Errorf("%s %s: %d %s", method, path, got.Status, got.Body)
					}
				}
			}
		})
	}
}

// TestNodesWithDifferentProjectsAreNoticed starts two nodes whose projects differ by a line.
func TestNodesWithDifferentProjectsAreNoticed(t *testing.T) {
	c := servicetest.Config(t)
	c.Project = bundletest.Project(t, listedProject)
	s := startSplit(t, c)
	admin := staffed(t, s)
	health := func() (nodes []string, apart string) {
		t.Helper()
		var told struct {
			Ready  bool
			Nodes  []struct{ Part, Project string }
			Checks []struct{ Name, Error string }
		}
		got := admin("GET", "/api/admin/health")
		if err := json.Unmarshal([]byte(got.Body), &told); err != nil || !told.Ready {
			t.Fatalf("health: %s, %v", got.Body, err)
		}
		for _, n := range told.Nodes {
			if n.Part == "runtime" {
				nodes = append(nodes, n.Project)
			}
		}
		for _, c := range told.Checks {
			if c.Name == "bundles" {
				apart = c.Error
			}
		}
		return nodes, apart
	}
	if nodes, apart := health(); len(nodes) != 1 || len(nodes[0]) != 64 || apart != "" {
		t.Errorf("one node: %q, %q", nodes, apart)
	}
	other := s.Split
	other.DataDir, other.RuntimeListen = filepath.Join(t.TempDir(), "other"), "127.0.0.1:0"
	other.Project = bundletest.Project(t, strings.Replace(listedProject, "Keeps the books.", "Keeps other books.", 1))
	node := servicetest.StartPart(t, config.RuntimeAlone, other)
	if nodes, apart := health(); len(nodes) != 2 || nodes[0] == nodes[1] || !strings.Contains(apart, nodes[0][:12]) || !strings.Contains(apart, nodes[1][:12]) {
		t.Errorf("two nodes: %q, %q", nodes, apart)
	}
	findings := doctor.Examine(t.Context(), other, doctor.Exam{Runtime: true, Log: slog.New(slog.DiscardHandler)})
	if f := findingOf(findings, "project bundles"); f.Verdict != doctor.Warn || !strings.Contains(f.Text, "this configuration has bundle ") || f.Mend == "" {
		t.Errorf("doctor says %+v", f)
	}
	if f := findingOf(findings, "project"); f.Verdict != doctor.OK || !strings.HasPrefix(f.Text, "bundle ") {
		t.Errorf("doctor says %+v", f)
	}
	node.Stop()
	<-node.Done
	servicetest.Eventually(t, "the other node is forgotten", func() bool {
		nodes, apart := health()
		return len(nodes) == 1 && apart == ""
	})
}

func findingOf(all []doctor.Finding, name string) (found doctor.Finding) {
	for _, f := range all {
		if f.Name == name {
			found = f
		}
	}
	return found
}
