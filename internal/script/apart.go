package script

import "time"

// pause stops the clock of the running turn, until the function that it returns is called: the script is not to blame for the time that Go
// takes.
func (e *Engine) pause() (resume func()) {
	began := time.Now()
	e.stuck.Stop()
	return func() {
		took := time.Since(began)
		e.apart += took
		e.bare.interrupt.prolong(took)
		e.stuck.Reset(e.limit + e.config.Limits.Stuck)
	}
}
