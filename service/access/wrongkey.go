package access

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxSources is how many addresses are remembered.
const maxSources = 10_000

// wrongKeys slows down whoever tries keys. It counts only what was wrong, so a good key is never in its way but for the
// company it keeps.
type wrongKeys struct {
	minute  int // so many wrong ones a minute
	mu      sync.Mutex
	sources map[string]*rate.Limiter
}

func newWrongKeys(minute int) *wrongKeys {
	return &wrongKeys{minute: minute, sources: map[string]*rate.Limiter{}}
}

// wait is how long an address must wait before it may try again.
func (w *wrongKeys) wait(ip string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.sources[ip]
	if l == nil || l.Tokens() >= 1 {
		return 0
	}
	return w.pause()
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
		l = rate.NewLimiter(rate.Every(w.pause()), w.minute)
		w.sources[ip] = l
	}
	l.Allow()
}

// pause is how long one wrong key lasts.
func (w *wrongKeys) pause() time.Duration { return time.Minute / time.Duration(w.minute) }
