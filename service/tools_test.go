package service_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/service/servicetest"
)

// TestAWorkspaceHasToolsAndADigest lists the tools, and runs the workflow that uses them in the name of the one who started it.
func TestAWorkspaceHasToolsAndADigest(t *testing.T) {
	s := servicetest.Start(t, servicetest.Config(t))
	made := post(t, s, "/api/auth/password/register", `{"email":"ada@example.com","password":"a long and quiet sentence","username":"ada"}`)
	cookie, _, _ := strings.Cut(made.Header.Get("Set-Cookie"), ";")
	do := func(method, path, body string) servicetest.Answer {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.Agents+"/api/workspaces/ada/personal"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Origin": {s.Agents}, "Cookie": {cookie}, "Content-Type": {"application/json"}}
		got := servicetest.Send(t, servicetest.Client, req)
		if got.Status/100 != 2 {
			t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
		}
		return got
	}
	if got := do("GET", "/tools", ""); !strings.Contains(got.Body, `"name":"run_workflow"`) || !strings.Contains(got.Body, `"inputSchema":{`) {
		t.Errorf("tools: %s", got.Body)
	}
	do("POST", "/projects", `{"slug":"site","name":"Site"}`)
	do("PUT", "/projects/site/files/a.txt", "n=2")
	var run struct {
		RunID, Status, StartedBy string
		Result                   struct {
			Files int
			Into  string
		}
		Error *struct{ Message string }
	}
	begun := do("POST", "/workflows/digest/run", `{"project":"site"}`)
	if err := json.Unmarshal([]byte(begun.Body), &run); err != nil {
		t.Fatal(err)
	}
	servicetest.Eventually(t, "the digest is made", func() bool {
		if err := json.Unmarshal([]byte(do("GET", "/runs/"+run.RunID, "").Body), &run); err != nil {
			t.Fatal(err)
		}
		return run.Status != "active"
	})
	if run.Result.Files != 1 || run.Result.Into != "digest.md" || run.StartedBy != "ada" {
		t.Fatalf("run: %+v, %+v", run, run.Error)
	}
	if got := do("GET", "/projects/site/files/digest.md", "").Body; !strings.Contains(got, "## a.txt\n\nword0 word1") {
		t.Errorf("digest: %q", got)
	}
	if got := do("GET", "/projects/site/files", "").Body; !strings.Contains(got, `"updatedBy":{"kind":"account","id":"acc_`) {
		t.Errorf("files: %s", got)
	}
}
