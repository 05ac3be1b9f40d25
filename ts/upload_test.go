package ts_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// uploads is an application that reads what it is sent, or does not.
const uploads = `
-- src/app.ts --
import { svc } from "@svc/runtime/routing";
import { Hono } from "hono";
const app = new Hono();
app.post("/echo", (c) => new Response(c.req.raw.body));
app.post("/piped", (c) => new Response(c.req.raw.body.pipeThrough(new TransformStream())));
app.post("/read", async (c) => c.text((await c.req.text()).slice(0, 20)));
app.all("/never", () => new Promise(() => {}));
app.post("/late", async (c) => { await c.req.text(); c.executionCtx.waitUntil(new Promise(() => {})); for (;;) ; });
app.get("/loop", () => { for (;;) ; });
app.get("/ok", (c) => c.text("ok"));
app.get("/host", (c) => c.text(c.req.header("host") + " " + new URL(c.req.url).host));
app.route("/api", svc());
export default app;
-- src/channels/hook.ts --
export const channel = { routes: [{ method: "POST", path: "/echo", handler: (c) => new Response(c.req.raw.body) }] };
-- src/workflows/work.ts --
import { defineWorkflow } from "@svc/runtime";
export const route = (c, next) => next();
export default defineWorkflow({ run: async () => 1 });
`

// TestARequestThatIsSentBackComesBackWhole: the server reads nothing of it away when the answer begins.
func TestARequestThatIsSentBackComesBackWhole(t *testing.T) {
	s := playWith(t, uploads)
	for _, path := range []string{"/echo", "/piped", "/api/channels/hook/echo"} {
		for _, size := range []int{100 << 10, 1 << 20} {
			text := strings.Repeat("x", size)
			for how, body := range map[string]io.Reader{"announced": strings.NewReader(text), "in chunks": struct{ io.Reader }{strings.NewReader(text)}} {
				res, err := http.Post(s.server.URL+path, "text/plain", body)
				if err != nil {
					t.Fatalf("%s, %d bytes %s: %v", path, size, how, err)
				}
				got, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if string(got) != text || err != nil {
					t.Errorf("%s, %d bytes %s: %d came back, %v", path, size, how, len(got), err)
				}
			}
		}
	}
}

// slowly begins to send a body and does not go on; the answer comes by the channel.
func (s *stage) slowly(path string) <-chan string {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"a\":"); err != nil {
		s.t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() {
		_ = conn.SetReadDeadline(time.Now().Add(patience()))
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		answer <- fmt.Sprint(res.StatusCode)
	}()
	return answer
}

// TestASlowUploadHoldsNobodyUp: who sends slowly hears at once that there is no answer, and its engine ends.
func TestASlowUploadHoldsNobodyUp(t *testing.T) {
	s := playWith(t, uploads, func(s *stage) { s.config.Serving, s.config.Limits.Turn = 1, time.Second })
	script, api := s.slowly("/read"), s.slowly("/api/workflows/work")
	eventually(t, "both are there", func() bool { serving, _ := s.project.Stats(); return serving.Acts == 2 })
	began := time.Now()
	contains(t, "the loop", s.get("/loop"), "504 ", "script_timeout")
	expect(t, "a neighbour whose body the script reads", <-script, "503")
	expect(t, "a neighbour whose body the API reads", <-api, "503")
	// The patience with a body that is read would be 20 seconds.
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("they heard of it after %s", took)
	}
	s.answersInTheEnd("/ok", "200 ok")
	eventually(t, "no engine is stuck", func() bool { serving, _ := s.project.Stats(); return serving.Stuck == 0 })
}

// TestASlowUploadIsTimedOut has a script that neither reads nor answers.
func TestASlowUploadIsTimedOut(t *testing.T) {
	s := playWith(t, uploads, func(s *stage) { s.config.Limits.Head = time.Second })
	expect(t, "a body that nobody reads", <-s.slowly("/never"), "504")
	expect(t, "a body that the script reads", <-s.slowly("/read"), "504")
}

// TestASlowUploadIsRefusedWhereNoEngineHasRoom: nobody reads it at all.
func TestASlowUploadIsRefusedWhereNoEngineHasRoom(t *testing.T) {
	s := playWith(t, uploads, func(s *stage) { s.config.Serving, s.config.Limits.Acts = 1, 1 })
	go func() {
		if res, err := http.Get(s.server.URL + "/never"); err == nil {
			_ = res.Body.Close()
		}
	}()
	eventually(t, "the engine is full", func() bool { serving, _ := s.project.Stats(); return serving.Acts == 1 })
	expect(t, "the next", <-s.slowly("/never"), "503")
}

// TestABodyTakesTheRoomThatItNeeds: no more than came, and no longer than for its request.
func TestABodyTakesTheRoomThatItNeeds(t *testing.T) {
	s := playWith(t, uploads, func(s *stage) {
		s.config.Serving, s.config.Limits.Turn, s.config.Limits.Bodies = 1, time.Second, 100
	})
	read := func(body io.Reader) string {
		res, err := http.Post(s.server.URL+"/read", "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return fmt.Sprint(res.StatusCode, " ", string(text), err)
	}
	expect(t, "a body of no announced length", read(struct{ io.Reader }{strings.NewReader("few bytes")}), "200 few bytes<nil>")
	contains(t, "more than there is", read(strings.NewReader(strings.Repeat("x", 101))), "503 ")
	// Its engine is lost while waitUntil waits: nothing can go on behind the answer.
	contains(t, "a loop", s.do(http.MethodPost, "/late", strings.Repeat("x", 60)), "504 ")
	expect(t, "the next", read(strings.NewReader(strings.Repeat("y", 60))), "200 "+strings.Repeat("y", 20)+"<nil>")
}

func TestAScriptSeesTheHostThatWasAsked(t *testing.T) {
	s := playWith(t, uploads)
	at := strings.TrimPrefix(s.server.URL, "http://")
	expect(t, "an application's request", s.get("/host"), "200 "+at+" "+at)
	public := playWith(t, uploads, func(s *stage) {
		s.config.API.PublicURL = func(*http.Request) string { return "https://shop.example/api" }
	})
	expect(t, "on a public host", public.get("/host"), "200 shop.example shop.example")
	channel := play(t, "-- channels/who.ts --\nexport const channel = { routes: [{ method: \"GET\", path: \"/host\", handler: (c) => c.text(c.req.header(\"host\")) }] };\n")
	expect(t, "a channel's", channel.get("/channels/who/host"), "200 "+strings.TrimPrefix(channel.server.URL, "http://"))
}
