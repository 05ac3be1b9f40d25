package svc

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
)

// A ring keeps at most so many of its stream's newest frames; fewer while nobody reads it.
const (
	ringFrames = 64
	ringBytes  = 256 << 10
	idleBytes  = 16 << 10
)

// ringTimes is what a piece takes: its records, and the frame that they become.
const ringTimes = 2

// ring is the newest appends of one stream: those of this node's own work, and those that a reader took from the store.
type ring struct {
	stream Stream
	among  *rings
	stop   func() // ends the watch, which readers have; guarded by rings.mu

	filling sync.Mutex // held by the one reader who asks the store for what all at the head wait for

	mu      sync.Mutex
	readers int // these two change under both locks, and are read under either
	writers int // jobs whose appends are published here: one may still be leaving
	belief  belief
	wake    chan struct{} // closed, and another made, with every append that is heard of
	behind  bool          // an append of this node is under way: the store may have it already
	again   *time.Timer   // ends lingering; nil before the first time
	head    stream.Offset
	pieces  []piece
	joined  piece // what was last joined of them
	bytes   int
	room    *memory.Grant // for them
}

// belief is whether the head of a ring is taken for its stream's.
type belief uint8

const (
	doubted   belief = iota // another node may have appended: the store is asked
	believed                // until another append is heard of
	lingering               // for a moment whatever is heard, because it is the end of what was appended here
	ended                   // for ever: the stream is closed
)

// lookAgain is how long a ring lingers before its readers ask the store whether another node has appended since.
const lookAgain = 100 * time.Millisecond

// used says whether anybody reads or writes it; one of the locks is held.
func (r *ring) used() bool { return r.readers > 0 || r.writers > 0 }

// enter counts a reader in and says whether it is the first. What another node has appended while there were none nobody was
// told.
func (r *ring) enter() (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers++
	if r.readers > 1 {
		return false
	}
	if r.writers == 0 {
		r.belief = doubted
	}
	return true
}

// leave counts a reader out and says whether it was the last.
func (r *ring) leave() (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers--
	if r.readers > 0 {
		return false
	}
	r.trim()
	r.pay()
	return true
}

// hold begins to take this node's appends. The lease says where the stream stands.
func (r *ring) hold(head stream.Offset) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writers++
	if r.head != head && (r.belief == doubted || r.head < head) {
		r.forget()
		r.head = head
		r.broadcast()
	}
	r.belief = believed
}

// letGo ends what hold began: others may have appended unseen. That is unlikely where the lease was given back with the end of
// a reply, which is read now. So the ring lingers: what is heard is that end, for the store tells of every append, and does not
// say whose.
func (r *ring) letGo(settled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writers--
	r.behind = false
	switch {
	case r.writers > 0 || r.belief == ended:
	case settled && r.readers > 0 && r.belief == believed:
		r.linger()
	default:
		r.doubt()
	}
}

func (r *ring) linger() {
	r.belief = lingering
	if r.again == nil {
		r.again = time.AfterFunc(lookAgain, r.lookAgain)
	} else {
		r.again.Reset(lookAgain)
	}
}

func (r *ring) lookAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.belief == lingering {
		r.doubt()
	}
}

// watch listens for appends of other nodes. Those of this one are published, so their signals say nothing new.
func (r *ring) watch() {
	wake, stop := r.among.store.Watch(Topic{Stream: r.stream, Of: Head})
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-wake:
				r.heard()
			case <-done:
				return
			}
		}
	}()
	r.stop = func() {
		stop()
		close(done)
		<-ended
	}
}

func (r *ring) heard() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writers == 0 && r.belief <= believed {
		r.doubt()
	}
}

// doubt has the readers ask the store, where something may have been appended; the lock is held.
func (r *ring) doubt() {
	r.belief = doubted
	r.broadcast()
}

func (r *ring) broadcast() {
	if r.readers > 0 {
		close(r.wake)
		r.wake = make(chan struct{})
	}
}

// expect notes that this node appends.
func (r *ring) expect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind = true
}

// expected notes that the append came, with nothing in it.
func (r *ring) expected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind = false
	r.broadcast()
}

// catchUp has a reader who comes wait a moment for an append that is under way: whoever has seen it in the store sees it here too.
// Where it takes longer, the store is asked.
func (r *ring) catchUp(ctx context.Context) {
	r.mu.Lock()
	behind, wake := r.behind, r.wake
	r.mu.Unlock()
	if !behind {
		return
	}
	late := time.NewTimer(lookAgain)
	defer late.Stop()
	select {
	case <-wake:
	case <-ctx.Done():
	case <-late.C:
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.wake == wake {
			r.forget()
		}
	}
}

// publish takes an append of this node, or forgets what was before it where readers cannot be shown it from here.
func (r *ring) publish(p piece, shown, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind = false
	if shown {
		r.push(p)
	} else {
		r.forget()
	}
	r.end(closed)
	r.broadcast()
}

// end notes that the stream is closed. Where the ring does not know its head, the store will say so.
func (r *ring) end(closed bool) {
	if closed && r.belief != doubted {
		r.belief = ended
	}
}

func (r *ring) push(p piece) {
	if r.belief != doubted && p.Next < r.head {
		return // a later holder was told of it with its lease, and has appended since
	}
	if r.belief == doubted || p.After != r.head {
		r.forget()
	}
	r.belief, r.head = believed, p.Next
	if p.Next == p.After {
		return
	}
	r.pieces = append(r.pieces, p)
	r.bytes += p.bytes
	r.trim()
	if !r.pay() {
		r.forget() // there is no room for a ring: readers ask the store
	}
}

// trim drops the oldest. With readers one piece stays, whatever its size.
func (r *ring) trim() {
	most, least := idleBytes, 0
	if r.readers > 0 {
		most, least = ringBytes, 1
	}
	for len(r.pieces) > ringFrames || r.bytes > most && len(r.pieces) > least {
		r.bytes -= r.pieces[0].bytes
		r.pieces[0] = piece{}
		r.pieces = r.pieces[1:]
	}
}

// pay takes room for the pieces, or says that there is none.
func (r *ring) pay() bool {
	need := ringTimes * int64(r.bytes)
	if has := r.room.Size(); need > has {
		return r.room.Grow(need-has) == nil
	}
	r.room.Resize(need)
	return true
}

func (r *ring) forget() {
	r.pieces, r.joined, r.bytes, r.belief = nil, piece{}, 0, doubted
	r.room.Release()
}

// cached answers from the ring: at its head, or with what it holds up to there, if that is a page. The loan is given back when
// the page was sent; nil is none.
func (r *ring) cached(after stream.Offset) (stream.Frame, *loan, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.belief == doubted {
		return stream.Frame{}, nil, false
	}
	if after == r.head {
		return stream.Frame{After: after, Next: after}.At(r.head, r.belief == ended), nil, true
	}
	first := r.find(after)
	if first < 0 {
		return stream.Frame{}, nil, false
	}
	for i := range r.pieces[first:] {
		if !r.pieces[first+i].encode() {
			r.forget()
			return stream.Frame{}, nil, false
		}
	}
	frame, lent := r.lend(r.join(r.pieces[first:]))
	return frame.At(r.head, r.belief == ended), lent, true
}

// join is the page of pieces that end at the head, as the store would give it; where they are more than a page, the first.
// Readers who are behind at the same place share it.
func (r *ring) join(pieces []piece) *piece {
	page := &pieces[0]
	switch {
	case len(pieces) == 1:
		return page
	case r.joined.After == page.After && r.joined.Next == r.head:
		return &r.joined
	}
	frames := make([]stream.Frame, len(pieces))
	for i := range pieces {
		frames[i] = pieces[i].Frame
	}
	if all, ok := stream.Join(frames); ok {
		r.joined = piece{Frame: all}
		return &r.joined
	}
	return page
}

// find is the index of the piece that begins after an offset, -1 if the ring does not hold it.
func (r *ring) find(after stream.Offset) int {
	return slices.IndexFunc(r.pieces, func(p piece) bool { return p.After == after })
}

// confirm asks the store whether a ring that is doubted still ends where the stream does, if it holds what is asked for.
// One that does not is forgotten: the stream has grown elsewhere, or was dropped and begun anew.
func (r *ring) confirm(ctx context.Context, after stream.Offset) error {
	if !r.doubtful(after) {
		return nil
	}
	r.filling.Lock()
	defer r.filling.Unlock()
	if !r.doubtful(after) {
		return nil
	}
	before := r.version()
	tail, err := r.among.store.Tail(ctx, r.stream)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.belief != doubted || r.wake != before:
	case r.head == tail.Head:
		r.belief = believed
		r.end(tail.Closed)
	default:
		r.forget()
	}
	return nil
}

func (r *ring) doubtful(after stream.Offset) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.belief == doubted && r.find(after) >= 0
}

// read asks the store. A reader who stands at the ring's head asks for all who do; one behind it reads for itself. Where a
// page ended in the middle of a piece, the next ends with the piece: from there the ring goes on.
func (r *ring) read(ctx context.Context, after stream.Offset, largest int) (stream.Frame, *loan, error) {
	through, shared := r.reach(after)
	if shared {
		r.filling.Lock()
		defer r.filling.Unlock()
		if frame, lent, ok := r.cached(after); ok {
			return frame, lent, nil
		}
	}
	before := r.version()
	frame, err := readPage(ctx, r.among.store, r.stream, after, through, largest)
	if err == nil && shared && frame.Next == frame.Head {
		r.fill(frame, before)
	}
	return frame, nil, err
}

// reach says how far a read from the store may go, and whether its result is for everybody.
func (r *ring) reach(after stream.Offset) (through stream.Offset, shared bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pieces {
		if after < p.After {
			break
		}
		if after < p.Next {
			return p.Next, false
		}
	}
	return stream.Tail, len(r.pieces) == 0 || after >= r.head
}

// version is the wake of this moment.
func (r *ring) version() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wake
}

// fill puts what was read into the ring, unless something was appended meanwhile.
func (r *ring) fill(frame stream.Frame, before chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wake != before || r.belief != doubted {
		return
	}
	if frame.After != r.head || len(r.pieces) == 0 {
		r.forget()
		r.head = frame.After
	}
	r.belief = believed
	r.push(piece{Frame: frame, bytes: len(frame.SSE())})
	r.end(frame.Closed)
}

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
