package ts_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// meddling has guards that touch what an answer of the API is made of, before it comes.
const meddling = `
-- src/workflows/work.ts --
import { defineWorkflow } from "@svc/runtime";
const meddle = {
  informs: (c) => c.status(101), invents: (c) => c.status(999), babbles: (c) => c.status("teapot"), made: (c) => c.status(201),
  wraps: (c) => { const real = c.newResponse.bind(c); c.newResponse = (body, init) => real(body, { status: init.status }); },
  fills: (c) => { c.newResponse = () => new Response("own", { headers: { "x-own": "1" } }); },
  streams: (c) => { c.newResponse = () => new Response(ReadableStream.from(["own"])); },
  measures: (c) => { c.newResponse = () => new Response("own", { headers: { "content-length": "3" } }); },
  empties: (c) => { const real = c.newResponse.bind(c); c.newResponse = (body, init) => real(body ?? "", init); },
  leads: (c) => { c.newResponse = () => Response.redirect("http://x/"); },
  feigns: (c) => { c.newResponse = (body, init) => ({ body, ...init }); },
  forgets: (c) => { c.newResponse = () => {}; },
  throws: (c) => { c.newResponse = () => { throw new Error("no"); }; },
};
export const route = async (c, next) => {
  meddle[c.req.header("x-how")]?.(c);
  await next();
};
export const runs = route;
export default defineWorkflow({ run: async () => "done" });
`

// TestAGuardThatMeddlesLetsTheAnswerPass: what the API has done is not told as an error.
func TestAGuardThatMeddlesLetsTheAnswerPass(t *testing.T) {
	behind := "-- src/app.ts --\n" + `
import { svc } from "@svc/runtime/routing";
import { Hono } from "hono";
const app = new Hono();
app.route("/", svc());
export default app;
`
	for name, s := range map[string]*stage{"on a context of ours": play(t, meddling), "on the framework's": playWith(t, meddling+behind)} {
		t.Run(name, func(t *testing.T) {
			run := s.invoke("work", "")
			s.await("work", run)
			for _, how := range []string{"", "informs", "invents", "babbles", "made", "wraps", "fills", "streams", "measures", "empties", "leads", "feigns", "forgets", "throws"} {
				contains(t, how, s.do(http.MethodPost, "/workflows/work?wait=result", "", "X-How", how), "200 ", `"result":"done"`)
				_, head, _ := s.exchange(http.MethodGet, "/runs/"+run, "")
				tag := head.Get("ETag")
				if tag == "" {
					t.Fatal("the run has no tag")
				}
				expect(t, how+", not modified", s.get("/runs/"+run, "If-None-Match", tag, "X-How", how), "304 ")
			}
		})
	}
}

// TestWhatATurnBeginsBehindItsAnswerIsKept has functions that nobody waits for, and that go on when the answer is made.
func TestWhatATurnBeginsBehindItsAnswerIsKept(t *testing.T) {
	asked := make(chan string, 8)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer other.Close()
	s := play(t, fmt.Sprintf(`
-- app.ts --
const audit = async (ctx, what, turns) => {
  for (let i = 0; i < turns; i++) await null;
  for (const until = Date.now() + 50; Date.now() < until;) ;
  ctx.waitUntil(new Promise((done) => setTimeout(done, 10)).then(() => fetch(%q + what)));
};
const streamed = (ctx, what) => new Response(new ReadableStream({
  pull(c) { c.enqueue(new TextEncoder().encode(what)); c.close(); audit(ctx, what, 20); },
}));
export default { fetch(request, env, ctx) {
  const { pathname } = new URL(request.url);
  if (pathname === "/streamed") return streamed(ctx, pathname);
  audit(ctx, pathname, 20);
  if (pathname === "/thrown") throw new Error("thrown");
  return pathname === "/whole" ? new Response(pathname) : Promise.resolve(new Response(pathname));
} };
`, other.URL), func(s *stage) { s.config.Serving = 1 })
	for _, path := range []string{"/whole", "/later", "/streamed", "/thrown"} {
		s.get(path)
		select {
		case got := <-asked:
			expect(t, "asked", got, path)
		case <-time.After(patience()):
			t.Errorf("%s: the work behind the answer is lost", path)
		}
	}
}

// TestAnAnswerHasAStatusOfAnAnswer: a project's own classes may say anything.
func TestAnAnswerHasAStatusOfAnAnswer(t *testing.T) {
	s := play(t, `
-- app.ts --
class Odd extends Response { get status() { return Number(new URL(this.at).searchParams.get("n")); } }
export default { fetch(request) {
  if (new URL(request.url).pathname === "/error") return Response.error();
  return Object.assign(new Odd("x"), { at: request.url });
} };
`)
	for _, path := range []string{"/error", "/?n=0", "/?n=101", "/?n=-200", "/?n=1000", "/?n=NaN", "/?n=-1"} {
		contains(t, path, s.get(path), "500 ", `"type":"internal_error"`)
	}
	expect(t, "a usual one", s.get("/?n=418"), "418 x")
	expect(t, "one that some sites give", s.get("/?n=999"), "999 x")
	contains(t, "log", s.log.String(), "1000 is not the status of an answer")
}

// TestWhatTheAPIDoesNotTakeIsRefusedAsAPromise: who calls a handler of its own waits for what comes of it.
func TestWhatTheAPIDoesNotTakeIsRefusedAsAPromise(t *testing.T) {
	s := playWith(t, meddling+`
-- src/app.ts --
import { svc } from "@svc/runtime/routing";
export default { fetch: () => svc().routes[0].handler({}).catch((e) => new Response("refused: " + e.name)) };
`)
	expect(t, "refused", s.get("/"), "200 refused: TypeError")
}

// TestAnAnswerThatIsMadeIsGiven whatever becomes of its engine in the same turn.
func TestAnAnswerThatIsMadeIsGiven(t *testing.T) {
	s := play(t, `
-- app.ts --
const does = {
  "/loop": () => { for (;;) ; },
  "/deaf": () => { new Array(8e6).indexOf(1); },
  "/bomb": () => { const a = []; for (;;) a.push(new Array(1000).fill(a.length)); },
};
const later = async (work) => { for (let i = 0; i < 20; i++) await null; work?.(); };
export default { fetch(request) {
  const { pathname } = new URL(request.url);
  later(does[pathname]);
  return new Response(pathname);
} };
`, func(s *stage) {
		s.config.Serving, s.config.Limits.Turn, s.config.Limits.Memory = 1, 200*time.Millisecond, 16<<20
	})
	for i, path := range []string{"/loop", "/deaf", "/bomb"} {
		expect(t, path, s.get(path), "200 "+path)
		s.answersInTheEnd("/next", "200 /next")
		if lost := strings.Count(s.log.String(), "engine replaced"); lost <= i {
			t.Errorf("after %s %d engines are lost", path, lost)
		}
	}
}
