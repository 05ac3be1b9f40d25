package svc

import (
	"sync"

	"svc.dev/svc/conversation"
	"svc.dev/svc/stream"
)

// maxStates is how many folded conversations a node keeps.
const maxStates = 256

// states keeps what logs of conversations added up to, so that the next prompt need not fold them again. A state belongs to
// whoever took it; one of another head than asked for is of no use.
type states struct {
	mu   sync.Mutex
	kept map[Stream]keptState
}

type keptState struct {
	head  stream.Offset
	state *conversation.State
	tail  *conversation.Tail
}

func (s *states) take(of Stream, head stream.Offset) (*conversation.State, *conversation.Tail, bool) {
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
