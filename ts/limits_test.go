package ts_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// careless are workflows that do what they should not, and one that does.
const careless = `
-- src/workflows/careful.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({
  async run({ step, sleep }) {
    const dice = Math.random(), marks = [];
    for (let i = 0; i < 3; i++) { marks.push(await step("s" + i, () => i)); await sleep(150); }
    const all = await Promise.all([0, 1].map((i) => step("p", () => new Promise((r) => setTimeout(r, 20, i)))));
    return [...marks, ...all, (await step("dice", () => dice)) === dice].join();
  },
});
-- src/workflows/loop.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async ({ step }) => { await step("before", () => 1); for (;;) ; } });
-- src/workflows/steploop.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async ({ step }) => { try { await step("loops", () => { for (;;) ; }); } catch (e) { return e.type + " " + e.message; } } });
-- src/workflows/bomb.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async () => { const a = []; for (;;) a.push(new Array(1000).fill(a.length)); } });
-- src/workflows/deep.ts --
import { defineWorkflow } from "@svc/runtime";
const deep = (n) => 1 + deep(n + 1);
export default defineWorkflow({ run: async () => { try { return deep(0); } catch (e) { return e.name; } } });
-- src/workflows/large.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async () => "x".repeat(1 << 20) });
-- src/workflows/later.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async ({ step }) => { await step("before", () => 1); await new Promise((r) => setTimeout(r, 300)); return "later"; } });
-- src/agents/slow.ts --
import { defineAgent } from "@svc/runtime";
export default defineAgent(() => new Promise(() => {}));
`

const neighbours = careless + `
-- src/app.ts --
export default { fetch: () => new Promise((r) => setTimeout(r, 200, new Response("x"))) };
`

// TestNeighboursOfALoopEndRight lets loops end engines while other runs are in them: each of those ends as it would have.
func TestNeighboursOfALoopEndRight(t *testing.T) {
	s := play(t, neighbours, func(s *stage) { s.config.Working, s.config.Limits.Turn = 2, time.Second })
	runs, loops := 24, 2
	if soak {
		runs, loops = 100, 8
	}
	var group sync.WaitGroup
	for i := range runs {
		group.Go(func() {
			if got := s.ends("careful", ""); got != `"0,1,2,0,1,true"` {
				t.Errorf("run %d ended with %s", i, got)
			}
		})
	}
	for i := range loops {
		group.Go(func() {
			want := "script_timeout ScriptTimeout: The script did not come to a rest in time."
			if got := s.ends("loop", ""); got != want {
				t.Errorf("loop %d ended with %s", i, got)
			}
		})
	}
	group.Wait()
	expect(t, "a loop in a step", s.ends("steploop", ""), `"script_timeout The script did not come to a rest in time."`)
}

func TestLimitsOfRunsAreSaid(t *testing.T) {
	s := play(t, neighbours, func(s *stage) { s.config.Limits.Turn, s.config.Limits.Memory = 10*time.Second, 24<<20 })
	expect(t, "a bomb", s.ends("bomb", ""), "script_memory ScriptMemory: The script used more memory than it may.")
	contains(t, "a deep call", s.ends("deep", ""), "Error")
	contains(t, "a large result", s.ends("large", ""), "record_too_large")
}

func TestAnInitializerThatNeverAnswersIsTimedOut(t *testing.T) {
	s := play(t, neighbours, func(s *stage) { s.config.Limits.Initializer = 50 * time.Millisecond })
	expect(t, "said", s.says("slow", "x", "hello"), "script_timeout: The initializer of agent slow did not answer in time.")
}

// TestWhatIsTooMuchIsToldToWait has requests refused when all engines are full, and runs wait.
func TestWhatIsTooMuchIsToldToWait(t *testing.T) {
	s := play(t, neighbours, func(s *stage) {
		s.config.Serving, s.config.Working, s.config.Limits.Acts = 1, 1, 2
	})
	answers := make(chan string, 6)
	for range cap(answers) {
		go func() {
			res, err := http.Get(s.server.URL)
			if err != nil {
				answers <- err.Error()
				return
			}
			_ = res.Body.Close()
			answers <- fmt.Sprint(res.StatusCode, res.Header.Get("Retry-After"))
		}()
	}
	got := map[string]int{}
	for range cap(answers) {
		got[<-answers]++
	}
	if got["200"] < 2 || got["5031"] == 0 || got["200"]+got["5031"] != cap(answers) {
		t.Errorf("the answers were %v", got)
	}
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() { expect(t, "a run", s.ends("later", ""), `"later"`) })
	}
	group.Wait()
}

// TestNothingIsLeftOfAProject counts goroutines after everything was done once.
func TestNothingIsLeftOfAProject(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := play(t, neighbours)
	expect(t, "a run", s.ends("careful", ""), `"0,1,2,0,1,true"`)
	expect(t, "a request", s.get("/"), "200 x")
	id := s.invoke("later", "")
	eventually(t, "the run has begun", func() bool { return strings.Contains(s.told("later", id), "before, before") })
	s.stop()
	http.DefaultClient.CloseIdleConnections()
	eventually(t, "nothing is left", func() bool { return goleak.Find(before) == nil })
}

// TestErrorsFitIntoTheRecord has a step, a run and an initializer throw more than a record holds, and what is not of the type that it should be.
func TestErrorsFitIntoTheRecord(t *testing.T) {
	s := play(t, `
-- workflows/long.ts --
import { defineWorkflow, SvcError } from "@svc/runtime";
const big = "x".repeat(2 << 20);
export default defineWorkflow({ run: async ({ step }) => {
  try { await step("throws", () => { throw new RangeError(big); }); } catch (e) { if (e.message.length > 70_000) return e.message.length; }
  throw new SvcError({ type: "long", message: big, details: big, meta: { big } });
} });
-- workflows/odd.ts --
import { defineWorkflow, SvcError } from "@svc/runtime";
export default defineWorkflow({ run: async () => { throw new SvcError({ type: "odd", message: "The facts are odd.", meta: "a text", status: 404.5 }); } });
-- agents/long.ts --
import { defineAgent, SvcError } from "@svc/runtime";
export default defineAgent(() => { throw new SvcError({ type: "long", message: "x".repeat(2 << 20) }); });
`, func(s *stage) { s.config.Limits.Turn = 10 * time.Second })
	run := s.await("long", s.invoke("long", ""))
	if run.Error == nil || run.Error.Type != "long" || len(run.Error.Message) > 64<<10 || len(run.Error.Details) > 64<<10 || run.Error.Meta != nil {
		t.Errorf("the run ends with %.200s", ending(run))
	}
	expect(t, "odd facts", s.ends("odd", ""), "odd Odd: The facts are odd.")
	if said := s.says("long", "x", "hello"); !strings.HasPrefix(said, "long: xxx") || len(said) > 65<<10 {
		t.Errorf("the agent says %.200s", said)
	}
	if n := len(s.log.String()); n > 1<<20 {
		t.Errorf("the log has %d bytes", n)
	}
}
