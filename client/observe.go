package client

import (
	"context"
	"iter"
	"time"

	"svc.dev/svc/fault"
)

// Observation is a conversation at a moment, and what has changed since the one before.
type Observation struct {
	// Conversation is the observer's own, and changes with the next observation: Clone keeps it. Its Offset is the checkpoint: it
	// stands behind all that is in Updates.
	Conversation *Conversation
	// Updates are what happened since the last observation, in order; none when the conversation was read anew, as it is first.
	Updates []Update
	// Live says that nothing lay behind it.
	Live bool
}

// ObserveOptions is how a conversation is observed. The zero value will do.
type ObserveOptions struct {
	Live Live          // defaults to Auto
	From *Conversation // as it was observed before. Defaults to history
}

// Observe gives a conversation, and then the conversation whenever it has changed, until the context ends or the loop is left.
// It begins with From where that is given, else with history, and reads history again where the server no longer knows the offset.
func (a *Agents) Observe(ctx context.Context, agent, instance string, o ObserveOptions) iter.Seq2[Observation, error] {
	return func(yield func(Observation, error) bool) {
		w := &observer{a: a, agent: agent, instance: instance, live: o.Live, yield: yield, patience: a.c.config.Patience}
		if o.From != nil {
			w.c = o.From.Clone()
		}
		if err := w.observe(ctx); err != nil {
			yield(Observation{}, err)
		}
	}
}

// observer keeps one conversation up to date.
type observer struct {
	a               *Agents
	agent, instance string
	live            Live
	yield           func(Observation, error) bool

	c        *Conversation // nil: history is to be read
	patience time.Duration // for history
}

// observe returns nil when nobody observes any more.
func (w *observer) observe(ctx context.Context) *Error {
	for pace := w.a.c.pace(); ; {
		if w.c == nil {
			if err := w.rehydrate(ctx); err != nil {
				return err
			}
		}
		if !w.yield(Observation{Conversation: w.c}, nil) {
			return nil
		}
		err := w.follow(ctx)
		if err == nil || !err.stale() {
			return err
		}
		w.c, w.patience = nil, -1 // it was there: history is asked for until it is there again
		if !w.a.c.pause(ctx, err, pace.next(0)) {
			return failed(ctx, ctx.Err())
		}
	}
}

// rehydrate reads history.
func (w *observer) rehydrate(ctx context.Context) *Error {
	asked, err := w.a.c.prepare(historyOf(w.agent, w.instance))
	if err != nil {
		return err
	}
	w.c = &Conversation{}
	return w.a.c.ask(ctx, asked, w.patience, w.a.c.decodes(w.c))
}

// follow shows each page's updates, taken in whole.
func (w *observer) follow(ctx context.Context) *Error {
	live := false
	for p, err := range w.a.read(w.agent, w.instance, StreamOptions{After: w.c.Offset, Live: w.live}).pages(ctx) {
		if err != nil {
			return err
		}
		updates, err := w.apply(p)
		if err != nil {
			return err
		}
		w.c.Offset = p.next
		became := p.tail && !live
		live = p.tail
		if (len(updates) > 0 || became) && !w.yield(Observation{w.c, updates, live}, nil) {
			return nil
		}
	}
	return nil
}

// apply takes the updates of a page in, and returns those that are news.
func (w *observer) apply(p page) ([]Update, *Error) {
	var news []Update
	for u, err := range p.updates() {
		if err != nil {
			return nil, err
		}
		if u.Type != UpdateReset && u.ConversationID != w.c.ID {
			return nil, &Error{Type: otherConversation}
		}
		if w.c.Apply(u) {
			news = append(news, u)
		}
	}
	return news, nil
}

// otherConversation is the type of an error that no caller sees: the instance was erased, and has begun anew.
const otherConversation = "other_conversation"

// stale reports whether what a reader has is of another conversation than the server's.
func (e *Error) stale() bool {
	return e.Type == fault.StreamOffsetGone || e.Type == fault.StreamNotFound || e.Type == otherConversation
}
