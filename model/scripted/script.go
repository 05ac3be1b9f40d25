// Package scripted plays turns that were written down: for tests, for demos, and for the first run of a service that has no
// key yet.
package scripted

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"svc.dev/svc/model"
)

// Turn is what the model does in one turn, in order. It then stops, for its tools if it called any.
type Turn []Step

// Step is one thing that a turn does: a block, a call, a rest, or its end.
type Step struct {
	kind      model.EventType // of a block
	deltas    []string
	signature string
	call      *model.ToolCall
	delay     time.Duration
	hang      bool
	err       error
	finish    *model.Finish
}

// Say is a block of text, one delta each.
func Say(deltas ...string) Step { return Step{kind: model.TextDelta, deltas: deltas} }

// Think is a block of reasoning with its signature, which may be empty.
func Think(signature string, deltas ...string) Step {
	return Step{kind: model.ReasoningDelta, deltas: deltas, signature: signature}
}

// Call calls a tool. The input is encoded as JSON and has to be an object; the call gets an id of its own.
func Call(name string, input any) Step {
	data, err := json.Marshal(input)
	if err != nil {
		return Fail(fmt.Errorf("script: call of %s: %w", name, err))
	}
	return Step{call: &model.ToolCall{Name: name, Input: data}}
}

// CallAs calls a tool with all that a call has.
func CallAs(c model.ToolCall) Step { return Step{call: &c} }

// Wait rests.
func Wait(d time.Duration) Step { return Step{delay: d} }

// Hang says nothing until the turn's context ends.
func Hang() Step { return Step{hang: true} }

// Fail ends the turn with an error.
func Fail(err error) Step { return Step{err: err} }

// Finish ends the turn in its own way, with its own usage.
func Finish(f model.Finish) Step { return Step{finish: &f} }

// Provider plays a script. Turns may run side by side.
type Provider struct {
	choose func(model.Request) Turn

	mu    sync.Mutex
	asked []model.Request
}

// New plays the turns one after the other; a turn more than there are is refused.
func New(turns ...Turn) *Provider {
	var mu sync.Mutex
	return Choose(func(model.Request) Turn {
		mu.Lock()
		defer mu.Unlock()
		if len(turns) == 0 {
			return Turn{Fail(&model.Error{Class: model.Rejected, Message: "the script is over"})}
		}
		next := turns[0]
		turns = turns[1:]
		return next
	})
}

// Choose plays what a function says to each request.
func Choose(choose func(model.Request) Turn) *Provider { return &Provider{choose: choose} }

// Requests are those that were made so far.
func (p *Provider) Requests() []model.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// Turn plays one turn.
func (p *Provider) Turn(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		p.mu.Lock()
		p.asked = append(p.asked, r)
		p.mu.Unlock()
		p.choose(r).play(ctx, yield)
	}
}

// play does what the turn does, in order, and ends it.
func (t Turn) play(ctx context.Context, yield func(model.Event, error) bool) {
	s := &stage{yield: yield}
	for _, step := range t {
		if !s.play(ctx, step) {
			return
		}
	}
	s.end(model.Finish{Reason: model.Stop})
}

// stage is where a turn is played. Its methods report whether it goes on.
type stage struct {
	yield  func(model.Event, error) bool
	output int
	called bool
}

func (s *stage) play(ctx context.Context, step Step) bool {
	if step.hang {
		<-ctx.Done()
	}
	if err := rest(ctx, step.delay); err != nil {
		return s.fail(err)
	}
	switch {
	case step.err != nil:
		return s.fail(step.err)
	case step.finish != nil:
		return s.end(*step.finish)
	case step.call != nil:
		return s.call(*step.call)
	case step.kind != "":
		return s.block(step)
	}
	return true
}

func (s *stage) block(step Step) bool {
	for _, delta := range step.deltas {
		s.output++
		if !s.yield(model.Event{Type: step.kind, Text: delta}, nil) {
			return false
		}
	}
	return s.yield(model.Event{Type: model.BlockEnd, Signature: step.signature}, nil)
}

func (s *stage) call(c model.ToolCall) bool {
	s.called = true
	s.output++
	if c.ID == "" {
		c.ID = "call_" + rand.Text()
	}
	return s.yield(model.Event{Type: model.Called, Call: &c}, nil)
}

func (s *stage) fail(err error) bool {
	s.yield(model.Event{}, err)
	return false
}

// end finishes the turn; a finish without usage counts as the words model does.
func (s *stage) end(f model.Finish) bool {
	if s.called && f.Reason == model.Stop {
		f.Reason = model.ToolUse
	}
	if f.Usage == (model.Usage{}) {
		f.Usage = model.Usage{Input: 1, Output: s.output, TotalTokens: 1 + s.output}
	}
	s.yield(model.Event{Type: model.Finished, Finish: &f}, nil)
	return false
}
