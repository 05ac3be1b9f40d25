package script

import (
	"time"
)

// pause stops the clock of the running turn, until the function that it returns is called: the script is not to blame for the time that Go
// takes.
func (e *Engine) pause() (resume func()) {
	began := time.Now()
	e.stuck.Stop()
	return func() {
		took := time.Since(began)
		e.apart += took
		e.bare.prolong(took)
		e.stuck.Reset(e.limit + e.config.Limits.Stuck)
	}
}

// timeLimit is when the wrapper ends a call of JavaScript, as it lies in the wrapper's own memory.
type timeLimit struct {
	_  int32 // whether it was asked to end it now
	at int64 // by the wrapper's clock; 0 for never
}

// prolong lets the running call of JavaScript go on for longer. The wrapper sets the limit when Go calls, and not once more while that lasts.
func (b bare) prolong(by time.Duration) {
	known, ok := interrupts.Load(b.runtime)
	if !ok {
		return
	}
	if limit := (*timeLimit)(at(known.(*interrupt).opaque)); limit.at != 0 {
		limit.at += int64(by)
	}
}
