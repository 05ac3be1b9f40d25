package ts_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const guarded = `
-- src/agents/helper.ts --
import { defineAgent } from "@svc/runtime";
export const route = async (c, next) => {
  if (c.req.header("x-deny")) return c.json({ denied: c.req.param("id"), user: c.get("user") ?? "nobody" }, 403);
  if (c.req.header("x-silent")) return;
  c.header("x-before", "set");
  await next();
  c.header("x-after", c.req.param("name") + " " + c.res.status);
  if (c.req.header("x-twice")) await next();
};
export default defineAgent(({ id }) => ({ model: "scripted/x", instructions: "For " + id }));
-- src/workflows/work.ts --
import { defineWorkflow } from "@svc/runtime";
export const route = (c, next) => next();
export const runs = async (c, next) => { if (c.req.header("x-runs") !== "yes") return c.text("no " + c.req.param("runId").slice(0, 4), 401); await next(); };
export default defineWorkflow({ run: async ({ step }) => step("one", () => "done") });
-- src/workflows/hidden.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async () => 1 });
`

// TestGuardsDecideWithoutAnApplication has the API at "/", and contexts of our own.
func TestGuardsDecideWithoutAnApplication(t *testing.T) {
	guards(t, play(t, guarded), "", "nobody")
}

// TestGuardsRunOnTheApplicationsContext has the API below a prefix, behind a middleware whose variables the guards see.
func TestGuardsRunOnTheApplicationsContext(t *testing.T) {
	s := playWith(t, guarded+application)
	guards(t, s, "/api/v1", "ada")
	expect(t, "a path of the application", s.get("/hello/x%2Fy?z=1"), `200 {"name":"x/y","z":"1"}`)
	expect(t, "a path of nobody", s.get("/api/v1/nothing"), "404 404 Not Found")
}

func guards(t *testing.T, s *stage, prefix, user string) {
	t.Helper()
	at := prefix + "/agents/helper/x"
	expect(t, "denied", s.get(at, "X-Deny", "1"), `403 {"denied":"x","user":"`+user+`"}`)
	contains(t, "silent", s.get(at, "X-Silent", "1"), "500 ", "internal_error")
	contains(t, "twice", s.get(at, "X-Twice", "1"), "500 ", "internal_error")
	status, head, body := s.exchange(http.MethodPost, at, `{"kind":"user","body":"hello"}`, "Content-Type", "application/json")
	expect(t, "passed", fmt.Sprint(status, head.Get("X-Before"), head.Get("X-After")), "202sethelper 202")
	contains(t, "the link", body, `"streamUrl":"`+s.server.URL+prefix+`/agents/helper/x"`)
	expect(t, "said", s.settled("helper", "x", ""), "For x heard hello")
	contains(t, "history", s.get(at), "200 ", "For x heard hello")
	contains(t, "a workflow without a guard", s.do(http.MethodPost, prefix+"/workflows/hidden", ""), "404 ", "workflow_not_found")
	contains(t, "a result", s.do(http.MethodPost, prefix+"/workflows/work?wait=result", ""), "200 ", `"result":"done"`)
	id := s.invoke("work", "")
	expect(t, "runs denied", s.get(prefix+"/runs/"+id), "401 no run_")
	contains(t, "runs", s.get(prefix+"/runs/"+id+"?meta", "X-Runs", "yes"), "200 ", `"workflowName":"work"`)
}

const application = `
-- src/app.ts --
import { SvcError, invoke, dispatch } from "@svc/runtime";
import { svc } from "@svc/runtime/routing";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
const app = new Hono();
app.use("/api/*", async (c, next) => { c.set("user", "ada"); c.header("x-app", "1"); await next(); });
app.route("/api/:version", svc());
app.mount("/mounted", svc().fetch);
app.get("/hello/:name", (c) => c.json({ name: c.req.param("name"), z: c.req.query("z") }));
app.post("/echo", async (c) => c.json({ got: await c.req.json(), type: c.req.header("content-type") }));
app.post("/bytes", async (c) => c.body(await c.req.arrayBuffer(), 200, { "content-type": "application/octet-stream" }));
app.post("/through", (c) => new Response(c.req.raw.body, { headers: { "x-through": "1" } }));
app.post("/read", async (c) => { const body = await c.req.raw.clone().text(); const r = new Request("http://x/api/v1/agents/helper/" + body.length, c.req.raw); return app.fetch(r); });
app.get("/sse", (c) => streamSSE(c, async (s) => { for (let i = 0; i < 3; i++) await s.writeSSE({ data: String(i), id: String(i) }); }));
app.get("/generated", () => new Response(ReadableStream.from((async function* () { for (const x of ["a", "b"]) yield new TextEncoder().encode(x); })()), { headers: { "content-length": "99" } }));
app.get("/broken", () => new Response(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode("half")); }, pull() { throw new Error("broken"); } })));
let open = 0;
app.get("/forever", (c) => streamSSE(c, async (s) => { open++; s.onAbort(() => { open--; }); while (!s.aborted) { await s.writeSSE({ data: "x" }); await s.sleep(5); } }));
app.get("/open", (c) => c.json({ open }));
app.get("/fetched", (c) => fetch(c.req.query("url")));
app.get("/read-api", async (c) => { const r = await svc().fetch(new Request("http://x/workflows/none", { method: "POST" })); return c.json({ status: r.status, type: (await r.json()).error.type }); });
app.get("/thrown", () => { throw new RangeError("thrown in a handler"); });
app.get("/typed", () => { throw new SvcError({ type: "teapot", message: "I am a teapot.", status: 418 }); });
app.get("/silent", () => undefined);
app.get("/cookies", (c) => { c.header("set-cookie", "a=1", { append: true }); c.header("set-cookie", "b=2", { append: true }); return c.text("x"); });
app.get("/loop", () => { for (;;) ; });
app.get("/bomb", () => { const a = []; for (;;) a.push(new Array(1000).fill(a.length)); });
app.get("/never", () => new Promise(() => {}));
let late = 0;
app.get("/late", (c) => { c.executionCtx.waitUntil(new Promise((r) => setTimeout(r, 30)).then(() => fetch(c.req.query("url"))).then(() => { late++; })); return c.json({ late }); });
export default app;
`

func TestAnApplicationAnswersAsTheWebDoes(t *testing.T) {
	s := playWith(t, guarded+application, func(s *stage) { s.config.Limits.Body = 1 << 20 })
	expect(t, "JSON", s.do(http.MethodPost, "/echo", `{"a":"ü"}`, "Content-Type", "application/json"), `200 {"got":{"a":"ü"},"type":"application/json"}`)
	odd := "\x00\xff\xfe binary \x80"
	expect(t, "bytes", s.do(http.MethodPost, "/bytes", odd), "200 "+odd)
	expect(t, "a body passed through", s.do(http.MethodPost, "/through", odd), "200 "+odd)
	expect(t, "SSE", s.get("/sse"), "200 data: 0\nid: 0\n\ndata: 1\nid: 1\n\ndata: 2\nid: 2\n\n")
	expect(t, "a generator", s.get("/generated"), "200 ab")
	_, head, _ := s.exchange(http.MethodGet, "/cookies", "")
	expect(t, "cookies", strings.Join(head.Values("Set-Cookie"), " "), "a=1 b=2")
	expect(t, "thrown", s.get("/thrown"), "500 Internal Server Error")
	expect(t, "thrown with a status", s.get("/typed"), `418 {"error":{"type":"teapot","message":"I am a teapot.","details":""}}`)
	contains(t, "a body that is too long", s.do(http.MethodPost, "/bytes", strings.Repeat("x", 1<<20+1)), "413 ", "body_too_large")
	contains(t, "the API below another application", s.do(http.MethodPost, "/mounted/workflows/none", ""), "404 ", "workflow_not_found")
	contains(t, "a request that was read and made another", s.do(http.MethodPost, "/read", `{"kind":"user","body":"again"}`, "Content-Type", "application/json"), "202 ", "/agents/helper/30")
	expect(t, "HEAD", s.do(http.MethodHead, "/hello/x", ""), "200 ")
	contains(t, "log", s.log.String(), "RangeError: thrown in a handler", "src/app.ts:22:", "at fetch (node_modules/hono/dist/hono-base.js:")
	if strings.Contains(s.log.String(), "../") {
		t.Error("a stack leads out of the project")
	}
}

// TestARequestThatAnApplicationMadeHasTheBodyOfItsMaking has words cleaned in every form that a body has, before a middleware that reads it, or does not.
func TestARequestThatAnApplicationMadeHasTheBodyOfItsMaking(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"user","body":"fetched"}`)
	}))
	defer other.Close()
	s := playWith(t, guarded+`
-- src/app.ts --
import { svc } from "@svc/runtime/routing";
import { Hono } from "hono";
const app = new Hono();
app.use("/api/*", async (c, next) => { if (c.req.header("x-read")) await c.req.json(); await next(); });
app.route("/api", svc());
app.post("/made/:how/:id", async (c) => {
  const { how, id } = c.req.param(), url = "http://x/api/agents/helper/" + id, headers = c.req.raw.headers;
  if (how === "came") return app.fetch(new Request(url, c.req.raw));
  const text = (await c.req.text()).replace("secret", "word"), bytes = new TextEncoder().encode(text);
  const body = how === "text" ? text : how === "bytes" ? bytes : how === "stream" ? ReadableStream.from([bytes]) : (await fetch(process.env.OTHER)).body;
  return app.fetch(new Request(url, { method: "POST", headers, body, duplex: "half" }));
});
export default app;
`, func(s *stage) { s.config.Env = map[string]string{"OTHER": other.URL} })
	for _, c := range []struct{ how, read, heard string }{
		{"came", "", "my secret"}, {"text", "", "my word"}, {"bytes", "", "my word"}, {"stream", "", "my word"}, {"fetched", "", "fetched"},
		{"came", "yes", "my secret"}, {"text", "yes", "my word"}, {"bytes", "yes", "my word"}, {"stream", "yes", ""}, {"fetched", "yes", ""},
	} {
		id := c.how + c.read
		got := s.do(http.MethodPost, "/made/"+c.how+"/"+id, `{"kind":"user","body":"my secret"}`, "Content-Type", "application/json", "X-Read", c.read)
		if c.heard == "" {
			expect(t, "what was read from a stream", got, "500 Internal Server Error")
			continue
		}
		contains(t, id, got, "202 ")
		expect(t, id, s.settled("helper", id, ""), "For "+id+" heard "+c.heard)
	}
	contains(t, "log", s.log.String(), "TypeError: Body is unusable: Body has already been read")
}

// TestLinksLeadBelowAMount has one that takes its prefix off the request, as Hono's does.
func TestLinksLeadBelowAMount(t *testing.T) {
	for name, public := range map[string]string{"as it was received": "", "as it is known": "https://shop.example/base"} {
		t.Run(name, func(t *testing.T) {
			s := playWith(t, guarded+application, func(s *stage) {
				if public != "" {
					s.config.API.PublicURL = func(*http.Request) string { return public }
				}
			})
			const at = "/mounted/agents/helper/a%2Fb"
			link := cmp.Or(public, s.server.URL) + at
			status, head, body := s.exchange(http.MethodPost, at, `{"kind":"user","body":"hello"}`, "Content-Type", "application/json")
			expect(t, "answer", fmt.Sprint(status, " ", head.Get("Location")), "202 "+link)
			contains(t, "answer", body, `"streamUrl":"`+link+`"`)
			s.settled("helper", "a/b", "")
			contains(t, "what is there", s.get(at), "200 ", "heard hello")
		})
	}
}

func TestWhatComesFromElsewhereIsPassedOn(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Other", "1")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "from elsewhere")
	}))
	defer other.Close()
	s := playWith(t, guarded+application)
	status, head, body := s.exchange(http.MethodGet, "/fetched?url="+other.URL, "")
	expect(t, "answer", fmt.Sprint(status, " ", head.Get("X-Other"), " ", body), "418 1 from elsewhere")
}

// TestAnAnswerThatBreaksOffIsSeenToBreakOff must not look whole.
func TestAnAnswerThatBreaksOffIsSeenToBreakOff(t *testing.T) {
	s := playWith(t, guarded+application)
	res, err := http.Get(s.server.URL + "/broken")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if data, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("it read %q to its end", data)
	}
}

func TestAClientThatLeavesEndsItsStream(t *testing.T) {
	s := playWith(t, guarded+application, func(s *stage) { s.config.Serving = 1 })
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+"/forever", nil)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); line != "data: x\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	expect(t, "open", s.get("/open"), `200 {"open":1}`)
	leave()
	_ = res.Body.Close()
	eventually(t, "the stream is closed", func() bool { return s.get("/open") == `200 {"open":0}` })
}

func TestWorkBehindAnAnswerIsFinished(t *testing.T) {
	asked := make(chan bool, 100)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- true }))
	defer other.Close()
	s := playWith(t, guarded+application, func(s *stage) { s.config.Serving = 1 })
	expect(t, "late", s.get("/late?url="+other.URL), `200 {"late":0}`)
	<-asked
	eventually(t, "the work is done", func() bool { return s.get("/late?url="+other.URL) != `200 {"late":0}` })
}

// leaving leaves work behind its answers, until it is let go.
const leaving = `
-- app.ts --
let go;
export default { fetch(request, env, ctx) {
  const { pathname } = new URL(request.url);
  if (pathname === "/leave") ctx.waitUntil(new Promise((done) => { go = done; }));
  if (pathname === "/go") go();
  return new Response("x");
} };
`

// TestWorkBehindAnAnswerIsWaitedFor has another request let it go.
func TestWorkBehindAnAnswerIsWaitedFor(t *testing.T) {
	s := play(t, leaving, func(s *stage) { s.config.Serving = 1 })
	acts := func() int { serving, _ := s.project.Stats(); return serving.Acts }
	expect(t, "answer", s.get("/leave"), "200 x")
	drain := func(within time.Duration) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		s.project.Drain(ctx)
	}
	if drain(time.Millisecond); acts() != 1 {
		t.Errorf("%d acts are left of 1", acts())
	}
	expect(t, "answer", s.get("/go"), "200 x")
	if drain(patience()); acts() != 0 {
		t.Errorf("%d acts are left", acts())
	}
}

func TestWorkBehindAnAnswerThatIsCutOffIsTold(t *testing.T) {
	s := play(t, leaving, func(s *stage) { s.config.Limits.Late = 10 * time.Millisecond })
	expect(t, "answer", s.get("/leave"), "200 x")
	eventually(t, "it took too long", func() bool {
		return strings.Contains(s.log.String(), `msg="work behind an answer failed" method=GET path=/leave error="it did not end in time"`)
	})
	s = play(t, leaving)
	expect(t, "answer", s.get("/leave"), "200 x")
	s.stop()
	contains(t, "log", s.log.String(), `msg="work behind an answer was cut off" method=GET path=/leave`)
}

// TestALostEngineKeepsNoBodies has room for one body, which a request has read that leaves work behind and ends its engine.
func TestALostEngineKeepsNoBodies(t *testing.T) {
	s := play(t, `
-- app.ts --
export default { async fetch(request, env, ctx) {
  const text = await request.text();
  if (text === "loop") { ctx.waitUntil(new Promise(() => {})); for (;;) ; }
  return new Response(text);
} };
`, func(s *stage) {
		s.config.Serving, s.config.Limits.Turn, s.config.Limits.Bodies = 1, 300*time.Millisecond, 4
	})
	contains(t, "the loop", s.do(http.MethodPost, "/", "loop"), "504 ", "script_timeout")
	eventually(t, "another body is read", func() bool { return s.do(http.MethodPost, "/", "next") == "200 next" })
}

func TestAnAnswerThatDoesNotBeginIsTimedOut(t *testing.T) {
	s := playWith(t, guarded+application, func(s *stage) { s.config.Limits.Head = 2 * time.Second })
	contains(t, "answer", s.get("/never"), "504 ", "script_timeout")
	contains(t, "what the API waits for", s.do(http.MethodPost, "/api/v1/workflows/work?wait=result", ""), "200 ")
}

// TestALoopEndsItsEngineAndNoOther has neighbours told to try again, and the next request answered.
func TestALoopEndsItsEngineAndNoOther(t *testing.T) {
	s := playWith(t, guarded+application, func(s *stage) { s.config.Serving, s.config.Limits.Turn = 1, time.Second })
	neighbour := make(chan string, 1)
	go func() {
		res, err := http.Get(s.server.URL + "/never")
		if err != nil {
			neighbour <- err.Error()
			return
		}
		defer res.Body.Close()
		neighbour <- fmt.Sprint(res.StatusCode, " ", res.Header.Get("Retry-After"))
	}()
	eventually(t, "the neighbour is there", func() bool { serving, _ := s.project.Stats(); return serving.Acts == 1 })
	contains(t, "the loop", s.get("/loop"), "504 ", "script_timeout")
	expect(t, "its neighbour", <-neighbour, "503 1")
	took := s.nextTakes()
	// A machine that is busy may take longer once, and not every time.
	for tries := 1; took > time.Second; tries++ {
		if tries == 5 {
			t.Fatalf("the next request took %s, and never less than a second", took)
		}
		contains(t, "the loop", s.get("/loop"), "504 ", "script_timeout")
		took = s.nextTakes()
	}
	t.Attr("answer-after-a-loop", took.Round(time.Millisecond).String())
}

// nextTakes is how long the next request takes.
func (s *stage) nextTakes() time.Duration {
	s.t.Helper()
	began := time.Now()
	s.answersInTheEnd("/open", `200 {"open":0}`)
	return time.Since(began)
}

func TestABombEndsInItsOwnAnswer(t *testing.T) {
	s := playWith(t, guarded+application, func(s *stage) {
		s.config.Serving, s.config.Limits.Turn, s.config.Limits.Memory = 1, 10*time.Second, 24<<20
	})
	status, _, _ := s.exchange(http.MethodGet, "/bomb", "")
	if status != http.StatusInternalServerError {
		t.Errorf("the bomb is answered with %d", status)
	}
	eventually(t, "the next is answered", func() bool { return s.get("/open") == `200 {"open":0}` })
}

func TestWithoutAFrameworkAnApplicationIsAFetch(t *testing.T) {
	s := play(t, `
-- app.ts --
export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/odd") return "a text";
    if (pathname === "/thrown") throw new TypeError("thrown");
    return Response.json({ method: request.method, pathname, env: env.X, ctx: typeof ctx.waitUntil, node: typeof globalThis.__svc });
  },
};
`, func(s *stage) { s.config.Env = map[string]string{"X": "y"} })
	expect(t, "answer", s.do(http.MethodPut, "/a/b", ""), `200 {"method":"PUT","pathname":"/a/b","env":"y","ctx":"function","node":"undefined"}`)
	contains(t, "no answer", s.get("/odd"), "500 ", `"type":"internal_error"`)
	status, head, body := s.exchange(http.MethodGet, "/thrown", "")
	if status != 500 || strings.Contains(body, "thrown") || !strings.HasPrefix(head.Get("X-Request-Id"), "req_") {
		t.Errorf("thrown: %d %v %s", status, head, body)
	}
	contains(t, "log", s.log.String(), "TypeError: thrown", "app.ts:5:")
}

func TestDevelopersAreToldWhatWasThrown(t *testing.T) {
	s := play(t, "-- app.ts --\nexport default { fetch() { throw new TypeError(\"thrown\"); } };\n", func(s *stage) { s.config.API.Dev = true })
	contains(t, "answer", s.get("/"), "500 ", `"dev":"TypeError: thrown\n`, "app.ts:1:")
}

// TestStreamsOfTheAPINeverEnterJavaScript follows a run through the application, a middleware and a guard, and counts turns.
func TestStreamsOfTheAPINeverEnterJavaScript(t *testing.T) {
	s := playWith(t, guarded+application+`
-- src/workflows/chatty.ts --
import { defineWorkflow } from "@svc/runtime";
export const runs = (c, next) => next();
export default defineWorkflow({ run: async ({ log, sleep, step }) => { for (let i = 0; i < 60; i++) { log.info("line " + i); await sleep(5); } await step("last", () => 1); } });
`)
	id := s.invoke("chatty", "")
	res, err := http.Get(s.server.URL + "/api/v1/runs/" + id + "?offset=-1&live=sse")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	expect(t, "type", res.Header.Get("Content-Type"), "text/event-stream")
	expect(t, "the middleware's header", res.Header.Get("X-App"), "1")
	lines := bufio.NewReader(res.Body)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	before, _ := s.project.Stats()
	if before.Acts != 0 {
		t.Errorf("a reader has %d acts", before.Acts)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	after, _ := s.project.Stats()
	if got := strings.Count(string(rest), "line "); got < 40 {
		t.Errorf("only %d lines came after the first", got)
	}
	if turns := after.Turns - before.Turns; turns > 2 {
		t.Errorf("the stream took %d turns", turns)
	}
}

// TestASlowClientHoldsNoEngine has a client that reads nothing of a long answer, whose maker asks the API and holds the request meanwhile: the
// engine waits for neither.
func TestASlowClientHoldsNoEngine(t *testing.T) {
	s := playWith(t, `
-- app.ts --
import { svc } from "@svc/runtime/routing";
const api = svc(), block = new Uint8Array(1 << 20);
let asked = 0;
export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname !== "/long") return Response.json({ asked });
    const ask = async () => { for (;;) { await (await api.fetch(new Request("http://x/workflows/none", { method: "POST" }))).text(); ctx.waitUntil(Promise.resolve()); asked++; await new Promise((go) => { setTimeout(go, 10); }); } };
    ask();
    return new Response(new ReadableStream({ pull(c) { c.enqueue(block.slice()); } }));
  },
};
`, func(s *stage) { s.config.Serving, s.config.Limits.Turn = 1, 2*time.Second })
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /long HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	// Longer than an engine may be stuck, once the answer does not get on.
	for until := time.Now().Add(6 * time.Second); time.Now().Before(until); {
		contains(t, "a request beside it", s.get("/"), `200 {"asked":`)
	}
	if asked := s.get("/"); asked == `200 {"asked":0}` {
		t.Error("the API was not asked")
	}
	if serving, _ := s.project.Stats(); serving.Lost != 0 || serving.Stuck != 0 {
		t.Errorf("engines were lost: %+v\n%s", serving, s.log)
	}
}
