package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	lib "modernc.org/libquickjs"
)

// Host answers what scripts ask of the program around them, on the engine's goroutine: it must not take long, and what may wait for others or
// end its goroutine is done by the call's Apart or Go.
type Host interface {
	// Sync answers while the script waits. It reports false for an operation that it does not have.
	Sync(c Call) (answer any, known bool, err error)
	// Async answers later, by the call's Settle. It reports false for an operation that it does not have.
	Async(c Call) (known bool)
}

// nobody is a Host that has no operations.
type nobody struct{}

func (nobody) Sync(Call) (any, bool, error) { return nil, false, nil }
func (nobody) Async(Call) bool              { return false }

// Call is a script's request for an operation.
type Call struct {
	Engine *Engine
	Act    *Act // whose it is; nil while the main script runs, and when the act has ended
	Op     string
	Args   Args

	id, act int64
}

// Settle answers an asynchronous call with a string, a number, a boolean or nil, or with an error that the script catches.
func (c Call) Settle(value any, err error) { c.Engine.settle(c.act, c.id, value, err) }

// AfterTurn does work when all of the running turn was heard, or the engine is lost in it. The work does not wait, and calls nothing of the
// engine.
func (c Call) AfterTurn(work func()) {
	behind := &c.Engine.behind
	behind.Lock()
	defer behind.Unlock()
	behind.all = append(behind.all, work)
}

// Go does the call's work on a goroutine that ends with the engine, under the context of its act, and settles it.
func (c Call) Go(work func(ctx context.Context) (any, error)) {
	c.Engine.Go(c.Act, func(ctx context.Context) {
		value, err := any(nil), errUnanswered
		defer func() { c.Settle(value, err) }()
		value, err = work(ctx)
	})
}

// errUnanswered is what a script hears of work whose goroutine ended in the midst of it, as by runtime.Goexit.
var errUnanswered = errors.New("the goroutine that was asked has ended")

// Args are the arguments of a call: strings, numbers, booleans, or nil for null and undefined.
type Args []any

// Has reports whether there is an argument that is neither null nor undefined.
func (a Args) Has(i int) bool { return i < len(a) && a[i] != nil }

// String is an argument as text; "" when there is none.
func (a Args) String(i int) string {
	if !a.Has(i) {
		return ""
	}
	if s, ok := a[i].(string); ok {
		return s
	}
	return fmt.Sprint(a[i])
}

// Int is an argument as a whole number; 0 when it is none.
func (a Args) Int(i int) int64 {
	if i >= len(a) {
		return 0
	}
	switch n := a[i].(type) {
	case int:
		return int64(n)
	case float64:
		return int64(n)
	case bool:
		if n {
			return 1
		}
	}
	return 0
}

// Float is an argument as a number; 0 when it is none.
func (a Args) Float(i int) float64 {
	if i < len(a) {
		if f, ok := a[i].(float64); ok {
			return f
		}
	}
	return float64(a.Int(i))
}

// Bool reports whether an argument is true.
func (a Args) Bool(i int) bool { return i < len(a) && a[i] == true }

// Bytes is an argument that carries bytes, which cross as base64.
func (a Args) Bytes(i int) ([]byte, error) { return fromBase64(a.String(i)) }

// read makes a call of what crossed: the operation, the call's id, the act and the arguments. It reports false when there was no memory for it.
func (e *Engine) read(crossed []lib.TJSValue) (c Call, ok bool) {
	all := make(Args, len(crossed))
	for i, v := range crossed {
		if all[i], ok = valueOf(e.bare.tls, e.bare.context, v); !ok {
			return c, false
		}
	}
	c = Call{Engine: e, Op: all.String(0), id: all.Int(1), act: all.Int(2), Args: all[3:]}
	c.Act = e.Act(c.act)
	return c, true
}

// answer answers at once, on the engine's goroutine. A panic is an error of the script's.
func (c Call) answer() (answer any, err error) {
	defer c.rescue(&err)
	c.Engine.config.Heard(c)
	if op, ok := operations[c.Op]; ok {
		return op(c)
	}
	answer, known, err := c.Engine.config.Host.Sync(c)
	return answer, c.known(known, err)
}

// known is the error of an operation, which is that there is none where nobody knows it.
func (c Call) known(known bool, err error) error {
	if !known && err == nil {
		return fmt.Errorf("there is no operation %q", c.Op)
	}
	return err
}

// rescue makes an error of a panic.
func (c Call) rescue(err *error) {
	if p := recover(); p != nil {
		c.Engine.config.Log.Error("panic in an operation", "op", c.Op, "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("%s failed", c.Op)
	}
}

// Apart does what answers a call on another goroutine, and waits for it: for what the runtime may end, because a goroutine that ends inside
// the engine abandons it. The time that it takes is not the turn's.
func (c Call) Apart(work func() (any, error)) (answer any, err error) {
	defer c.Engine.pause()()
	err = fmt.Errorf("%s has no answer: %w", c.Op, errUnanswered)
	var over sync.WaitGroup
	over.Go(func() {
		var value any
		failed := err
		defer func() { answer, err = value, failed }()
		defer c.rescue(&failed)
		value, failed = work()
	})
	over.Wait()
	return answer, err
}

// begin begins what takes time. A panic is an error of the script's.
func (c Call) begin() (err error) {
	c.expect(1)
	defer func() {
		if err != nil {
			c.expect(-1)
		}
	}()
	defer c.rescue(&err)
	c.Engine.config.Heard(c)
	switch c.Op {
	case "fetch":
		c.fetch()
	case "read":
		c.readBody()
	default:
		return c.known(c.Engine.config.Host.Async(c), nil)
	}
	return nil
}

// expect counts the calls of an act that are not settled.
func (c Call) expect(more int64) {
	if c.Act != nil {
		c.Act.calls.Add(more)
	}
}

// operations are what every script may ask at once.
var operations map[string]func(Call) (any, error)

func init() {
	operations = map[string]func(Call) (any, error){
		"loaded": Call.loaded, "failed": Call.failed, "log": Call.log, "env": Call.env, "agent": Call.agent, "elapsed": Call.elapsed,
		"timer": Call.timer, "untimer": Call.untimer, "forget": Call.forget,
		"utf8": Call.utf8, "text": Call.text, "url": Call.url, "urlset": Call.urlSet, "form": Call.form,
		"digest": Call.digest, "hmac": Call.hmac, "seal": Call.seal, "unseal": Call.unseal, "random": Call.random,
		"stop": Call.stop, "drop": Call.drop, "where": Call.where,
	}
}

func (c Call) loaded() (any, error) {
	if c.Args.Bool(0) {
		c.Engine.loaded(nil)
		return nil, nil
	}
	thrown := c.Engine.Thrown(c.Args.String(1))
	if c.Engine.isMemory(thrown) {
		c.Engine.loaded(ErrMemory)
		return nil, nil
	}
	c.Engine.loaded(thrown)
	return nil, nil
}

// failed is how a script finished an act that did not go well: act, and the error.
func (c Call) failed() (any, error) {
	a := c.Engine.Act(c.Args.Int(0))
	if a == nil {
		return nil, nil
	}
	thrown := c.Engine.Thrown(c.Args.String(1))
	if c.Engine.isMemory(thrown) {
		c.Engine.overflowed(a.ID)
		return nil, nil
	}
	a.finish(Result{Err: thrown})
	return nil, nil
}

var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func (c Call) log() (any, error) {
	e, text := c.Engine, c.Args.String(1)
	if strings.Contains(text, "\n    at ") {
		text = e.trace(text)
	}
	e.config.Log.Log(e.contextOf(c.act), levels[c.Args.String(0)], cut(text, e.config.Limits.LogLine), "from", "script")
	return nil, nil
}

// cut shortens a text to so many bytes, and not inside a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

func (c Call) env() (any, error) {
	if c.Engine.config.Env == nil {
		return "{}", nil
	}
	data, err := json.Marshal(c.Engine.config.Env)
	return string(data), err
}

// elapsed is the time since the engine began, in milliseconds and their parts.
func (c Call) elapsed() (any, error) {
	return float64(time.Since(c.Engine.began).Microseconds()) / 1000, nil
}

func (c Call) agent() (any, error) { return c.Engine.config.UserAgent, nil }

// timer sets one: id and milliseconds.
func (c Call) timer() (any, error) {
	e := c.Engine
	if most := e.config.Limits.Timers; e.alarms.ofAct[c.act] >= most || len(e.alarms.byID) >= mostSharing*most {
		return nil, &Thrown{Name: "RangeError", Message: fmt.Sprintf("there are %d timers, which is as many as there may be", e.alarms.ofAct[c.act])}
	}
	e.alarms.set(c.Args.Int(0), c.act, time.Now().Add(time.Duration(c.Args.Float(1)*float64(time.Millisecond))))
	return nil, nil
}

// mostSharing is how many acts may have all the timers that one may have: one that fills its share leaves its neighbours theirs.
const mostSharing = 10

func (c Call) untimer() (any, error) {
	c.Engine.alarms.drop(c.Args.Int(0))
	return nil, nil
}

// forget drops the timers of an act that has ended.
func (c Call) forget() (any, error) {
	c.Engine.alarms.dropAct(c.Args.Int(0))
	return nil, nil
}
