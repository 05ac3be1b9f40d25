package svc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/notepad"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// errInside is what nobody outside may read.
var errInside = errors.New("dial tcp 10.1.2.3:5432: refused")

// faulty is a store of which one verb fails for a while, with words of its own.
type faulty struct {
	svc.Store
	verb string
	on   atomic.Bool // until then nothing fails, and nothing is worked on
	left atomic.Int32
}

func (f *faulty) fails(verb string) bool { return f.on.Load() && f.verb == verb && f.left.Add(-1) >= 0 }

func (f *faulty) Claim(ctx context.Context, o svc.Owner, n int) (svc.Claimed, error) {
	if !f.on.Load() {
		return svc.Claimed{Next: time.Millisecond}, nil
	}
	return f.Store.Claim(ctx, o, n)
}

func (f *faulty) Read(ctx context.Context, s svc.Stream, r svc.Range) (svc.Page, error) {
	if r.Bytes == 8<<20 && f.fails("Read") { // the page of a fold

		return svc.Page{}, errInside
	}
	return f.Store.Read(ctx, s, r)
}

func (f *faulty) Admit(ctx context.Context, a svc.Admission) (svc.Receipt, error) {
	if a.Stream.ID == "inner" && f.fails("Admit") {
		return svc.Receipt{}, errors.Join(svc.ErrUnavailable, errInside)
	}
	a.Owner = nil // so that inputs are fetched, and logs folded
	return f.Store.Admit(ctx, a)
}

func (f *faulty) Input(ctx context.Context, l svc.Lease, b svc.Submission) ([]byte, error) {
	if f.fails("Input") {
		return nil, errInside
	}
	return f.Store.Input(ctx, l, b)
}

func (f *faulty) Append(ctx context.Context, l svc.Lease, c svc.Commit) (svc.Appended, error) {
	if f.fails("Append") {
		return svc.Appended{}, errInside
	}
	return f.Store.Append(ctx, l, c)
}

func (f *faulty) Put(ctx context.Context, scope string, r io.Reader) (svc.Blob, error) {
	if f.fails("Put") {
		return svc.Blob{}, errInside
	}
	return f.Store.Put(ctx, scope, r)
}

func (f *faulty) Get(ctx context.Context, s svc.Stream, attachment string) (svc.Attachment, io.ReadCloser, error) {
	if f.fails("Get") {
		return svc.Attachment{}, nil, errInside
	}
	a, body, err := f.Store.Get(ctx, s, attachment)
	if err == nil && f.fails("Get and read") {
		body.Close()
		body = io.NopCloser(io.MultiReader(strings.NewReader("\x89P"), failing{}))
	}
	return a, body, err
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errInside }

// painter gives a picture.
func painter(calls *atomic.Int32) svc.Tool {
	return svc.RawTool("paint", "", []byte(`{"type":"object"}`), func(context.Context, json.RawMessage) (svc.ToolResult, error) {
		calls.Add(1)
		return svc.ToolResult{Content: []svc.ToolContent{{MimeType: "image/png", Data: []byte("\x89PNG painted")}}}, nil
	})
}

func picture(text string) svc.Prompt {
	return svc.Prompt{Message: conversation.Message{Kind: "user", Body: text, Attachments: []conversation.Attachment{{
		MimeType: "image/png", Data: []byte("\x89PNG"),
	}}}}
}

// TestWhatDoesNotAnswerIsNoOutcome lets everything fail for a while that work asks, one thing at a time: a prompt with a
// picture, whose tool gives another, and a run that prompts in a step and asks end as if nothing had been.
func TestWhatDoesNotAnswerIsNoOutcome(t *testing.T) {
	for _, verb := range []string{"Read", "Input", "Append", "Put", "Get", "Get and read", "Admit", "Resolve", "Model"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			agent := &svc.Agent{Name: "a", Model: "scripted/test", Tools: []svc.Tool{painter(&calls)}}
			provider := scripted.Choose(func(r model.Request) scripted.Turn {
				if len(r.Messages) == 1 {
					return scripted.Turn{scripted.Call("paint", struct{}{})}
				}
				return scripted.Turn{scripted.Say("seen")}
			})
			store := &faulty{verb: verb}
			var n *node
			n = start(t, sqlite(t), declared("asking", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
				if _, err := svc.Step(ctx, w, "prompt", func(ctx context.Context) (bool, error) {
					_, err := n.Prompt(ctx, "a", "inner", svc.Prompt{Message: conversation.Message{Kind: "user", Body: "x"}})
					return err == nil, err
				}); err != nil {
					return "", err
				}
				answer, err := svc.Ask(ctx, w, agent, "paint")
				return answer.Text, err
			}), func(c *svc.Config) {
				store.Store = c.Store
				c.Store = store
				c.Resolve = func(context.Context, string, string, string) (*svc.Agent, error) {
					if store.fails("Resolve") {
						return nil, errInside
					}
					return agent, nil
				}
				c.Model = func(context.Context, string, string) (model.Provider, error) {
					if store.fails("Model") {
						return nil, errors.Join(svc.ErrUnavailable, errInside)
					}
					return provider, nil
				}
			})
			if _, err := n.Prompt(t.Context(), "a", "42", picture("look")); err != nil {
				t.Fatal(err)
			}
			store.left.Store(2)
			store.on.Store(true)
			told := n.updates(t, "42", stream.Start, 1)
			if got := retold(told); !strings.HasSuffix(got, "seen | completed | settled completed") || strings.Contains(got, "error ") {
				t.Errorf("updates: %s", got)
			}
			expect(t, "calls", calls.Load(), 1)
			if left := store.left.Load(); left > 0 && verb != "Admit" {
				t.Errorf("%s was not asked: %d failures are left", verb, left)
			}
			store.left.Store(2)
			run := n.await(t, "asking", n.invoke(t, "asking", nil))
			expect(t, "run", string(run.Result), `"seen"`)
			if shown, err := json.Marshal(told); err != nil || bytes.Contains(shown, []byte("10.1.2.3")) {
				t.Errorf("shown: %s %v", shown, err)
			}
		})
	}
}

// TestOfAFailedModelOnlyItsOwnWordsAreTold has errors that are no model's.
func TestOfAFailedModelOnlyItsOwnWordsAreTold(t *testing.T) {
	n := startAgent(t, sqlite(t), scripted.New(scripted.Turn{scripted.Fail(errInside)}))
	n.prompt(t, "42", "x")
	told := n.updates(t, "42", stream.Start, 1)
	last := told[len(told)-1]
	expect(t, "outcome", last.Outcome, "failed")
	expect(t, "type", last.Error.Type, "operation_failed")
	expect(t, "message", last.Error.Message, "prompt failed: the model could not be asked")
}

// logged keeps the log of a node, to be read by the test.
type logged struct{ notepad.Pad }

func (l *logged) has(text string) bool {
	return strings.Contains(l.String(), text)
}

// TestPoisonedWorkIsGivenUp lets a model panic, at an agent's own turn, a sub-agent's, and a workflow's: it is tried as often
// as is allowed, ends as an internal error that the log names, and what waits behind it goes on.
func TestPoisonedWorkIsGivenUp(t *testing.T) {
	var panics atomic.Int32
	sub := &svc.Agent{Name: "sub", Model: "scripted/test"}
	provider := scripted.Choose(func(r model.Request) scripted.Turn {
		last := r.Messages[len(r.Messages)-1]
		switch text := last.Parts[0].Text; {
		case text == nil || !strings.HasPrefix(*text, "please "):
			return scripted.Turn{scripted.Say("fine")}
		case *text == "please delegate":
			return scripted.Turn{scripted.Call("task", map[string]string{"agent": "sub", "prompt": "please panic"})}
		default:
			panics.Add(1)
			panic("no such model")
		}
	})
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		log := &logged{}
		declare, configure := talking(provider, func(a *svc.Agent) { a.Agents = []*svc.Agent{sub} })
		n := start(t, address, func(rt *svc.Runtime) {
			declare(rt)
			declared("asking", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
				answer, err := svc.Ask(ctx, w, sub, "please panic")
				return answer.Text, err
			})(rt)
		}, configure, func(c *svc.Config) { c.MaxAttempts, c.Log = 2, slog.New(slog.NewTextHandler(log, nil)) })
		for id, prompt := range map[string]string{"own": "please panic", "task": "please delegate"} {
			panics.Store(0)
			poisoned := n.prompt(t, id, prompt)
			n.prompt(t, id, "hello")
			told := n.updates(t, id, stream.Start, 2)
			var ends []string
			for _, c := range told {
				if c.Type == "submission-settled" {
					ends = append(ends, c.Outcome)
				}
				if c.Error != nil {
					expect(t, "error", c.Error.Type, "internal_error")
				}
			}
			expect(t, id, strings.Join(ends, " "), "failed completed")
			expect(t, "attempts", panics.Load(), 2)
			if !log.has(poisoned.SubmissionID) {
				t.Error("the log does not name the submission")
			}
		}
		panics.Store(0)
		id := n.invoke(t, "asking", nil)
		run := n.await(t, "asking", id)
		expect(t, "run", run.Status, workflow.Errored)
		expect(t, "message", run.Error.Message, "Internal error.")
		expect(t, "attempts", panics.Load(), 2)
		expect(t, "named", log.has(id), true)
	})
}

// garbled is a store that gives back other batches of a stream than it was given.
type garbled struct{ svc.Store }

func (g garbled) Read(ctx context.Context, s svc.Stream, r svc.Range) (svc.Page, error) {
	page, err := g.Store.Read(ctx, s, r)
	for i, b := range page.Batches {
		if s.ID == "42" && b.Last == 1 {
			page.Batches[i].Data = []byte("[{")
		}
	}
	return page, err
}

// TestAConversationThatCannotBeReadGoesOn settles what met the unreadable batch; what comes behind it is answered.
func TestAConversationThatCannotBeReadGoesOn(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		provider := scripted.Choose(func(model.Request) scripted.Turn { return scripted.Turn{scripted.Say("fine")} })
		n := startAgent(t, address, provider)
		n.prompt(t, "42", "one")
		n.updates(t, "42", stream.Start, 1)
		n.stop()
		declare, configure := talking(provider)
		log := &logged{}
		n = start(t, address, declare, configure, func(c *svc.Config) {
			c.Store, c.MaxAttempts, c.Log = garbled{c.Store}, 2, slog.New(slog.NewTextHandler(log, nil))
		})
		lost := n.prompt(t, "42", "two")
		told := n.updates(t, "42", lost.Offset, 1)
		expect(t, "error", told[len(told)-1].Error.Type, "internal_error")
		expect(t, "named", log.has(lost.SubmissionID), true)
		next := n.prompt(t, "42", "three")
		expect(t, "updates", retold(n.updates(t, "42", next.Offset, 1)), "user(three) | started | fine | completed | settled completed")
		n.stop()
		n = startAgent(t, address, provider)
		if history := n.history(t, "42"); !strings.Contains(history, `"text":"one"`) || !strings.Contains(history, lost.SubmissionID) {
			t.Errorf("history: %s", history)
		}
		next = n.prompt(t, "42", "four")
		expect(t, "after a restart", retold(n.updates(t, "42", next.Offset, 1)), "user(four) | started | fine | completed | settled completed")
	})
}

// TestAbortOfDispatchedWorkIsSettledForAll aborts a dispatch that runs, and one that waits behind it. Their other outcomes are
// nobody's business.
func TestAbortOfDispatchedWorkIsSettledForAll(t *testing.T) {
	running := make(chan struct{}, 1)
	n := startAgent(t, sqlite(t), scripted.Choose(func(r model.Request) scripted.Turn {
		if *r.Messages[0].Parts[0].Text == "quick" && len(r.Messages) == 1 {
			return scripted.Turn{scripted.Say("done")}
		}
		running <- struct{}{}
		return scripted.Turn{scripted.Hang()}
	}))
	dispatch := func(text string) string {
		t.Helper()
		p, err := n.Dispatch(t.Context(), "a", "42", svc.Prompt{Message: conversation.Message{Kind: "user", Body: text}})
		if err != nil {
			t.Fatal(err)
		}
		return p.SubmissionID
	}
	dispatch("quick")
	first, second := dispatch("slow"), dispatch("queued")
	<-running
	if ok, err := n.Abort(t.Context(), "a", "42", ""); err != nil || !ok {
		t.Fatal(ok, err)
	}
	told := n.updates(t, "42", stream.Start, 2)
	var settled []string
	for _, c := range told {
		if c.Type == "submission-settled" {
			expect(t, "outcome", c.Outcome+" "+c.Error.Type, "aborted submission_aborted")
			settled = append(settled, c.SubmissionID)
		}
	}
	expect(t, "settled", strings.Join(settled, " "), first+" "+second)
	if history := n.history(t, "42"); strings.Count(history, `"outcome":"aborted"`) != 2 || strings.Contains(history, `"outcome":"completed"`) {
		t.Errorf("history: %s", history)
	}
}

// slowly is a store whose appends of tool calls take until the lease is nearly over, and that renews nothing.
type slowly struct {
	svc.Store
	delay time.Duration
	once  sync.Once
}

func (s *slowly) Append(ctx context.Context, l svc.Lease, c svc.Commit) (svc.Appended, error) {
	appended, err := s.Store.Append(ctx, l, c)
	if bytes.Contains(c.Data, []byte(`"assistant_tool_call"`)) {
		s.once.Do(func() { takes(s.delay) })
	}
	return appended, err
}

func (s *slowly) Renew(context.Context, svc.Owner, []svc.Lease) (svc.Renewed, error) {
	return svc.Renewed{}, svc.ErrUnavailable
}

// TestNoToolIsCalledUnderALeaseThatLapses lets the append that records a call take nine tenths of the lease.
func TestNoToolIsCalledUnderALeaseThatLapses(t *testing.T) {
	const lease = 2 * time.Second
	var calls atomic.Int32
	declare, configure := talking(scripted.New(
		scripted.Turn{scripted.Call("add", sumIn{2, 3})}, scripted.Turn{scripted.Say("done")},
	), func(a *svc.Agent) { a.Tools = []svc.Tool{adder(&calls)} })
	n := start(t, sqlite(t), declare, configure, func(c *svc.Config) {
		c.Lease = lease
		c.Store = &slowly{Store: c.Store, delay: lease * 9 / 10}
	})
	n.prompt(t, "42", "2 and 3")
	told := retold(n.updates(t, "42", stream.Start, 1))
	expect(t, "calls", calls.Load(), 0)
	if !strings.Contains(told, `error {"type":"interrupted"`) {
		t.Errorf("updates: %s", told)
	}
}

// TestCancelledRunOfAnUnknownWorkflowEnds has a run whose workflow no node declares any more.
func TestCancelledRunOfAnUnknownWorkflowEnds(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := start(t, address, declared("gone", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
			return 1, w.Sleep(ctx, time.Hour)
		}), func(c *svc.Config) { c.Park = time.Millisecond })
		id := n.invoke(t, "gone", nil)
		eventually(t, "the run sleeps", func() bool { return len(n.events(t, "gone", id)) == 1 && n.Working() == 0 })
		n.stop()
		n = start(t, address, declared("other", func(context.Context, *svc.Work, struct{}) (int, error) { return 1, nil }))
		if active, err := n.CancelRun(t.Context(), id); err != nil || !active {
			t.Fatal(active, err)
		}
		run := n.await(t, "gone", id)
		expect(t, "error", run.Error.Name, "RunCancelled")
		expect(t, "last event", told(n.events(t, "gone", id)), "run_start, run_end")
	})
}
