package mail

import "time"

// SetGrace says how long an attempt goes on when Run is to end.
func SetGrace(o *Outbox, d time.Duration) { o.queue.Grace = d }

// OnRound lets f hear when Run begins to look for what is due.
func OnRound(o *Outbox, f func()) {
	free := o.queue.Free
	o.queue.Free = func(busy int) (int, time.Duration) {
		f()
		return free(busy)
	}
}
