package ts_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// behind has channels and a guard whose answers the script makes or changes, behind an application.
const behind = `
-- src/app.ts --
import { svc } from "@svc/runtime/routing";
import { Hono } from "hono";
const app = new Hono();
app.use(async (c, next) => { await next(); c.header("x-app", "1"); });
app.get("/left", (c) => c.json({ left: globalThis.left ?? 0 }));
app.route("/api", svc());
export default app;
-- src/channels/feed.ts --
import { streamSSE } from "hono/streaming";
const later = (ms) => new Promise((go) => { setTimeout(go, ms); });
const made = () => { let n = 0; return new ReadableStream({ async pull(c) { await later(5); if (n === 20) c.close(); else c.enqueue(new TextEncoder().encode(n++ + ";")); } }); };
export const channel = { routes: [
  { method: "GET", path: "/made", handler: () => new Response(made()) },
  { method: "GET", path: "/events", handler: (c) => streamSSE(c, async (s) => { for (let i = 0; i < 20; i++) { await s.writeSSE({ data: String(i) }); await s.sleep(5); } }) },
  { method: "GET", path: "/fetched", handler: (c) => fetch(c.req.query("url")) },
  { method: "GET", path: "/forever", handler: (c) => { c.req.raw.signal.addEventListener("abort", () => { globalThis.left = 1; }); return streamSSE(c, async (s) => { while (!s.aborted) { await s.writeSSE({ data: "x" }); await s.sleep(5); } }); } },
  { method: "GET", path: "/broken", handler: () => new Response(new ReadableStream({ async pull(c) { c.enqueue(new Uint8Array(1)); await later(5); throw new Error("broken"); } })) },
] };
-- src/workflows/chatty.ts --
import { defineWorkflow } from "@svc/runtime";
export const runs = async (c, next) => {
  await next();
  const loud = new TransformStream({ transform: (chunk, to) => to.enqueue(new TextEncoder().encode(new TextDecoder().decode(chunk).toUpperCase())) });
  c.res = new Response(c.res.body.pipeThrough(loud), c.res);
};
export default defineWorkflow({ run: async ({ log, sleep }) => { for (let i = 0; i < 20; i++) { log.info("line " + i); await sleep(5); } } });
`

// TestStreamsBehindTheApplicationComeToTheirEnd has the application pass on what a script within goes on to make.
func TestStreamsBehindTheApplicationComeToTheirEnd(t *testing.T) {
	s := playWith(t, behind, func(s *stage) { s.config.Serving = 1 })
	expect(t, "a stream", s.read("/api/channels/feed/made"), "0;1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;")
	contains(t, "events", s.read("/api/channels/feed/events"), "data: 0\n", "data: 19\n")
	contains(t, "what a guard has changed", s.read("/api/runs/"+s.invoke("chatty", "")+"?offset=-1&live=sse"), "LINE 0", "LINE 19", "RUN_END")
	expect(t, "what breaks off", breaksOff("/api/channels/feed/broken")(s), "broke off")
	s.isIdle()
}

// TestAnAnswerFromElsewhereComesToItsEndBehindTheApplication has the other side go on after the application has answered.
func TestAnAnswerFromElsewhereComesToItsEndBehindTheApplication(t *testing.T) {
	goOn := make(chan struct{})
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-goOn:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "last\n")
	}))
	defer other.Close()
	s := playWith(t, behind)
	res := s.open("/api/channels/feed/fetched?url=" + other.URL)
	lines := bufio.NewReader(res.Body)
	if line, err := lines.ReadString('\n'); line != "first\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	close(goOn)
	rest, err := io.ReadAll(lines)
	if string(rest) != "last\n" || err != nil {
		t.Errorf("the rest is %q, %v", rest, err)
	}
	s.isIdle()
}

func TestAClientThatLeavesIsToldOfBehindTheApplication(t *testing.T) {
	s := playWith(t, behind, func(s *stage) { s.config.Serving = 1 })
	res := s.open("/api/channels/feed/forever")
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); line != "data: x\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	_ = res.Body.Close()
	eventually(t, "the script is told", func() bool { return s.get("/left") == `200 {"left":1}` })
	s.isIdle()
}

// open begins to read an answer, for as long as a test is patient.
func (s *stage) open(path string) *http.Response {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience())
	s.t.Cleanup(cancel)
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+path, nil)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// read is an answer to its end.
func (s *stage) read(path string) string {
	s.t.Helper()
	res := s.open(path)
	if res.Header.Get("X-App") != "1" {
		s.t.Errorf("%s did not come through the application", path)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Errorf("%s: %q and %v", path, text, err)
	}
	return string(text)
}

// isIdle waits until no act is left, and looks whether any engine was lost on the way.
func (s *stage) isIdle() {
	s.t.Helper()
	eventually(s.t, "no act is left", func() bool { serving, _ := s.project.Stats(); return serving.Acts == 0 })
	if serving, _ := s.project.Stats(); serving.Lost != 0 {
		s.t.Errorf("engines were lost: %+v", serving)
	}
}
