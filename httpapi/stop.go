package httpapi

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	maxSpread = 10 * time.Second
	perReader = 20 * time.Millisecond // fifty that come back in a second are no crowd
	minStay   = time.Second           // clients give SSE up after a few connections that are shorter
)

// farewell is when a reader is let go because the runtime stops. Readers go spread over time, so that they do not all come
// back at once.
type farewell struct {
	stopping <-chan struct{} // nil once it was heard
	at       time.Time       // zero: the runtime does not stop
	earliest time.Time
	spread   time.Duration
	readers  *atomic.Int64 // that are to go
}

// newFarewell counts a reader until it is gone.
func (a *api) newFarewell() farewell {
	a.readers.Add(1)
	return farewell{
		stopping: a.rt.Stopping(), earliest: time.Now().Add(minStay),
		spread: min(maxSpread, a.rt.StopTimeout()/3), readers: &a.readers,
	}
}

// gone says that the reader is.
func (f *farewell) gone() { f.readers.Add(-1) }

// hear sets the time to go; it is called when stopping is closed.
func (f *farewell) hear() {
	f.stopping = nil
	spread := min(f.spread, time.Duration(f.readers.Load())*perReader)
	f.at = time.Now().Add(rand.N(max(1, spread)))
	if f.at.Before(f.earliest) {
		f.at = f.earliest
	}
}

// listen hears of a stop without waiting for it, and reports whether it did just now.
func (f *farewell) listen() bool {
	select {
	case <-f.stopping:
		f.hear()
		return true
	default:
		return false
	}
}

func (f *farewell) due(now time.Time) bool { return !f.at.IsZero() && !now.Before(f.at) }

// before is the earlier of a time and the farewell.
func (f *farewell) before(t time.Time) time.Time {
	if !f.at.IsZero() && f.at.Before(t) {
		return f.at
	}
	return t
}
