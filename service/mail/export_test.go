package mail

import "time"

// SetGrace says how long an attempt goes on when Run is to end.
func SetGrace(o *Outbox, d time.Duration) { o.queue.Grace = d }
