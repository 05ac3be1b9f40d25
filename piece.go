package svc

import (
	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
)

// piece is one append in a ring. They are contiguous.
type piece struct {
	stream.Frame                          // encoded when a reader first asks for it
	show         func() ([][]byte, error) // nil once it is
	bytes        int
	lent         *loan // nil: no reader has taken it, or it is small
}

// encode makes the frame. What cannot be shown, or is more than a page at once, the readers take from the store.
func (p *piece) encode() bool {
	if p.show == nil {
		return true
	}
	items, err := p.show()
	if err != nil || !fitsPage(items) {
		return false
	}
	p.Frame, p.show = stream.NewFrame(p.After, p.Next, items), nil
	return true
}

func fitsPage(events [][]byte) bool {
	size := 2
	for _, e := range events {
		size += len(e) + 1
	}
	return len(events) <= stream.PageItems && (size <= stream.PageBytes || len(events) <= 1)
}

// loan is the frame of a piece while readers are sent it. It is counted once, however many they are, and until the last of
// them has it: the ring may have let go of the piece long before.
type loan struct {
	readers int // guarded by ring.mu
	room    *memory.Grant
}

// smallFrame is the size of a frame that a reader's connection pays for.
const smallFrame = 16 << 10

// lend hands out the frame of a piece; the lock is held.
func (r *ring) lend(p *piece) (stream.Frame, *loan) {
	n := len(p.SSE())
	if n <= smallFrame {
		return p.Frame, nil
	}
	if p.lent == nil {
		room, _ := r.among.budget.Try(r.among.holder(r.stream.Scope), memory.Reads, 0) // nothing is always there
		p.lent = &loan{room: room}
	}
	if p.lent.readers++; p.lent.readers == 1 {
		p.lent.room.Resize(int64(n)) // it is there already
	}
	return p.Frame, p.lent
}

// takeBack ends the loan of one reader.
func (r *ring) takeBack(l *loan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.readers--; l.readers == 0 {
		l.room.Release()
	}
}
