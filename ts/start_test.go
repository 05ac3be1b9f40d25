package ts_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
)

// TestAnEngineThatDoesNotStartFailsNobody: once the project was loaded, a run waits until one starts, and a request is told to try again,
// whether what the modules need is missing or does not answer.
func TestAnEngineThatDoesNotStartFailsNobody(t *testing.T) {
	var broken, silent atomic.Bool
	asked := make(chan struct{}, 1000)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		switch {
		case silent.Load():
			<-r.Context().Done()
		case broken.Load():
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer other.Close()
	s := play(t, `
-- src/app.ts --
const { status } = await fetch(process.env.AT);
if (status !== 200) throw new Error("the modules cannot be loaded: " + status);
export default { fetch: (r) => { if (r.url.endsWith("/loop")) for (;;) ; return new Response("ok"); } };
-- src/workflows/work.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async () => "done" });
`, func(s *stage) {
		s.config.Serving, s.config.Working, s.config.Env = 1, 1, map[string]string{"AT": other.URL}
		s.config.Limits.Turn, s.config.Limits.Start = time.Second, time.Second
	})
	<-asked
	broken.Store(true)
	id := s.invoke("work", "")
	<-asked
	contains(t, "the loop", s.get("/loop"), "504 ")
	contains(t, "the next request", s.get("/"), "503 ", "runtime_unavailable")
	eventually(t, "the log says why", func() bool {
		return strings.Contains(s.log.String(), "engine did not start") && strings.Contains(s.log.String(), "the modules cannot be loaded: 418")
	})
	silent.Store(true)
	contains(t, "a request while nothing answers", s.get("/"), "503 ", "runtime_unavailable")
	contains(t, "log", s.log.String(), "the modules have not loaded within 3s")
	broken.Store(false)
	silent.Store(false)
	expect(t, "the run", ending(s.await("work", id)), `"done"`)
	s.answersInTheEnd("/", "200 ok")
}

// TestACallThatWaitsForRoomHearsOfAStepThatEnds has a tool wait for an engine that a run and its step have filled. The run goes on.
func TestACallThatWaitsForRoomHearsOfAStepThatEnds(t *testing.T) {
	begun, goOn, stay := make(chan struct{}), make(chan struct{}), make(chan struct{})
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/step" {
			close(begun)
			<-goOn
			return
		}
		<-stay
	}))
	defer other.Close()
	defer close(stay)
	full := make(chan struct{})
	s := play(t, `
-- agents/helper.ts --
import { defineAgent, defineTool } from "@svc/runtime";
const add = defineTool({ name: "add", description: "Adds.", run: () => 1 + 1 });
export default defineAgent(() => ({ model: "scripted/x", tools: [add] }));
-- workflows/work.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async ({ step }) => { await step("one", async () => (await fetch(process.env.AT + "/step")).status); await fetch(process.env.AT); } });
`, func(s *stage) {
		s.config.Working, s.config.Limits.Acts, s.config.Env = 1, 2, map[string]string{"AT": other.URL}
		s.think = func(r model.Request) scripted.Turn { <-full; return think(r) }
	})
	said := make(chan string, 1)
	go func() { said <- s.says("helper", "x", "use add {}") }()
	eventually(t, "the agent was asked for", func() bool { _, working := s.project.Stats(); return working.Turns > 1 && working.Acts == 0 })
	s.invoke("work", "")
	<-begun
	close(full)
	// The call has come, and found no room.
	s.hears("helper", "x", `"add"`)
	close(goOn)
	expect(t, "said", <-said, "The tool says 2")
}
