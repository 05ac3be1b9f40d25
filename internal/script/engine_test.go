package script

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// left is how many timers and acts an engine has beside the act that asks.
	operations["left"] = func(c Call) (any, error) {
		return len(c.Engine.alarms.byID) + c.Engine.Load() - 1, nil
	}
	// used collects garbage, and is how many bytes scripts hold.
	operations["used"] = func(c Call) (any, error) {
		c.Engine.bare.collect()
		return int(c.Engine.bare.used()), nil
	}
	goleak.VerifyTestMain(m)
}

// trial is the further prelude of the tests: `run` evaluates a text as the body of an async function, and gives its result as JSON.
const trial = `
const AsyncFunction = (async () => {}).constructor;
entrances.run = (act, code) => { enter(act); finish(act, async () => { const v = await new AsyncFunction("__svc", code)(shared); return v === undefined ? undefined : jsonStringify(v); }); };
entrances.wave = (act, code) => { enter(act); shared.ask = (kind, a) => ask(act, kind, a); finish(act, async () => jsonStringify(await new AsyncFunction("__svc", code)(shared) ?? null)); };
shared.sync = sync; shared.call = call; shared.signal = () => here().signal();
shared.unsupported = unsupported;
`

var compiled = sync.OnceValues(func() (Code, error) { return CompilePrelude(trial) })

// notUnderRace skips what would only make the interpreter, on one goroutine, run ten times slower.
func notUnderRace(t *testing.T) {
	t.Helper()
	if racing && !soak {
		t.Skip("SVC_SOAK is not set: under the race detector the interpreter is ten times slower, and this is on one goroutine")
	}
}

// start makes an engine that ends with the test.
func start(t testing.TB, main string, change func(*Config)) *Engine {
	t.Helper()
	e, err := tryStart(t, main, change)
	if err != nil {
		t.Fatalf("start an engine: %v", err)
	}
	t.Cleanup(func() {
		e.Close()
		over(t, e)
	})
	return e
}

// over waits until nothing is left of an engine.
func over(t testing.TB, e *Engine) {
	t.Helper()
	select {
	case <-e.Ended():
	case <-time.After(time.Minute):
		t.Fatal("the engine has not ended in a minute")
	}
}

func tryStart(t testing.TB, main string, change func(*Config)) (*Engine, error) {
	t.Helper()
	prelude, err := compiled()
	if err != nil {
		t.Fatalf("compile the prelude: %v", err)
	}
	code, err := CompileMain(main)
	if err != nil {
		t.Fatalf("compile the main script: %v", err)
	}
	// A busy machine must not fail what is not about time.
	c := Config{Prelude: prelude, Main: code, Entrances: []string{"run", "wave"}, Log: slog.New(slog.DiscardHandler), Limits: Limits{Turn: 20 * time.Second, Start: 20 * time.Second}}
	if change != nil {
		change(&c)
	}
	return New(t.Context(), c)
}

// run does one act, and gives its result.
func run(t testing.TB, e *Engine, code string) (string, error) {
	t.Helper()
	a, err := e.Begin(context.Background(), nil)
	if err != nil {
		return "", err
	}
	defer a.End()
	a.Call("run", code)
	return wait(t, a)
}

func wait(t testing.TB, a *Act) (string, error) {
	t.Helper()
	select {
	case r := <-a.Done():
		return r.Value, r.Err
	case <-a.Engine.Dead():
		return "", a.Engine.Fault(a.ID)
	case <-time.After(30 * time.Second):
		return "", errors.New("the act has not ended in 30 seconds")
	}
}

func want(t testing.TB, e *Engine, code, value string) {
	t.Helper()
	got, err := run(t, e, code)
	if err != nil || got != value {
		t.Errorf("%s\n gives %s, %v\nwant %s", strings.TrimSpace(code), got, err, value)
	}
}

// heldBytes is how many bytes scripts hold, without garbage.
func heldBytes(t testing.TB, e *Engine) int {
	t.Helper()
	text, err := run(t, e, `return __svc.sync("used")`)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestActGivesAResult(t *testing.T) {
	e := start(t, `globalThis.seven = await new Promise((r) => setTimeout(() => r(7), 3));`, nil)
	want(t, e, `return seven + 1`, `8`)
	want(t, e, `return new URL("/x?y=1#z", "https://a.b/c").href`, `"https://a.b/x?y=1#z"`)
	want(t, e, `return await new Response("hé").text()`, `"hé"`)
}
