package script

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// short are limits that tests can wait for.
func short(c *Config) {
	c.Limits = Limits{Turn: 150 * time.Millisecond, Start: 20 * time.Second, Stuck: 100 * time.Millisecond}
}

// endless are scripts that do not come to an end by themselves, in every place where a script can be.
var endless = map[string]string{
	"a loop":                       `for (;;);`,
	"a loop that catches":          `for (;;) { try { for (;;); } catch {} finally { continue } }`,
	"functions that wait":          `for (;;) (async () => { for (;;); })();`,
	"functions that wait, caught":  `for (;;) { try { (async () => { for (;;); })(); } catch {} }`,
	"generators that wait":         `for (;;) (async function* () { for (;;); })().next();`,
	"a promise's own function":     `for (;;) new Promise(() => { for (;;); });`,
	"jobs":                         `for (;;) await null;`,
	"jobs that make jobs":          `const again = () => Promise.resolve().then(again); again(); await new Promise(() => {});`,
	"queueMicrotask":               `const again = () => queueMicrotask(again); again(); await new Promise(() => {});`,
	"a timer":                      `setTimeout(() => { for (;;); }, 1); await new Promise(() => {});`,
	"a listener":                   `const t = new EventTarget(); t.addEventListener("x", () => { for (;;); }); t.dispatchEvent(new Event("x"));`,
	"a getter of an error":         `throw { get message() { for (;;); } };`,
	"the text of an error":         `throw { message: { toString() { for (;;); } } };`,
	"a value that is logged":       `console.log(new Proxy({}, { ownKeys() { for (;;); } }));`,
	"a rejection nobody handles":   `Promise.reject({ get constructor() { for (;;); }, get [Symbol.toStringTag]() { for (;;); } }); throw { get stack() { for (;;); } };`,
	"an argument for Go":           `new URL({ toString() { for (;;); } });`,
	"an iterator":                  `new Headers({ *[Symbol.iterator]() { for (;;); } });`,
	"a size of a strategy":         `new ReadableStream({ pull(c) { c.enqueue(1); } }, { highWaterMark: 9, size() { for (;;); } }); await new Promise(() => {});`,
	"a pull without end":           `let n = 0; await new ReadableStream({ pull(c) { c.enqueue(n++); } }).pipeTo(new WritableStream());`,
	"a thenable":                   `await { then() { for (;;); } };`,
	"JSON":                         `JSON.stringify({ toJSON() { for (;;); } });`,
	"sorting":                      `[2, 1].sort(() => { for (;;); });`,
	"a pattern":                    `/^(a+)+$/.test("a".repeat(60) + "b");`,
	"a big number":                 `let n = 3n; for (;;) n = n ** 3n;`,
	"a clone":                      `structuredClone({ get x() { for (;;); } });`,
	"a signal":                     `const c = new AbortController(); c.signal.onabort = () => { for (;;); }; c.abort();`,
	"a generator":                  `for (const x of (function* () { for (;;) yield 1; })());`,
	"a body":                       `await new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1)); } })).text();`,
	"text that becomes long":       `let s = "a"; for (;;) s = s.replaceAll("a", "aa").slice(0, 1000);`,
	"intervals of no time":         `setInterval(() => { const end = Date.now() + 1e6; while (Date.now() < end); }, 0); await new Promise(() => {});`,
	"a proxy of everything":        `const p = new Proxy(function () {}, { get: () => p, apply: () => { for (;;); } }); p.x.y();`,
	"the end of an async iterator": `for await (const x of { [Symbol.asyncIterator]: () => ({ next: async () => ({ value: 1 }), return() { for (;;); } }) }) break;`,
}

func TestTurnThatDoesNotEndEndsTheEngine(t *testing.T) {
	for name, code := range endless {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, "", short)
			began := time.Now()
			_, err := run(t, e, code)
			if !errors.Is(err, ErrTurn) && !errors.Is(err, ErrMemory) {
				t.Errorf("the act ends with %v, want ErrTurn", err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			over(t, e)
		})
	}
}

// TestTurnThatIsStoppedSaysWhere: in a script's own words, whether the engine or a promise took what stopped it.
func TestTurnThatIsStoppedSaysWhere(t *testing.T) {
	for name, code := range map[string]string{
		"at once": `spin();`, "after an await": `await new Promise((r) => setTimeout(r, 1)); spin();`, "in a timer": `setTimeout(spin, 1); await new Promise(() => {});`,
		"in a job": `queueMicrotask(spin); await new Promise(() => {});`, "deep in promises": `const f = async (n) => { await null; if (n === 0) spin(); await f(n - 1); }; await f(3);`,
	} {
		e := start(t, "globalThis.spin = function spin() {\n  for (;;);\n};", func(c *Config) {
			c.Limits = Limits{Turn: 500 * time.Millisecond, Start: 20 * time.Second, Stuck: 40 * time.Second}
		})
		_, err := run(t, e, code)
		stack := e.Where()
		var thrown *Thrown
		if errors.As(err, &thrown) {
			stack = thrown.Stack
		}
		if !strings.Contains(stack, "at spin (<eval>:") {
			t.Errorf("%s: %v, stopped at %q", name, err, stack)
		}
		over(t, e)
	}
}

func TestMainScriptThatDoesNotEndIsRefused(t *testing.T) {
	for name, code := range map[string]string{"a loop": `for (;;);`, "jobs": `for (;;) await null;`, "a timer": `await new Promise(() => setTimeout(() => { for (;;); }, 1));`} {
		_, err := tryStart(t, code, func(c *Config) { c.Limits = Limits{Turn: 50 * time.Millisecond, Start: 200 * time.Millisecond} })
		if !errors.Is(err, ErrTurn) {
			t.Errorf("%s: %v, want ErrTurn", name, err)
		}
	}
}

func TestMainScriptThatFillsTheMemoryIsRefused(t *testing.T) {
	for name, code := range map[string]string{
		"objects": `const a = []; for (;;) a.push({ a });`,
		"later":   `await new Promise((r) => setTimeout(r, 1)); const a = []; for (;;) a.push(new Uint8Array(1000));`,
	} {
		if _, err := tryStart(t, code, func(c *Config) { c.Limits.Memory = 16 << 20 }); !errors.Is(err, ErrMemory) {
			t.Errorf("%s: %v, want ErrMemory", name, err)
		}
	}
}

func TestMainScriptMayTakeLongerThanATurn(t *testing.T) {
	e := start(t, `const end = Date.now() + 2500; while (Date.now() < end);`, func(c *Config) {
		c.Limits = Limits{Turn: 2 * time.Second, Start: 30 * time.Second}
	})
	want(t, e, `return 1`, `1`)
}

func TestMainScriptThatThrowsSaysWhereItThrew(t *testing.T) {
	_, err := tryStart(t, "\n\nawait null;\nfunction broken() { throw new RangeError('no'); }\nbroken();", nil)
	var thrown *Thrown
	if !errors.As(err, &thrown) || thrown.Name != "RangeError" || thrown.Message != "no" || !strings.Contains(thrown.Stack, "<eval>:4") {
		t.Errorf("%v %+v, want the RangeError and its line", err, thrown)
	}
	_, err = CompileMain("let let = 1;")
	if !errors.As(err, &thrown) || thrown.Name != "SyntaxError" {
		t.Errorf("%v, want a SyntaxError", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	prelude, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	main, err := CompileMain(`await new Promise(() => {});`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := New(ctx, Config{Prelude: prelude, Main: main}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the context's error", err)
	}
}

// TestCulpritIsKnownAndNeighboursAreTold: one act loops among others.
func TestCulpritIsKnownAndNeighboursAreTold(t *testing.T) {
	e := start(t, "", func(c *Config) { c.Limits.Turn = 3 * time.Second })
	var neighbours []*Act
	for range 20 {
		a, err := e.Begin(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Call("run", `await new Promise((r) => setTimeout(r, 1e6));`)
		neighbours = append(neighbours, a)
	}
	if _, err := run(t, e, `await null; for (;;);`); !errors.Is(err, ErrTurn) {
		t.Errorf("the culprit ends with %v, want ErrTurn", err)
	}
	for _, a := range neighbours {
		if err := e.Fault(a.ID); !errors.Is(err, ErrLost) || errors.Is(err, ErrTurn) {
			t.Errorf("a neighbour ends with %v, want ErrLost alone", err)
		}
		if a.End(); a.Ctx.Err() == nil {
			t.Error("the context of an act goes on after the engine")
		}
	}
	if _, err := e.Begin(t.Context(), nil); !errors.Is(err, ErrLost) {
		t.Errorf("a lost engine answers %v, want ErrLost", err)
	}
}

// TestStuckBuiltInIsLeftBehind: built-ins on long arrays do not listen, so the act is answered while the engine still works.
func TestStuckBuiltInIsLeftBehind(t *testing.T) {
	notUnderRace(t)
	e := start(t, "", short)
	began := time.Now()
	_, err := run(t, e, `new Array(4e7).indexOf(1);`)
	answered := time.Since(began)
	if !errors.Is(err, ErrTurn) {
		t.Fatalf("%v, want ErrTurn", err)
	}
	over(t, e)
	if ended := time.Since(began); answered > ended*3/4 {
		t.Errorf("answered after %s of %s: the watchdog did not answer", answered, ended)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	notUnderRace(t)
	for name, code := range map[string]string{
		"a text":           `let s = "x"; for (;;) s = (s + s).toUpperCase();`,
		"an array":         `const a = []; for (;;) a.push({ a });`,
		"bytes":            `const a = []; for (;;) a.push(new Uint8Array(1 << 20));`,
		"a map":            `const m = new Map(); for (let i = 0; ; i++) m.set(i, [i]);`,
		"promises":         `const all = []; for (;;) all.push(new Promise(() => {}));`,
		"closures":         `let f = () => 0; for (;;) { const g = f; f = () => g; }`,
		"a stream's queue": `let c; new ReadableStream({ start(x) { c = x; } }); for (;;) c.enqueue(new Uint8Array(4096));`,
		"text from Go":     `const a = []; for (let i = 0; ; i++) a.push(new TextDecoder().decode(new Uint8Array(1 << 18).fill(65 + i % 20)));`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, "", func(c *Config) { c.Limits = Limits{Memory: 16 << 20, Turn: 20 * time.Second} })
			_, err := run(t, e, code)
			if !errors.Is(err, ErrMemory) {
				t.Errorf("%v, want ErrMemory", err)
			}
			// The engine was empty, so it has ended.
			over(t, e)
		})
	}
}

// TestFullEngineDrains: an engine that ran out of memory takes no further act, lets those that it has end, and is over then.
func TestFullEngineDrains(t *testing.T) {
	e := start(t, "", func(c *Config) { c.Limits = Limits{Memory: 16 << 20, Turn: 20 * time.Second} })
	slow, err := e.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	slow.Call("wave", `return await __svc.ask("go on")`)
	wave := <-slow.Waves()
	if _, err := run(t, e, `const a = []; for (;;) a.push({ a });`); !errors.Is(err, ErrMemory) {
		t.Fatalf("the bomb ends with %v, want ErrMemory", err)
	}
	if _, err := e.Begin(t.Context(), nil); !errors.Is(err, ErrFull) || !e.Full() {
		t.Errorf("a full engine answers %v, want ErrFull", err)
	}
	slow.Settle([]Settlement{{ID: wave[0].ID, Value: "well"}})
	if got, err := wait(t, slow); got != `"well"` || err != nil {
		t.Errorf("the neighbour ends with %s, %v", got, err)
	}
	slow.End()
	over(t, e)
	if err := e.Fault(0); !errors.Is(err, ErrLost) {
		t.Errorf("the engine ended with %v", err)
	}
}

// TestFullEngineDoesNotDrainForever: an act that never ends does not keep a full engine.
func TestFullEngineDoesNotDrainForever(t *testing.T) {
	e := start(t, "", func(c *Config) {
		c.Limits = Limits{Memory: 16 << 20, Turn: 20 * time.Second, Drain: 50 * time.Millisecond}
	})
	slow, err := e.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.End()
	slow.Call("run", `await new Promise(() => {})`)
	if _, err := run(t, e, `const a = []; for (;;) a.push({ a });`); !errors.Is(err, ErrMemory) {
		t.Fatalf("%v, want ErrMemory", err)
	}
	<-e.Dead()
	if err := e.Fault(slow.ID); !errors.Is(err, ErrLost) {
		t.Errorf("the act that was left hears %v, want ErrLost", err)
	}
}

// TestMemoryThatIsCaughtStillDrains: a script that catches the error and keeps what it has fills the engine.
func TestMemoryThatIsCaughtStillDrains(t *testing.T) {
	e := start(t, "globalThis.kept = [];", func(c *Config) { c.Limits = Limits{Memory: 16 << 20, Turn: 20 * time.Second} })
	if _, err := run(t, e, `try { for (;;) kept.push(new Uint8Array(1000)); } catch {} return 1`); err != nil && !errors.Is(err, ErrMemory) {
		t.Fatal(err)
	}
	over(t, e)
}

// TestGarbageIsNoMemory: what is let go does not fill an engine, even in cycles.
func TestGarbageIsNoMemory(t *testing.T) {
	notUnderRace(t)
	e := start(t, "", func(c *Config) { c.Limits = Limits{Memory: 16 << 20, Turn: 20 * time.Second} })
	for range 20 {
		want(t, e, `for (let i = 0; i < 20000; i++) { const a = { text: "x".repeat(100) }; a.self = a; } return 1`, `1`)
	}
	if e.Full() {
		t.Error("garbage has filled the engine")
	}
}

// deep are scripts that go deeper than an engine may. Each can be caught.
var deep = map[string]string{
	"calls":            `const f = () => f() + 1; f();`,
	"methods":          `const o = { get x() { return this.x; } }; o.x;`,
	"constructors":     `class A { constructor() { new A(); } } new A();`,
	"proxies":          `let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x;`,
	"JSON.parse":       `JSON.parse("[".repeat(1e6) + "]".repeat(1e6));`,
	"JSON.stringify":   `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a);`,
	"structuredClone":  `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; structuredClone(a);`,
	"flat":             `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.flat(Infinity);`,
	"text of an array": `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; String(a);`,
	"a pattern":        `new RegExp("(".repeat(1e5) + ")".repeat(1e5));`,
	"matching":         `/^(?:a|b)*$/.test("ab".repeat(1e6));`,
	"code":             `new Function("return " + "(".repeat(1e5) + "1" + ")".repeat(1e5))();`,
	"bound functions":  `let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); f();`,
	"generators":       `function* g() { yield* g(); } [...g()];`,
	"toString":         `const o = { toString() { return "" + o; } }; "" + o;`,
	"replace":          `const f = () => "a".replace(/a/, f); f();`,
	"prototypes":       `let o = {}; for (let i = 0; i < 1e5; i++) o = Object.create(o); o.x; "y" in o;`,
	"ropes":            `let s = ""; for (let i = 0; i < 1e4; i++) s = "a" + s + "b"; s.length; s.charCodeAt(5e3);`,
	"errors":           `let e = new Error("x"); for (let i = 0; i < 1e4; i++) e = new Error("y", { cause: e }); console.error(e); throw e;`,
	"listeners":        `const t = new EventTarget(); t.addEventListener("x", () => t.dispatchEvent(new Event("x"))); t.dispatchEvent(new Event("x"));`,
	"logging":          `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; console.log(a);`,
	"async functions":  `const f = async () => { await f(); }; await f();`,
}

// TestAnEngineThatRestsHoldsNoGarbage leaves circles behind, which only the collector finds: fewer than it runs for at work.
func TestAnEngineThatRestsHoldsNoGarbage(t *testing.T) {
	e := start(t, "", nil)
	before := e.Memory()
	want(t, e, `for (let i = 0; i < 200; i++) { const o = { text: "x".repeat(10000) + i }; o.self = o; } return 1`, `1`)
	want(t, e, `return 2`, `2`) // its turn begins when that one was measured, which an answer does not wait for
	if left := e.Memory() - before; left < 3<<19 {
		t.Fatalf("%d bytes are left behind, which is too little to tell", left)
	}
	eventually(t, func() bool { return e.Memory() < before+little })
	want(t, e, `return 3`, `3`)
}

func TestDepthIsBounded(t *testing.T) {
	notUnderRace(t)
	for name, code := range deep {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, "", func(c *Config) { c.Limits = Limits{Turn: 30 * time.Second} })
			_, err := run(t, e, `try { `+code+` } catch (e) { return String(e.name) }`)
			if err != nil && !errors.Is(err, ErrMemory) {
				t.Fatalf("it ends with %v; a depth is caught", err)
			}
			// An engine that was refused memory on the way takes no further act, though the script has caught that.
			if got, err := run(t, e, `return 1 + 1`); got != "2" && !e.Draining() {
				t.Errorf("afterwards: %s, %v", got, err)
			}
		})
	}
}

func TestTimersAreBounded(t *testing.T) {
	e := start(t, "", func(c *Config) { c.Limits = Limits{Turn: 20 * time.Second, Timers: 1000} })
	want(t, e, `let n = 0; try { for (;;) { setTimeout(() => {}, 1e6); n++ } } catch (e) { return [n, e.name] }`, `[1000,"RangeError"]`)
	// They belong to the act, and end with it.
	want(t, e, `const ids = []; for (let i = 0; i < 1000; i++) ids.push(setTimeout(() => {}, 1e6)); for (const id of ids) clearTimeout(id); for (let i = 0; i < 1000; i++) setTimeout(() => {}, 1e6); return 1`, `1`)
	want(t, e, `for (let i = 0; i < 5000; i++) clearTimeout(setTimeout(() => {}, 1e6)); return 1`, `1`)
}

// TestTimersOfOneActLeaveRoomForOthers: an act that has all that it may have takes none from its neighbours.
func TestTimersOfOneActLeaveRoomForOthers(t *testing.T) {
	e := start(t, "", func(c *Config) { c.Limits = Limits{Turn: 20 * time.Second, Timers: 100} })
	greedy, err := e.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer greedy.End()
	greedy.Call("run", `try { for (;;) setTimeout(() => {}, 1e6) } catch { await new Promise(() => {}) }`)
	want(t, e, `await new Promise((r) => setTimeout(r, 1)); return 1`, `1`)
}

// TestGoroutineThatEndsIsAnError: what a Host or a client ends by runtime.Goexit does not leave the script waiting.
func TestGoroutineThatEndsIsAnError(t *testing.T) {
	e := start(t, "", func(c *Config) { c.Client = &http.Client{Transport: leaving{}} })
	want(t, e, `try { await fetch("http://h/") } catch (e) { return e.message }`, `"the goroutine that was asked has ended"`)
}

type leaving struct{}

func (leaving) RoundTrip(*http.Request) (*http.Response, error) {
	runtime.Goexit()
	return nil, nil
}

// TestMillionsStayWithinTheLimits: a million timers and a million promises end in an error or a result, and in nothing else.
func TestMillionsStayWithinTheLimits(t *testing.T) {
	notUnderRace(t)
	for name, code := range map[string]string{
		"timers":            `for (let i = 0; i < 1e6; i++) setTimeout(() => {}, 1e6);`,
		"timers of no time": `for (let i = 0; i < 1e6; i++) setTimeout(() => {}, 0);`,
		"promises":          `await Promise.all(Array.from({ length: 1e6 }, async (_, i) => i));`,
		"jobs":              `let n = 0; for (let i = 0; i < 1.2e6; i++) await null; return 1`,
		"rejections":        `for (let i = 0; i < 1e6; i++) Promise.reject(i); await null;`,
		"listeners":         `const t = new EventTarget(); for (let i = 0; i < 1e6; i++) t.addEventListener("x" + i, () => {});`,
		"calls of Go":       `for (let i = 0; i < 1e6; i++) fetch("http://[::1]:1/").catch(() => {});`,
		"lines of the log":  `for (let i = 0; i < 1e5; i++) console.log(i);`,
		"one long line":     `console.log("x".repeat(1e7));`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, "", func(c *Config) {
				c.Limits = Limits{}
				if !soak {
					c.Limits = Limits{Turn: 300 * time.Millisecond, Memory: 32 << 20}
				}
			})
			_, err := run(t, e, code)
			var thrown *Thrown
			if err != nil && !errors.Is(err, ErrTurn) && !errors.Is(err, ErrMemory) && !(errors.As(err, &thrown) && thrown.Name == "RangeError") {
				t.Errorf("it ends with %v", err)
			}
			e.Close()
			over(t, e)
		})
	}
}

func TestActsAreBounded(t *testing.T) {
	e := start(t, "", func(c *Config) { c.Limits.Acts = 3 })
	var acts []*Act
	for range 3 {
		a, err := e.Begin(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		acts = append(acts, a)
	}
	if _, err := e.Begin(t.Context(), nil); !errors.Is(err, ErrFull) {
		t.Errorf("the fourth act: %v, want ErrFull", err)
	}
	inner, err := acts[0].Inside(t.Context(), nil)
	if err != nil {
		t.Errorf("an act inside another: %v", err)
	}
	inner.End()
	acts[0].End()
	acts[0].End()
	if e.Full() || e.Load() != 2 {
		t.Errorf("%d acts after one has ended, want 2", e.Load())
	}
	a, err := e.Begin(t.Context(), nil)
	if err != nil {
		t.Fatalf("after one has ended: %v", err)
	}
	for _, a := range append(acts, a) {
		a.End()
	}
}

func TestLogLineIsCut(t *testing.T) {
	log, lines := recorder()
	e := start(t, "", func(c *Config) { c.Log, c.Limits.LogLine = log, 100 })
	want(t, e, `console.log("é".repeat(1000)); console.warn("short"); return 1`, `1`)
	got := lines()
	if len(got) != 2 || len(got[0].Message) > 110 || !strings.HasSuffix(got[0].Message, "é…") {
		t.Errorf("%d lines, the first %q", len(got), fmt.Sprint(got))
	}
}
