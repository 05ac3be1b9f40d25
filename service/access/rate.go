package access

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
)

// Rates bounds how often each of many may ask, on this node.
type Rates struct {
	name   string
	minute int // requests a minute
	burst  int

	mu  sync.Mutex
	all map[string]*rate.Limiter
}

// maxRates is how many are remembered. When there are more all are forgotten, which lets each ask a burst again.
const maxRates = 100_000

// NewRates lets each ask so often a minute, and a burst at once.
func NewRates(name string, minute, burst int) *Rates {
	return &Rates{name: name, minute: minute, burst: burst, all: map[string]*rate.Limiter{}}
}

// Take counts a request, or says how long to wait.
func (r *Rates) Take(key string) error {
	r.mu.Lock()
	l := r.all[key]
	if l == nil {
		if len(r.all) >= maxRates {
			clear(r.all)
		}
		l = rate.NewLimiter(rate.Every(time.Minute/time.Duration(r.minute)), r.burst)
		r.all[key] = l
	}
	r.mu.Unlock()
	now := time.Now()
	reservation := l.ReserveN(now, 1)
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
	return fault.New(account.RateLimited, "Too many requests.", "Wait a while and try again.").With("limit", limit).After(max(after, time.Second))
}
