package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// scene is a Host for tests.
type scene struct {
	sync  func(c Call) (any, bool, error)
	async func(c Call) bool
}

func (s scene) Sync(c Call) (any, bool, error) {
	if s.sync == nil {
		return nil, false, nil
	}
	return s.sync(c)
}

func (s scene) Async(c Call) bool { return s.async != nil && s.async(c) }

func TestWaveHoldsWhatOneTurnAskedFor(t *testing.T) {
	e := start(t, "", nil)
	a, err := e.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.End()
	a.Call("wave", `
		const order = [], ask = __svc.ask;
		await Promise.all([ask("step", "a").then((v) => order.push(v)), ask("step", "b").then((v) => order.push(v)), ask("sleep", 5).then(() => ask("step", "c")).then((v) => order.push(v))]);
		try { await ask("step", "fails") } catch (e) { order.push(e.name + " " + e.message) }
		return order`)
	var seen []string
	for {
		select {
		case wave := <-a.Waves():
			var answers []Settlement
			kinds := ""
			for _, ask := range wave {
				kinds += ask.Kind + ":" + ask.Args.String(0) + " "
				one := Settlement{ID: ask.ID, Value: "did " + ask.Args.String(0)}
				if ask.Args.String(0) == "fails" {
					one = Settlement{ID: ask.ID, Err: &Thrown{Name: "StepError", Message: "as told"}}
				}
				answers = append(answers, one)
			}
			seen = append(seen, strings.TrimSpace(kinds))
			a.Settle(answers)
			continue
		case r := <-a.Done():
			if r.Err != nil || r.Value != `["did a","did b","did c","StepError as told"]` {
				t.Errorf("the act ends with %s, %v", r.Value, r.Err)
			}
		}
		break
	}
	if got := strings.Join(seen, " | "); got != "step:a step:b sleep:5 | step:c | step:fails" {
		t.Errorf("waves: %s", got)
	}
}

func TestResultOfAnActIsATextNothingOrAnError(t *testing.T) {
	e := start(t, "", nil)
	a, err := e.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.End()
	a.Call("run", `return undefined`)
	if r := <-a.Done(); !r.None || r.Err != nil {
		t.Errorf("%+v, want nothing", r)
	}
	for code, want := range map[string]Thrown{
		`throw new TypeError("x")`:                                          {Name: "TypeError", Message: "x"},
		`throw "text"`:                                                      {Name: "Error", Message: "text"},
		`throw undefined`:                                                   {Name: "Error", Message: "undefined"},
		`throw Symbol("s")`:                                                 {Name: "Error", Message: "Symbol(s)"},
		`throw { name: 5, message: 6 }`:                                     {Name: "Error", Message: "6"},
		`throw { get message() { throw 1 } }`:                               {Name: "Error", Message: "the error cannot be read"},
		`throw new DOMException("m", "AbortError")`:                         {Name: "AbortError", Message: "m"},
		`throw __svc.unsupported("X", "use Y")`:                             {Name: "NotSupportedError", Message: "X is not supported: use Y.", Type: "unsupported"},
		`new WebSocket("ws://x")`:                                           {Name: "NotSupportedError", Message: "WebSocket is not supported: use fetch, or a ReadableStream for server-sent events.", Type: "unsupported"},
		`await crypto.subtle.deriveBits()`:                                  {Name: "NotSupportedError", Message: "crypto.subtle.deriveBits is not supported: digest, HMAC and AES-GCM are.", Type: "unsupported"},
		`new ReadableStream({ type: "bytes" }).getReader({ mode: "byob" })`: {Name: "NotSupportedError", Message: "A BYOB reader is not supported: use getReader() without a mode.", Type: "unsupported"},
		`process.exit(1)`:                                                   {Name: "NotSupportedError", Message: "process.exit is not supported: return, or throw an error.", Type: "unsupported"},
	} {
		_, err := run(t, e, code)
		var got *Thrown
		if !errors.As(err, &got) || got.Name != want.Name || got.Message != want.Message || got.Type != want.Type {
			t.Errorf("%s: %+v, want %+v", code, err, want)
		}
	}
}

func TestEndedActIsForgotten(t *testing.T) {
	log, lines := recorder()
	e := start(t, "globalThis.ran = []", func(c *Config) {
		c.Log, c.Host = log, scene{async: func(Call) bool { return true }}
	})
	for _, code := range []string{
		`setTimeout(() => ran.push("timer"), 500); await new Promise(() => {})`,
		`setInterval(() => ran.push("interval"), 500); await new Promise(() => {})`,
		`await new Promise((r) => setTimeout(r, 500)); ran.push("after")`,
		`__svc.call("never"); await new Promise(() => {})`,
	} {
		a, err := e.Begin(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Call("run", code)
		a.End()
	}
	want(t, e, `await new Promise((r) => setTimeout(r, 600)); return ran`, `[]`)
	want(t, e, `return __svc.sync("left")`, `0`)
	if len(lines()) != 0 {
		t.Errorf("logged %v", lines())
	}
}

func TestAbortReachesTheSignalOfTheAct(t *testing.T) {
	e := start(t, "", nil)
	for cause, want := range map[error]string{nil: `["AbortError",true]`, context.DeadlineExceeded: `["TimeoutError",true]`, errors.New("left"): `["Error",false]`} {
		a, err := e.Begin(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Call("run", `const s = __svc.signal(); await new Promise((r) => s.addEventListener("abort", r)); return [s.reason.name, s.reason instanceof DOMException]`)
		a.Abort(cause)
		if got, err := wait(t, a); got != want || err != nil {
			t.Errorf("abort with %v: %s %v, want %s", cause, got, err, want)
		}
		a.End()
	}
}

func TestTurnsInheritTheirAct(t *testing.T) {
	e := start(t, "", func(c *Config) {
		c.Host = scene{
			sync: func(c Call) (any, bool, error) {
				if c.Act == nil {
					return "nobody", true, nil
				}
				return c.Act.Data, true, nil
			},
			async: func(c Call) bool { c.Settle(c.Act.Data, nil); return true },
		}
	})
	const code = `const who = () => __svc.sync("who"), out = [who()];
		await null; out.push(who());
		await new Promise((r) => setTimeout(r, 2)); out.push(who());
		out.push(await __svc.call("later")); out.push(who());
		await Promise.race([new Promise((r) => setTimeout(r, 3)), 1]); out.push(who());
		for await (const x of new ReadableStream({ async pull(c) { await __svc.call("later"); c.enqueue(1); c.close() } })) out.push(who());
		return new Set(out).size + " " + out[0]`
	var acts []*Act
	for i := range 10 {
		a, err := e.Begin(t.Context(), fmt.Sprint("act ", i))
		if err != nil {
			t.Fatal(err)
		}
		defer a.End()
		a.Call("run", code)
		acts = append(acts, a)
	}
	for i, a := range acts {
		if got, err := wait(t, a); got != fmt.Sprintf(`"1 act %d"`, i) || err != nil {
			t.Errorf("act %d saw %s %v", i, got, err)
		}
	}
}

// whoAsks answers with the act that asks; `once` is answered when it is asked for.
func whoAsks(once <-chan struct{}) scene {
	return scene{
		sync: func(c Call) (any, bool, error) {
			if c.Act == nil {
				return "nobody", true, nil
			}
			return c.Act.Data, true, nil
		},
		async: func(c Call) bool {
			c.Go(func(ctx context.Context) (any, error) {
				select {
				case <-once:
				case <-ctx.Done():
				}
				return "once", ctx.Err()
			})
			return true
		},
	}
}

// TestEachGoesOnAsItself: what several acts wait for is settled in the turn of one of them. Each goes on as the act that it is.
func TestEachGoesOnAsItself(t *testing.T) {
	const asked = `globalThis.ask = (call) => (globalThis.shared ??= call("once").then((v) => v));`
	waits := map[string]string{
		"an await":               `await ask(__svc.call)`,
		"awaits, one in another": `await (async () => { await (async () => { await ask(__svc.call) })() })()`,
		"a then":                 `await new Promise((done) => { ask(__svc.call).then(() => { out.push(who()); done() }) })`,
		"a finally":              `await new Promise((done) => { ask(__svc.call).finally(() => { out.push(who()); done() }) })`,
		"all of several":         `await Promise.all([ask(__svc.call).then(() => out.push(who())), 1])`,
		"a promise of a promise": `await new Promise((done) => done(ask(__svc.call)))`,
		"a returned promise":     `await (async () => ask(__svc.call))()`,
		"a generator":            `for await (const x of (async function* () { yield await ask(__svc.call); out.push(who()) })()) out.push(who())`,
		"a list of promises":     `for await (const x of [ask(__svc.call)]) out.push(who())`,
		"a thenable":             `await ask(__svc.call); await { then(done) { out.push(who()); done() } }`,
		"a timer, afterwards":    `await ask(__svc.call); await new Promise((done) => setTimeout(done, 1))`,
		"a rejection":            `try { await ask(__svc.call).then(() => { throw new Error("no") }) } catch { out.push(who()) } finally { out.push(who()) }`,
		"a queued job":           `await ask(__svc.call); await new Promise((done) => queueMicrotask(() => { out.push(who()); done() }))`,
		"a stream":               `await ask(__svc.call); for await (const x of new ReadableStream({ async pull(c) { await null; out.push(who()); c.enqueue(1); c.close() } })) out.push(who())`,
	}
	for name, code := range waits {
		t.Run(name, func(t *testing.T) {
			once := make(chan struct{})
			e := start(t, asked, func(c *Config) { c.Host = whoAsks(once) })
			var acts []*Act
			for i := range 5 {
				a, err := e.Begin(t.Context(), fmt.Sprint("act ", i))
				if err != nil {
					t.Fatal(err)
				}
				defer a.End()
				a.Call("run", `const who = () => __svc.sync("who"), out = [who()]; `+code+`; out.push(who()); await null; out.push(who()); return [...new Set(out)].join()`)
				acts = append(acts, a)
			}
			want(t, e, `return 1`, `1`) // all of them wait
			close(once)
			for i, a := range acts {
				if got, err := wait(t, a); got != fmt.Sprintf(`"act %d"`, i) || err != nil {
					t.Errorf("act %d was %s %v", i, got, err)
				}
			}
		})
	}
}

// TestWhoWaitsForAnEndedActHearsOfIt: what an act began is cut off with it. Others who wait for that hear of it, and may begin it anew.
func TestWhoWaitsForAnEndedActHearsOfIt(t *testing.T) {
	log, lines := recorder()
	once := make(chan struct{})
	e := start(t, `globalThis.ask = (call) => (globalThis.shared ??= call("once").finally(() => { delete globalThis.shared }));`, func(c *Config) { c.Host, c.Log = whoAsks(once), log })
	first, err := e.Begin(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	first.Call("run", `ask(__svc.call); __svc.call("unheard"); await new Promise(() => {})`)
	second, err := e.Begin(t.Context(), "second")
	if err != nil {
		t.Fatal(err)
	}
	defer second.End()
	second.Call("run", `try { return await ask(__svc.call) } catch (e) { return [e.name, __svc.sync("who"), await ask(__svc.call), __svc.sync("who")] }`)
	want(t, e, `return 1`, `1`) // both wait
	first.End()
	close(once)
	if got, err := wait(t, second); got != `["AbortError","second","once","second"]` || err != nil {
		t.Errorf("the second got %s %v", got, err)
	}
	if len(lines()) != 0 {
		t.Errorf("logged %v", lines())
	}
}

// TestWhatGoesOnAfterItsActBeginsNothing: the rest of an act that was cut off asks for nothing any more.
func TestWhatGoesOnAfterItsActBeginsNothing(t *testing.T) {
	var asked atomic.Int64
	e := start(t, `globalThis.ran = 0`, func(c *Config) {
		c.Host = scene{async: func(Call) bool { asked.Add(1); return true }}
	})
	a, err := e.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Call("run", `for (;;) try { await __svc.call("once") } catch { ran++; setTimeout(() => ran++, 1); setInterval(() => ran++, 1) }`)
	want(t, e, `return 1`, `1`)
	a.End()
	want(t, e, `await new Promise((r) => setTimeout(r, 20)); return ran`, `1`)
	want(t, e, `return __svc.sync("left")`, `0`)
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// TestHostMayEndItsGoroutine: what the runtime ends, or what panics, is not the engine's goroutine.
func TestHostMayEndItsGoroutine(t *testing.T) {
	ends := func() (any, error) { runtime.Goexit(); return nil, nil }
	panics := func() (any, error) { panic("oh") }
	e := start(t, "", func(c *Config) {
		c.Host = scene{sync: func(c Call) (answer any, known bool, err error) {
			switch c.Op {
			case "exit":
				answer, err = c.Apart(ends)
			case "panic":
				panic("oh")
			case "panic apart":
				answer, err = c.Apart(panics)
			case "apart":
				answer, err = c.Apart(func() (any, error) { return "from there", nil })
			case "error":
				err = &Thrown{Name: "RangeError", Message: "from Go", Type: "kind"}
			default:
				return nil, false, nil
			}
			return answer, true, err
		}, async: func(c Call) bool {
			switch c.Op {
			case "exit":
				c.Go(func(context.Context) (any, error) { return ends() })
			case "panic":
				panic("oh")
			default:
				return false
			}
			return true
		}}
	})
	want(t, e, `try { await __svc.call("exit") } catch (e) { return e.message }`, `"the goroutine that was asked has ended"`)
	want(t, e, `try { await __svc.call("panic") } catch (e) { return e.message }`, `"panic failed"`)
	want(t, e, `try { __svc.sync("panic apart") } catch (e) { return e.message }`, `"panic apart failed"`)
	want(t, e, `return __svc.sync("apart")`, `"from there"`)
	want(t, e, `try { __svc.sync("exit") } catch (e) { return e.message }`, `"exit has no answer: the goroutine that was asked has ended"`)
	want(t, e, `try { __svc.sync("panic") } catch (e) { return e.message }`, `"panic failed"`)
	want(t, e, `try { __svc.sync("error") } catch (e) { return [e instanceof RangeError, e.message, e.type] }`, `[true,"from Go","kind"]`)
	want(t, e, `try { __svc.sync("nothing") } catch (e) { return e.message }`, `"there is no operation \"nothing\""`)
	want(t, e, `try { await __svc.call("nothing") } catch (e) { return e.message }`, `"there is no operation \"nothing\""`)
	want(t, e, `return 1`, `1`)
}

func TestBodiesOfAnActEndWithIt(t *testing.T) {
	e := start(t, "", nil)
	a, err := e.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	dropped := make(chan struct{})
	id := a.Keep(NewSource(io.NopCloser(strings.NewReader("text")), func() { close(dropped) }))
	if e.Body(id) == nil {
		t.Error("a body that is kept is not found")
	}
	a.End()
	<-dropped
	if e.Body(id) != nil {
		t.Error("a body outlives its act")
	}
	if s := a.Keep(NewSource(io.NopCloser(strings.NewReader("late")), nil)); e.Body(s) != nil {
		t.Error("an act that has ended keeps a body")
	}
}

func TestCloseEndsAllThatAnEngineBegan(t *testing.T) {
	began := make(chan struct{})
	e := start(t, "", func(c *Config) {
		c.Host = scene{async: func(c Call) bool {
			c.Go(func(ctx context.Context) (any, error) { close(began); <-ctx.Done(); return nil, ctx.Err() })
			return true
		}}
	})
	a, err := e.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Call("run", `setTimeout(() => {}, 1e6); await __svc.call("wait")`)
	<-began
	e.Close()
	over(t, e)
	if err := e.Fault(a.ID); !errors.Is(err, ErrLost) || a.Ctx.Err() == nil {
		t.Errorf("%v, want ErrLost and an ended context", err)
	}
	a.End()
}

func TestClockAndChanceMayBeTheCallers(t *testing.T) {
	prelude, err := CompilePrelude(trial, `clock = () => 86400000; chance = () => 0.25; entropy = (n) => new Uint8Array(n).fill(7);`)
	if err != nil {
		t.Fatal(err)
	}
	e := start(t, "", func(c *Config) { c.Prelude = prelude })
	want(t, e, `return [Date.now(), new Date().toISOString(), Math.random(), crypto.randomUUID(), new Date(5).getTime(), Date.UTC(1970, 0, 1), new Date() instanceof Date, Date.length, new Date().constructor === Date, class extends Date {}.now(), new (class D extends Date {})().getTime(), Date().slice(0, 15)]`,
		`[86400000,"1970-01-02T00:00:00.000Z",0.25,"07070707-0707-4707-8707-070707070707",5,0,true,7,true,86400000,86400000,"Fri Jan 02 1970"]`)
}

func TestEnvironmentShowsOnlyWhatIsGiven(t *testing.T) {
	t.Setenv("SECRET_OF_THE_PROCESS", "x")
	e := start(t, "", func(c *Config) { c.Env = map[string]string{"GIVEN": "yes"} })
	want(t, e, `return process.env`, `{"GIVEN":"yes"}`)
}

func TestGlobalsHoldNothingOfTheBridge(t *testing.T) {
	e := start(t, "", nil)
	want(t, e, `return Object.getOwnPropertyNames(globalThis).filter((n) => /host|svc|entrance|__/i.test(n))`, `[]`)
}

func TestStacksAreThoseOfTheScript(t *testing.T) {
	e := start(t, "\n\nglobalThis.deep = async function deep() { await null; new URL('bad'); };", func(c *Config) {
		c.Trace = func(stack string) string { return strings.ReplaceAll(stack, "<eval>:", "app.ts:") }
	})
	_, err := run(t, e, `await deep()`)
	var thrown *Thrown
	if !errors.As(err, &thrown) || !strings.Contains(thrown.Stack, "at deep (app.ts:3") || strings.Contains(thrown.Stack, "app.ts:2000") {
		t.Errorf("%+v, want the line of the script and none of the prelude", thrown)
	}
}

func TestTurnsAreToldAndCounted(t *testing.T) {
	took := make(chan time.Duration, 100)
	e := start(t, "", func(c *Config) { c.Turned = func(d time.Duration) { took <- d } })
	before := e.Turns()
	want(t, e, `return 1`, `1`)
	if e.Turns() <= before || len(took) == 0 || e.Memory() < 100<<10 {
		t.Errorf("%d turns, %d told, %d bytes", e.Turns()-before, len(took), e.Memory())
	}
}
