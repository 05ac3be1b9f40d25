package ts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/script"
)

// Witness compares how one run goes the first time with how it goes when it is replayed. The first time the run is held where it would
// end: it stays active, and the next Runtime over its store replays it from its record. Sleeps are over at once. A replay that differs ends
// the run before it does anything that the first time did not do. The zero value is ready, for the run that begins first: those that it
// invokes go on by themselves.
type Witness struct {
	once sync.Once
	held chan struct{} // closed when the first time has come to its end

	mu         sync.Mutex
	run        string   // the run's id; empty: none has begun
	first      []string // what was asked for, in order
	end        string   // how it ended
	ended      bool
	replayed   bool
	difference string
}

// Verdict is what a witness saw.
type Verdict struct {
	// Asked is how much the run asked for: steps, sleeps, prompts, times and random values.
	Asked int
	// Replayed tells whether the run was replayed to its end, or to where it differs.
	Replayed bool
	// Difference says where the replay differs. Empty: it does not.
	Difference string
}

// Held is closed when the run has come to its end for the first time.
func (w *Witness) Held() <-chan struct{} {
	w.once.Do(func() { w.held = make(chan struct{}) })
	return w.held
}

// Verdict is what was seen so far.
func (w *Witness) Verdict() Verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Verdict{Asked: len(w.first), Replayed: w.replayed, Difference: w.difference}
}

// attendance is a witness of one time that a run's function runs.
type attendance struct {
	w *Witness
	n int // how much was asked for
}

// attend begins to look at a run; nil where there is no witness, or it looks at another.
func (w *Witness) attend(run string) *attendance {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.run = cmp.Or(w.run, run); w.run != run {
		return nil
	}
	return &attendance{w: w}
}

// errDiffers is that a replay is not as the first time.
var errDiffers = errors.New("the replay differs")

// asked takes what the run asks for, and compares it with what was asked for in its place before.
func (a *attendance) asked(what string) error {
	if a == nil {
		return nil
	}
	w := a.w
	w.mu.Lock()
	defer w.mu.Unlock()
	at := a.n
	a.n++
	switch {
	case at < len(w.first) && w.first[at] != what:
		return w.differs(fmt.Sprintf("it asks for %s, where the first time asked for %s", what, w.first[at]))
	case at >= len(w.first) && w.ended:
		return w.differs(fmt.Sprintf("it asks for %s, where the first time came to its end", what))
	case at >= len(w.first):
		w.first = append(w.first, what)
	}
	return nil
}

// differs keeps the first difference.
func (w *Witness) differs(how string) error {
	w.replayed = true
	if w.difference == "" {
		w.difference = how
	}
	return fmt.Errorf("%w: %s", errDiffers, w.difference)
}

// finished takes how the run ended. It reports whether that was the first time, which is held.
func (a *attendance) finished(end string) (first bool, err error) {
	w := a.w
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.ended:
		w.end, w.ended = end, true
		return true, nil
	case a.n < len(w.first):
		return false, w.differs(fmt.Sprintf("it comes to its end, where the first time asked for %s", w.first[a.n]))
	case w.end != end:
		return false, w.differs(fmt.Sprintf("it ends with %s, where the first time ended with %s", shortened(end), shortened(w.end)))
	}
	w.replayed = true
	return false, nil
}

// wave shows the witness what a run asks for in one turn.
func (a *attendance) wave(asks []script.Ask) error {
	if a == nil {
		return nil
	}
	for _, ask := range asks {
		if err := a.asked(spoken(ask)); err != nil {
			return err
		}
	}
	return nil
}

// spoken is an ask in words.
func spoken(ask script.Ask) string {
	switch ask.Kind {
	case "step":
		var o struct{ Key string }
		_ = json.Unmarshal([]byte(ask.Args.String(1)), &o) // written by the prelude
		if o.Key != "" {
			return fmt.Sprintf("step %q with key %q", ask.Args.String(0), o.Key)
		}
		return fmt.Sprintf("step %q", ask.Args.String(0))
	case "sleep":
		return fmt.Sprintf("a sleep of %s", milliseconds(ask.Args.Float(0)))
	}
	return fmt.Sprintf("the prompt %q", shortened(ask.Args.String(0)))
}

// shownEnd is how much of a text is shown.
const shownEnd = 200

func shortened(text string) string {
	if short := []rune(text); len(short) > shownEnd {
		return string(short[:shownEnd]) + "…"
	}
	return text
}

// hold keeps a run that has come to its end for the first time until its Runtime stops. A replay goes on to its end.
func (r *run) hold(ctx context.Context, end string) error {
	if r.watched == nil {
		return nil
	}
	first, err := r.watched.finished(end)
	if first {
		r.watched.w.Held()
		close(r.watched.w.held)
		<-ctx.Done()
		r.w.Interrupt(context.Cause(ctx))
	}
	return different(err)
}

// different is how a run ends whose replay differs.
func different(err error) error {
	if err == nil {
		return nil
	}
	return fault.New("replay_differs", "The replay of the run differs from its first time.", err.Error()).Because(err)
}
