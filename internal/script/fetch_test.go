package script

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// site answers as its path says.
func site(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Method", r.Method)
		w.Header().Set("X-Type", r.Header.Get("Content-Type"))
		w.Header().Set("X-Agent", r.Header.Get("User-Agent"))
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.Header().Set("X-Latin", "caf\xe9")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/echo", http.StatusFound) })
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("x"), 9<<20)) })
	mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(w, "%d;", i); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			if i > 2 {
				<-r.Context().Done()
				return
			}
		}
	})
	mux.HandleFunc("/packed", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			w.WriteHeader(http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		defer packed.Close()
		_, _ = io.WriteString(packed, `{"un":"packed"}`)
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestFetchGoesOutAndComesBack(t *testing.T) {
	s := site(t)
	e := start(t, "", func(c *Config) {
		c.Client, c.Env, c.Limits.Memory = s.Client(), map[string]string{"AT": s.URL}, 128<<20
	})
	for code, value := range map[string]string{
		`const r = await fetch(process.env.AT + "/echo", { method: "POST", body: "hé" }); return [r.status, r.statusText, r.ok, r.redirected, r.type, r.headers.get("x-method"), r.headers.get("x-type"), r.headers.get("x-agent"), r.headers.getSetCookie(), await r.text(), r.bodyUsed]`: `[201,"Created",true,false,"basic","POST","text/plain;charset=UTF-8","svc",["a=1","b=2"],"hé",true]`,
		`return (await fetch(process.env.AT + "/echo")).headers.get("x-latin")`:                                                            `"café"`,
		`const r = await fetch(process.env.AT + "/away"); return [r.status, r.redirected, r.url.endsWith("/echo")]`:                        `[201,true,true]`,
		`const r = await fetch(process.env.AT + "/away", { redirect: "manual" }); return [r.status, r.headers.get("location")]`:            `[302,"/echo"]`,
		`try { await fetch(process.env.AT + "/away", { redirect: "error" }) } catch (e) { return e.name }`:                                 `"TypeError"`,
		`const r = await fetch(process.env.AT + "/none"); return [r.status, r.body, await r.text()]`:                                       `[204,null,""]`,
		`return Array.from(await (await fetch(process.env.AT + "/echo", { method: "PUT", body: new Uint8Array([0, 255, 128]) })).bytes())`: `[0,255,128]`,
		`const f = new FormData(); f.set("a", new File(["x"], "n")); const r = await fetch(process.env.AT + "/echo", { method: "POST", body: f }); const g = await new Response(await r.bytes(), { headers: { "content-type": r.headers.get("x-type") } }).formData(); return [g.get("a").name, await g.get("a").text()]`: `["n","x"]`,
		`const r = await fetch(process.env.AT + "/drip"), d = r.body.getReader(); let s = ""; while (!s.includes("2;")) s += new TextDecoder().decode((await d.read()).value); await d.cancel(); return s.startsWith("0;1;2;")`:                                                                                           `true`,
		`const c = new AbortController(); setTimeout(() => c.abort(), 5); try { await fetch(process.env.AT + "/hang", { signal: c.signal }) } catch (e) { return e.name }`:                                                                                                                                                `"AbortError"`,
		`try { await fetch(process.env.AT + "/hang", { signal: AbortSignal.timeout(5) }) } catch (e) { return e.name }`:                                                                                                                                                                                                   `"TimeoutError"`,
		`const c = new AbortController(), r = await fetch(process.env.AT + "/drip", { signal: c.signal }); setTimeout(() => c.abort(), 5); try { for await (const x of r.body); } catch (e) { return e.name }`:                                                                                                            `"AbortError"`,
		`try { await (await fetch(process.env.AT + "/long")).text() } catch (e) { return [e.name, e.type, e.status] }`:                                                                                                                                                                                                    `["RangeError","body_too_large",413]`,
		`let n = 0; for await (const x of (await fetch(process.env.AT + "/long")).body) n += x.length; return n`:                                                                                                                                                                                                          `9437184`,
		`try { await fetch(process.env.AT + "/echo", { method: "POST", body: "x".repeat(9 << 20) }) } catch (e) { return e.name }`:                                                                                                                                                                                        `"TypeError"`,
		`const r = await fetch(process.env.AT + "/echo", { method: "POST", body: "twice" }), c = r.clone(); return [await r.text(), await c.text()]`:                                                                                                                                                                      `["twice","twice"]`,
		`try { await fetch("http://127.0.0.1:1/") } catch (e) { return [e.name, e.message.startsWith("fetch failed: ")] }`:                                                                                                                                                                                                `["TypeError",true]`,
		`try { await fetch("ftp://x/") } catch (e) { return e.name }`:                                                                                                                                                                                                                                                     `"TypeError"`,
		`const r = await fetch(process.env.AT + "/echo", { headers: { "User-Agent": "mine", host: "other" } }); return r.headers.get("x-agent")`:                                                                                                                                                                          `"mine"`,
		`const r = await fetch(process.env.AT + "/packed", { headers: { "accept-encoding": "br, gzip, deflate" } }); return [r.headers.get("content-encoding"), await r.json()]`:                                                                                                                                          `[null,{"un":"packed"}]`,
		`const r = await fetch(process.env.AT + "/echo", { method: "POST", body: "abc" }); return await new Response(r.body, { status: 202, headers: r.headers }).text()`:                                                                                                                                                 `"abc"`,
	} {
		want(t, e, code, value)
	}
	eventually(t, func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.calls) == 0 && len(e.bodies) == 0 })
}

// TestFetchIsGuardedByItsClient: what the client's transport refuses is not reached.
func TestFetchIsGuardedByItsClient(t *testing.T) {
	refused := errors.New("not from here")
	e := start(t, "", func(c *Config) {
		c.Client = &http.Client{Transport: refusing{refused}}
	})
	want(t, e, `try { await fetch("http://169.254.169.254/") } catch (e) { return e.message }`, `"fetch failed: not from here"`)
}

type refusing struct{ err error }

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

func TestFetchesAreBounded(t *testing.T) {
	s := site(t)
	e := start(t, "", func(c *Config) {
		c.Client, c.Env, c.Limits.Fetches = s.Client(), map[string]string{"AT": s.URL}, 3
	})
	want(t, e, `for (let i = 0; i < 3; i++) fetch(process.env.AT + "/hang").catch(() => {}); try { await fetch(process.env.AT + "/echo") } catch (e) { return e.name }`, `"RangeError"`)
	// Those of the act that has ended are over.
	eventually(t, func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.calls) == 0 })
	want(t, e, `return (await fetch(process.env.AT + "/echo")).status`, `201`)
}

// TestSignalKeepsNothingOfWhatItCouldHaveStopped: one signal for many fetches does not fill the engine.
func TestSignalKeepsNothingOfWhatItCouldHaveStopped(t *testing.T) {
	s := site(t)
	e := start(t, "globalThis.forever = new AbortController()", func(c *Config) { c.Client, c.Env = s.Client(), map[string]string{"AT": s.URL} })
	const code = `for (let i = 0; i < 400; i++) await (await fetch(process.env.AT + "/echo", { method: "POST", body: "x".repeat(1000), signal: forever.signal })).text(); return __svc.sync("left")`
	want(t, e, code, `0`)
	before := heldBytes(t, e)
	want(t, e, code, `0`)
	if grown := heldBytes(t, e) - before; grown > 128<<10 {
		t.Errorf("400 fetches have left %d bytes", grown)
	}
}

// TestUnreadAnswerEndsWithItsAct: a fetch whose body nobody reads holds no connection after its act.
func TestUnreadAnswerEndsWithItsAct(t *testing.T) {
	s := site(t)
	e := start(t, "", func(c *Config) { c.Client, c.Env = s.Client(), map[string]string{"AT": s.URL} })
	for range 20 {
		want(t, e, `return (await fetch(process.env.AT + "/drip")).status`, `200`)
	}
	eventually(t, func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.calls) == 0 && len(e.bodies) == 0 })
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Error("it has not become true in 20 seconds")
}

func TestHeldBodyIsPassedOnUnread(t *testing.T) {
	prelude, err := CompilePrelude(trial, `entrances.reply = (act, id) => { enter(act); finish(act, async () => {
		const r = heldRequest(act, "POST", "http://h/p", "content-type\ntext/plain\nx-a\n1", id);
		const c = r.clone(), passed = new Response(r.body, { headers: r.headers });
		const out = takeBody(passed);
		return JSON.stringify([r.method, r.url, r.headers.get("x-a"), isHeld(out), out.id === id, passed.bodyUsed, await c.text()]);
	}); };`)
	if err != nil {
		t.Fatal(err)
	}
	e := start(t, "", func(c *Config) { c.Prelude, c.Entrances = prelude, append(c.Entrances, "reply") })
	a, err := e.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.End()
	id := a.Keep(&again{text: "held"})
	a.Call("reply", id)
	got, err := wait(t, a)
	if want := `["POST","http://h/p","1",true,true,true,"held"]`; got != want || err != nil {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}

// again is a body that can be read again and again, as a request's is.
type again struct{ text string }

func (a *again) Next() ([]byte, error)       { return nil, io.EOF }
func (a *again) Whole(int64) ([]byte, error) { return []byte(a.text), nil }
func (a *again) Drop()                       {}

func TestHeadersCrossAsTheyAre(t *testing.T) {
	h := http.Header{"X-A": {"1", "2"}, "Set-Cookie": {"a", "b"}, "X-Latin": {"caf\xe9"}, "X-Bad": {"a\r\nInjected: b"}}
	got := Unflat(Flat(h))
	if len(got["X-A"]) != 2 || len(got["Set-Cookie"]) != 2 || got.Get("X-Latin") != "caf\xe9" || strings.Contains(got.Get("X-Bad"), "\n") || got.Get("Injected") != "" {
		t.Errorf("%q", got)
	}
}

// TestABodyIsOfTheKindThatItIs: what a project's own classes say of themselves is not believed.
func TestABodyIsOfTheKindThatItIs(t *testing.T) {
	want(t, start(t, "", nil), `
		const seen = [];
		for (const type of [{ a: 1 }, 5, true, Symbol(), [], "x/y\r\nz: 1"]) {
			class Odd extends Blob { get type() { return type; } }
			const r = new Response(new Odd(["x"], { type: "a/b" })), form = new FormData();
			form.append("f", new Odd(["x"], { type: "a/b" }), "name");
			seen.push(r.headers instanceof Headers, r.headers.get("content-type"), await r.text(), form.get("f").type);
		}
		class Params extends URLSearchParams { toString() { return 5; } }
		const r = new Response(new Params());
		return [[...new Set(seen)], await r.clone().text(), await r.text()]`, `[[true,"a/b","x"],"5","5"]`)
}
