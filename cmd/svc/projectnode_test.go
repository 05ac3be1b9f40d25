package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/bundle/bundletest"
)

const relayProject = `
-- src/workflows/relay.ts --
import { defineWorkflow } from "@svc/runtime";
export const route = (c, next) => next();
export const runs = (c, next) => next();
// The first node never ends its second step. What it recorded before, chance too, is what the second node goes on with.
export default defineWorkflow({
  async run({ step }) {
    const chance = Math.random();
    const first = await step("first", () => process.env.NODE_NAME + " " + chance);
    const second = await step("second", () => process.env.NODE_NAME === "one" ? new Promise(() => {}) : process.env.NODE_NAME);
    return { second, third: await step("third", () => process.env.NODE_NAME), kept: first === "one " + chance };
  },
});
`

// startNode starts one of several runtimes with the project.
func (h *halves) startNode(t *testing.T, name, address, project string) *process {
	t.Helper()
	settings := append(h.settings[:len(h.settings):len(h.settings)], "SVC_RUNTIME_LISTEN="+address, "SVC_PROJECT_ENV=NODE_NAME", "NODE_NAME="+name)
	return launch(t, settings, "runtime", "--data", filepath.Join(h.data, name), "--project", project)
}

// faceNode lets the gateway ask another runtime.
func (h *halves) faceNode(t *testing.T, address string) {
	t.Helper()
	if h.gateway != nil {
		h.gateway.kill()
	}
	settings := append(h.settings[:len(h.settings):len(h.settings)], "SVC_RUNTIME_URL=http://"+address)
	h.gateway = launch(t, settings, "gateway", "--data", filepath.Join(h.data, "gateway"))
}

// TestARunOfAProjectGoesOnAtAnotherNode kills the node that a run of TypeScript began on, in the middle of a step.
func TestARunOfAProjectGoesOnAtAnotherNode(t *testing.T) {
	t.Parallel()
	runs := 2
	if os.Getenv("SVC_SOAK") == "1" {
		runs = 100
	}
	h := newHalves(t, "127.0.0.1:"+freePort(t))
	project := bundletest.Project(t, relayProject)
	first, second := h.private, "127.0.0.1:"+freePort(t)
	one := h.startNode(t, "one", first, project)
	h.faceNode(t, first)
	ada := signUp(t, h.gateway.Serving, "ada", "runs:read", "workflows:run")
	ids := make([]string, runs)
	for i := range ids {
		ids[i] = begin(t, ada)
	}
	for _, id := range ids {
		within(t, "the second step of "+id+" begins", func() bool {
			return strings.Contains(ada.do(t, "GET", "/runs/"+id+"?offset=-1", "").body, `"name":"second"`)
		})
	}
	two := h.startNode(t, "two", second, project)
	one.kill()
	h.faceNode(t, second)
	for _, id := range ids {
		var run struct {
			Status string
			Result json.RawMessage
		}
		within(t, id+" ends", func() bool {
			got := ada.do(t, "GET", "/runs/"+id+"?meta", "")
			return json.Unmarshal([]byte(got.body), &run) == nil && run.Status != "" && run.Status != "active"
		})
		if string(run.Result) != `{"second":"two","third":"two","kept":true}` {
			t.Errorf("%s is %s: %s", id, run.Status, run.Result)
		}
	}
	if !strings.Contains(two.said(), `"msg":"project runs"`) || !strings.Contains(two.said(), `"bundle":"`) {
		t.Errorf("the log does not name the bundle: %s", two.said())
	}
}

// begin starts a run of the relay.
func begin(t *testing.T, p person) string {
	t.Helper()
	got := p.do(t, "POST", "/workflows/relay", "")
	var run struct{ RunID string }
	if err := json.Unmarshal([]byte(got.body), &run); err != nil || got.status != 202 {
		t.Fatalf("run: %d %s", got.status, got.body)
	}
	return run.RunID
}

// within waits for something that takes as long as a lease, on a machine with other things to do.
func within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
	}
}
