package svc

import (
	"container/list"
	"context"
	"sync"
	"time"

	"svc.dev/svc/conversation"
	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
)

// states keeps what logs of conversations added up to, so that the next prompt need not fold them again, as long as nobody
// needs the memory. A state belongs to whoever took it; one of another head than asked for is of no use.
type states struct {
	budget *memory.Budget

	mu    sync.Mutex
	kept  map[Stream]*list.Element // of keptState
	order list.List                // last used first
	going map[Stream]chan struct{} // closed when the state of a stream that is being left has been put
}

// leaveWait bounds the wait for a state that is about to be put: folding the log costs no more than that.
const leaveWait = 100 * time.Millisecond

type keptState struct {
	stream Stream
	head   stream.Offset
	state  *conversation.State
	tail   *conversation.Tail
	room   *memory.Grant
}

// leaving says that a stream's state may be put soon; what it returns says that it was, or will not be.
func (s *states) leaving(of Stream) (left func()) {
	put := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
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
	k := s.remove(of)
	if k == nil || k.head != head {
		return nil, nil, false
	}
	return k.state, k.tail, true
}

// remove lets go of a state, nil if there is none; the lock is held.
func (s *states) remove(of Stream) *keptState {
	e := s.kept[of]
	if e == nil {
		return nil
	}
	delete(s.kept, of)
	k := s.order.Remove(e).(*keptState)
	k.room.Release()
	return k
}

// forget lets go of what is kept of a stream that is no more.
func (s *states) forget(of Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(of)
}

// put keeps a state while there is room for it. Half of all memory may be kept.
func (s *states) put(of Stream, head stream.Offset, state *conversation.State, tail *conversation.Tail) {
	n := stateTimes*state.Bytes() + stateBytes
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(of)
	for s.budget.Used(memory.Kept)+n > s.budget.Limit()/2 && s.order.Len() > 0 {
		s.removeOldest()
	}
	room, err := s.budget.Try("", memory.Kept, n)
	if err != nil {
		return
	}
	s.kept[of] = s.order.PushFront(&keptState{of, head, state, tail, room})
}

// stateBytes is what a state takes that holds nothing.
const stateBytes = 4 << 10

func (s *states) removeOldest() int64 {
	k := s.order.Back().Value.(*keptState)
	n := k.room.Size()
	s.remove(k.stream)
	return n
}

// shed lets go of the states that were not used for longest, until so many bytes are free.
func (s *states) shed(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n > 0 && s.order.Len() > 0 {
		n -= s.removeOldest()
	}
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
