package gateway

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bounds of guessing keys from one address, on this node.
const (
	wrongPerMinute = 100
	maxSources     = 10_000
)

// wrongKeys slows down whoever tries keys. It counts only what was wrong, so a good key is never in its way but for the
// company it keeps.
type wrongKeys struct {
	mu      sync.Mutex
	sources map[string]*rate.Limiter
}

func newWrongKeys() *wrongKeys { return &wrongKeys{sources: map[string]*rate.Limiter{}} }

// wait is how long an address must wait before it may try again.
func (w *wrongKeys) wait(ip string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.sources[ip]
	if l == nil || l.Tokens() >= 1 {
		return 0
	}
	return time.Minute / wrongPerMinute
}

// count notes a wrong key. When there are too many addresses to remember, all are forgotten: a key has 190 bits.
func (w *wrongKeys) count(ip string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.sources[ip]
	if l == nil {
		if len(w.sources) >= maxSources {
			clear(w.sources)
		}
		l = rate.NewLimiter(rate.Every(time.Minute/wrongPerMinute), wrongPerMinute)
		w.sources[ip] = l
	}
	l.Allow()
}
