package gateway

import (
	"context"
	"sync"
)

// slots are places for work that strangers may begin: so many in all, and only a share of them for one source, so that whoever
// is slow is in nobody's way but their own.
type slots struct {
	all   chan struct{}
	share int

	mu sync.Mutex
	of map[string]*queue
}

// queue is the share of one source.
type queue struct {
	turns chan struct{}
	used  int // who has a place or waits for one
}

func newSlots(all, share int) *slots {
	return &slots{all: make(chan struct{}, all), share: share, of: map[string]*queue{}}
}

// take waits for a place until ctx ends, first for one of the source's own.
func (s *slots) take(ctx context.Context, source string) (release func(), ok bool) {
	q := s.enter(source)
	select {
	case q.turns <- struct{}{}:
	case <-ctx.Done():
		s.leave(source, q)
		return nil, false
	}
	select {
	case s.all <- struct{}{}:
	case <-ctx.Done():
		<-q.turns
		s.leave(source, q)
		return nil, false
	}
	return func() {
		<-s.all
		<-q.turns
		s.leave(source, q)
	}, true
}

func (s *slots) enter(source string) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.of[source]
	if q == nil {
		q = &queue{turns: make(chan struct{}, s.share)}
		s.of[source] = q
	}
	q.used++
	return q
}

// leave forgets a source that has nothing here any more.
func (s *slots) leave(source string, q *queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.used--; q.used == 0 {
		delete(s.of, source)
	}
}
