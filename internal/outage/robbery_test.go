package outage_test

import (
	"sync"
	"time"

	"svc.dev/svc/internal/processors"
)

// robbery is what other machines had of the processors, instant by instant, from the first test on.
var robbery stolen

type stolen struct {
	sync.Mutex
	at, took []time.Duration
}

// watch looks as long as the process lives.
func (s *stolen) watch() {
	for range time.Tick(50 * time.Millisecond) {
		s.Lock()
		s.at, s.took = append(s.at, instant()), append(s.took, processors.Now().Stolen)
		s.Unlock()
	}
}

// between is what all processors lost, which one thing after the other may have waited for.
func (s *stolen) between(from, to time.Duration) time.Duration {
	s.Lock()
	defer s.Unlock()
	var first, last time.Duration
	for i, at := range s.at {
		if at <= from || i == 0 {
			first = s.took[i]
		}
		if last = s.took[i]; at >= to {
			break
		}
	}
	return last - first
}
