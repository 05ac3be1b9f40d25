package access

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"svc.dev/svc/fault"
)

// Rates bounds how often each of many may ask, on this node.
type Rates struct {
	name   string
	minute int // requests a minute
	burst  int

	all *lru.Cache[string, *rate.Limiter]
}

// maxRates is how many are remembered. Of more, whoever has not asked for longest is forgotten, and may ask a burst again: nobody
// who goes on asking is freed of their limit by a crowd of others.
const maxRates = 100_000

// NewRates lets each ask so often a minute, and a burst at once.
func NewRates(name string, minute, burst int) *Rates {
	all, _ := lru.New[string, *rate.Limiter](maxRates) // it refuses no size but zero
	return &Rates{name: name, minute: minute, burst: burst, all: all}
}

// of is the limiter of a key.
func (r *Rates) of(key string) *rate.Limiter {
	l, found := r.all.Get(key)
	if !found {
		l = rate.NewLimiter(rate.Every(r.pause()), r.burst)
		if before, came, _ := r.all.PeekOrAdd(key, l); came {
			l = before // at the same time
		}
	}
	return l
}

// pause is how long one request counts.
func (r *Rates) pause() time.Duration { return time.Minute / time.Duration(r.minute) }

// Full says how long to wait before there is room for one more, which it does not count.
func (r *Rates) Full(key string) error {
	if l, found := r.all.Get(key); found && l.Tokens() < 1 {
		return TooMany(r.name, r.pause())
	}
	return nil
}

// Count counts one that nobody can refuse any more.
func (r *Rates) Count(key string) { r.of(key).Allow() }

// Take counts a request, or says how long to wait.
func (r *Rates) Take(key string) error {
	now := time.Now()
	reservation := r.of(key).ReserveN(now, 1)
	if wait := reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
		return TooMany(r.name, wait)
	}
	return nil
}

// Streams bounds how many streams each may have open, on this node.
type Streams struct {
	most int

	mu   sync.Mutex
	open map[string]int
}

// NewStreams lets each have so many open.
func NewStreams(most int) *Streams { return &Streams{most: most, open: map[string]int{}} }

// Take opens one, which the caller releases.
func (s *Streams) Take(key string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[key] >= s.most {
		return nil, TooMany("streams", time.Second)
	}
	s.open[key]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[key]--; s.open[key] == 0 {
			delete(s.open, key)
		}
	}, nil
}

// Count is how many streams are open.
func (s *Streams) Count() (all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.open {
		all += n
	}
	return all
}

// TooMany is the refusal of more than a limit allows.
func TooMany(limit string, after time.Duration) error {
	return fault.New(fault.RateLimited, "Too many requests.", "Wait a while and try again.").With("limit", limit).After(max(after, time.Second))
}
