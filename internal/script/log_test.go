package script

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// recorder is a logger, and what it was told.
func recorder() (*slog.Logger, func() []slog.Record) {
	r := &recording{}
	return slog.New(r), func() []slog.Record {
		r.mu.Lock()
		defer r.mu.Unlock()
		return append([]slog.Record(nil), r.all...)
	}
}

type recording struct {
	mu  sync.Mutex
	all []slog.Record
}

func (r *recording) Enabled(context.Context, slog.Level) bool { return true }
func (r *recording) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *recording) WithGroup(string) slog.Handler            { return r }
func (r *recording) Handle(_ context.Context, one slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
	return nil
}

func TestConsoleWritesValuesAsPeopleReadThem(t *testing.T) {
	log, lines := recorder()
	e := start(t, "", func(c *Config) { c.Log = log })
	for _, c := range []struct{ code, line string }{
		{`console.log("a", 1, true, null, undefined, 5n, Symbol("s"))`, `a 1 true null undefined 5n Symbol(s)`},
		{`console.log({ a: 1, b: "x", "c-d": [1, "y"] }, [], {})`, `{ a: 1, b: "x", "c-d": [ 1, "y" ] } [] {}`},
		{`console.log(new Map([["k", { v: 1 }]]), new Set([1]))`, `Map(1) { "k" => { v: 1 } } Set(1) { 1 }`},
		{`console.log(new Date(0), /a/g, new Uint8Array([1, 2]), -0)`, `1970-01-01T00:00:00.000Z /a/g Uint8Array(2) [ 1, 2 ] -0`},
		{`class K { x = 1 }; const k = new K(); k.self = k; console.log(k)`, `K { x: 1, self: [Circular] }`},
		{`console.log({ get a() { throw 1 } }, () => 1, function named() {})`, `{ a: [Getter] } [Function (anonymous)] [Function: named]`},
		{`console.log("%s is %d and %j%%", "x", 5, { a: 1 }, "more")`, `x is 5 and {"a":1}% more`},
		{`console.log("%", "%z", "100%")`, `% %z 100%`},
		{`console.log({ a: { b: { c: { d: 1 } } } })`, `{ a: { b: { c: [Object] } } }`},
		{`console.group("g"); console.log("in"); console.groupEnd()`, `g`},
		{`console.log(Promise.resolve(1), new Proxy({ p: 1 }, {}), Object.create(null))`, `Promise {} { p: 1 } [Object: null prototype] {}`},
		{`console.assert(1 === 2, "no")`, `Assertion failed: no`},
		{`console.count(); console.count()`, `default: 1`},
	} {
		before := len(lines())
		if _, err := run(t, e, c.code); err != nil {
			t.Errorf("%s: %v", c.code, err)
			continue
		}
		if got := lines()[before].Message; got != c.line {
			t.Errorf("%s\n writes %s\nwant %s", c.code, got, c.line)
		}
	}
}

func TestUnhandledRejectionsAreLogged(t *testing.T) {
	log, lines := recorder()
	e := start(t, "", func(c *Config) { c.Log = log })
	for _, code := range []string{
		`Promise.reject(new TypeError("lost one"))`,
		`(async () => { await null; throw new RangeError("lost two") })()`,
		`new Promise((_, r) => setTimeout(() => r("lost three"), 1)); await new Promise((r) => setTimeout(r, 20))`,
		`queueMicrotask(() => { throw new Error("lost four") })`,
		`Promise.reject(Object.create(null)); Promise.reject({ get x() { throw 1 } }); Promise.reject(null)`,
		`setTimeout(() => { throw new Error("lost five") }, 1); await new Promise((r) => setTimeout(r, 20))`,
	} {
		if _, err := run(t, e, code); err != nil {
			t.Errorf("%s: %v", code, err)
		}
	}
	var text strings.Builder
	for _, l := range lines() {
		text.WriteString(l.Message + "\n")
	}
	for _, w := range []string{"Unhandled rejection: TypeError: lost one", "RangeError: lost two", "lost three", "lost four", "Unhandled rejection: null", "uncaught: Error: lost five"} {
		if !strings.Contains(text.String(), w) {
			t.Errorf("the log lacks %q:\n%s", w, &text)
		}
	}
}

func TestHandledRejectionsAreNotLogged(t *testing.T) {
	log, lines := recorder()
	e := start(t, "", func(c *Config) { c.Log = log })
	for _, code := range []string{
		`const p = Promise.reject(1); await null; await p.catch(() => {})`,
		`try { await Promise.all([Promise.reject(1), Promise.reject(2)]) } catch {}`,
		`const c = new AbortController(); c.abort(); try { await fetch("http://x.invalid", { signal: c.signal }) } catch {}`,
		`const s = new ReadableStream({ start(c) { c.error(new Error("e")) } }); try { await s.getReader().read() } catch {}`,
		`const w = new WritableStream({ write() { throw new Error("w") } }).getWriter(); try { await w.write(1) } catch {}`,
		`try { await new Response(new ReadableStream({ pull() { throw new Error("b") } })).text() } catch {}`,
		`const [a, b] = new ReadableStream({ start(c) { c.error(new Error("t")) } }).tee(); try { for await (const x of a); } catch {}`,
		`try { await ReadableStream.from([1]).pipeThrough(new TransformStream({ transform() { throw new Error("x") } })).getReader().read() } catch {}`,
		`throw new Error("told by the act")`,
	} {
		_, _ = run(t, e, code)
	}
	for _, l := range lines() {
		t.Errorf("logged: %s", l.Message)
	}
}
