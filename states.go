package svc

import (
	"context"
	"sync"
	"time"

	"svc.dev/svc/conversation"
	"svc.dev/svc/stream"
)

// maxStates is how many folded conversations a node keeps.
const maxStates = 256

// states keeps what logs of conversations added up to, so that the next prompt need not fold them again. A state belongs to
// whoever took it; one of another head than asked for is of no use.
type states struct {
	mu    sync.Mutex
	kept  map[Stream]keptState
	going map[Stream]chan struct{} // closed when the state of a stream that is being left has been put
}

// leaveWait bounds the wait for a state that is about to be put: folding the log costs no more than that.
const leaveWait = 100 * time.Millisecond

type keptState struct {
	head  stream.Offset
	state *conversation.State
	tail  *conversation.Tail
}

// leaving says that a stream's state may be put soon; what it returns says that it was, or will not be.
func (s *states) leaving(of Stream) (left func()) {
	put := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.going == nil {
		s.going = map[Stream]chan struct{}{}
	}
	s.going[of] = put
	return func() {
		close(put)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.going[of] == put {
			delete(s.going, of)
		}
	}
}

// wait returns when no holder of this node is leaving the stream.
func (s *states) wait(ctx context.Context, of Stream) {
	s.mu.Lock()
	put := s.going[of]
	s.mu.Unlock()
	if put == nil {
		return
	}
	late := time.NewTimer(leaveWait)
	defer late.Stop()
	select {
	case <-put:
	case <-late.C:
	case <-ctx.Done():
	}
}

func (s *states) take(ctx context.Context, of Stream, head stream.Offset) (*conversation.State, *conversation.Tail, bool) {
	s.wait(ctx, of)
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.kept[of]
	delete(s.kept, of)
	if !ok || k.head != head {
		return nil, nil, false
	}
	return k.state, k.tail, true
}

func (s *states) put(of Stream, head stream.Offset, state *conversation.State, tail *conversation.Tail) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[Stream]keptState{}
	}
	for other := range s.kept {
		if len(s.kept) < maxStates {
			break
		}
		delete(s.kept, other)
	}
	s.kept[of] = keptState{head, state, tail}
}

// prime keeps the state of a stream that the admission of its first lease has made: its log is what opened it.
func (s *states) prime(l Lease, opening []conversation.Record) {
	if l.Epoch != 1 || l.Tail.Head != 0 {
		return
	}
	state := conversation.NewState()
	if err := state.Apply(opening); err == nil {
		s.put(l.Stream, l.Tail.Head, state, &conversation.Tail{})
	}
}
