package svc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
)

// The ring of a stream keeps at most so many of its newest frames; fewer while nobody reads it.
const (
	ringFrames = 64
	ringBytes  = 256 << 10
	idleBytes  = 16 << 10
)

// leftRings is how many rings are kept that nobody reads or writes: who prompts and then follows may come a moment after the
// reply.
const leftRings = 128

// lookAgain is how long after this node's last append its readers ask the store whether another has appended since.
const lookAgain = 100 * time.Millisecond

// followers are the streams that are read or written on this node.
type followers struct {
	store  Store
	budget *memory.Budget
	holder func(scope string) string

	mu    sync.Mutex
	rings map[Stream]*followed
	left  []*followed // listed: those that nobody read or wrote when they were, oldest first
	read  int         // how many have readers
}

// followed is one stream: a ring of its newest appends, those of this node's own work and those that a reader took from the
// store.
type followed struct {
	stream  Stream
	readers int    // these four are guarded by followers.mu
	writers int    // jobs whose appends are published here: one may still be leaving
	listed  bool   // among those that are left
	stop    func() // ends the watch, which readers have

	filling sync.Mutex // held by the one reader who asks the store for what all at the head wait for

	mu     sync.Mutex
	wake   chan struct{}
	shared bool // it has readers
	local  bool // this node appends, so every append is published here
	fresh  bool // the ring's head is the stream's, as far as anyone told
	pieces []piece
	joined piece // what was last joined of them
	bytes  int
	room   *memory.Grant // for them
	loans  func() *memory.Grant
	head   stream.Offset
	closed bool
	again  *time.Timer // nil: readers need not look again by themselves
}

// piece is one append in a ring. They are contiguous.
type piece struct {
	stream.Frame                          // encoded when a reader first asks for it
	show         func() ([][]byte, error) // nil once it is
	bytes        int
	lent         *loan // nil: no reader has taken it, or it is small
}

// loan is the frame of a piece while readers are sent it. It is counted once, however many they are, and until the last of
// them has it: the ring may have let go of the piece long before.
type loan struct {
	readers int // guarded by followed.mu
	room    *memory.Grant
}

// smallFrame is the size of a frame that a reader's connection pays for.
const smallFrame = 16 << 10

// lend hands out the frame of a piece; the lock is held.
func (f *followed) lend(p *piece) (stream.Frame, *loan) {
	n := len(p.SSE())
	if n <= smallFrame {
		return p.Frame, nil
	}
	if p.lent == nil {
		p.lent = &loan{room: f.loans()}
	}
	if p.lent.readers++; p.lent.readers == 1 {
		p.lent.room.Resize(int64(n)) // it is there already
	}
	return p.Frame, p.lent
}

// takeBack ends the loan of one reader.
func (f *followed) takeBack(l *loan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.readers--; l.readers == 0 {
		l.room.Release()
	}
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

// ring finds a stream's ring or makes it; the lock is held.
func (fs *followers) ring(s Stream) *followed {
	f := fs.rings[s]
	if f == nil {
		room, _ := fs.budget.Try("", memory.Kept, 0)
		f = &followed{stream: s, wake: make(chan struct{}), room: room, loans: func() *memory.Grant {
			room, _ := fs.budget.Try(fs.holder(s.Scope), memory.Reads, 0) // nothing is always there
			return room
		}}
		if fs.rings == nil {
			fs.rings = map[Stream]*followed{}
		}
		fs.rings[s] = f
	}
	return f
}

// leave keeps a ring that nobody reads or writes for a while; the lock is held.
func (fs *followers) leave(f *followed) {
	if f.readers > 0 || f.writers > 0 || f.listed {
		return
	}
	f.listed = true
	fs.left = append(fs.left, f)
	for len(fs.left) > leftRings {
		oldest := fs.left[0]
		fs.left[0], fs.left = nil, fs.left[1:]
		oldest.listed = false
		if oldest.readers == 0 && oldest.writers == 0 {
			delete(fs.rings, oldest.stream)
			oldest.room.Release()
		}
	}
}

func (fs *followers) join(s Stream) *followed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.ring(s)
	if f.readers++; f.readers == 1 {
		fs.read++
		f.watch(fs.store)
		f.share()
	}
	return f
}

func (fs *followers) part(f *followed) {
	fs.mu.Lock()
	f.readers--
	stop := func() {}
	if f.readers == 0 {
		fs.read--
		stop = f.stop
		f.unshare()
		fs.leave(f)
	}
	fs.mu.Unlock()
	stop()
}

// hold tells that this node appends to the stream now, behind a head.
func (fs *followers) hold(s Stream, head stream.Offset) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.ring(s)
	f.writers++
	f.hold(head)
}

// letGo tells that it does no longer: others may have appended unseen. That is unlikely where the last append gave the lease
// back, so its readers look a moment later.
func (fs *followers) letGo(s Stream, settled bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.rings[s]
	if f.writers--; f.writers > 0 {
		return
	}
	f.letGo(settled)
	fs.leave(f)
}

// publish keeps an append of this node for the stream's readers. It is called after the commit, in order. Where nobody reads
// it is not encoded yet.
func (fs *followers) publish(s Stream, p piece, closed bool) {
	fs.mu.Lock()
	f := fs.rings[s]
	read := f != nil && f.readers > 0
	fs.mu.Unlock()
	// Work that was left behind may append last when its stream was let go.
	if f == nil || p.Next == p.After && !closed {
		return
	}
	shown := !read || p.encode()
	f.mu.Lock()
	defer f.mu.Unlock()
	if shown {
		f.push(p)
	} else {
		f.forget()
	}
	f.closed = f.closed || closed
	f.broadcast()
}

func (f *followed) push(p piece) {
	if f.fresh && p.Next < f.head {
		return // a later holder was told of it with its lease, and has appended since
	}
	if !f.fresh || p.After != f.head {
		f.forget()
	}
	f.fresh, f.head = true, p.Next
	if p.Next == p.After {
		return
	}
	f.pieces = append(f.pieces, p)
	f.bytes += p.bytes
	f.trim()
	if !f.pay() {
		// There is no room for a ring: readers ask the store.
		f.forget()
		f.head = p.Next
	}
}

// ringTimes is what a piece takes: its records, and the frame that they become.
const ringTimes = 2

// pay takes room for the pieces, or says that there is none.
func (f *followed) pay() bool {
	need := ringTimes * int64(f.bytes)
	if has := f.room.Size(); need > has {
		return f.room.Grow(need-has) == nil
	}
	f.room.Resize(need)
	return true
}

// shed lets go of what rings hold, until so many bytes are free.
func (fs *followers) shed(n int64) {
	fs.mu.Lock()
	all := slices.Collect(maps.Values(fs.rings))
	fs.mu.Unlock()
	for _, f := range all {
		if n <= 0 {
			return
		}
		n -= f.room.Size()
		f.mu.Lock()
		f.forget()
		f.mu.Unlock()
	}
}

// forget lets go of what is kept of a stream that is no more. Its readers ask the store, and hear of it.
func (fs *followers) forget(s Stream) {
	fs.mu.Lock()
	f := fs.rings[s]
	fs.mu.Unlock()
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget()
	f.closed = false
	f.broadcast()
}

// trim drops the oldest. With readers one piece stays, whatever its size.
func (f *followed) trim() {
	most, least := idleBytes, 0
	if f.shared {
		most, least = ringBytes, 1
	}
	for len(f.pieces) > ringFrames || f.bytes > most && len(f.pieces) > least {
		f.bytes -= f.pieces[0].bytes
		f.pieces[0] = piece{}
		f.pieces = f.pieces[1:]
	}
}

func (f *followed) forget() {
	f.pieces, f.joined, f.bytes, f.fresh = nil, piece{}, 0, false
	f.room.Release()
}

func (f *followed) broadcast() {
	if f.shared {
		close(f.wake)
		f.wake = make(chan struct{})
	}
}

// share begins with readers. What another node has appended while there were none nobody was told.
func (f *followed) share() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shared = true
	f.fresh = f.fresh && f.local
}

func (f *followed) unshare() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shared = false
	f.rest()
	f.trim()
	f.pay()
}

// hold begins to take this node's appends. The lease says where the stream stands.
func (f *followed) hold(head stream.Offset) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest()
	f.local = true
	if f.head == head || f.fresh && f.head > head {
		f.fresh = true
		return
	}
	f.forget()
	f.fresh, f.head, f.closed = true, head, false
	f.broadcast()
}

func (f *followed) letGo(settled bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.local = false
	if f.closed {
		return
	}
	if settled && f.shared {
		// The end of a reply is read now. For a moment the ring is believed, and what is heard is that end: the store tells of
		// every append, and does not say whose.
		f.rest()
		f.again = time.AfterFunc(lookAgain, f.lookAgain)
		return
	}
	f.fresh = false
	f.broadcast()
}

// lookAgain ends the moment in which the ring was believed.
func (f *followed) lookAgain() {
	f.mu.Lock()
	f.rest()
	f.mu.Unlock()
	f.heard()
}

// rest ends the wait to look again.
func (f *followed) rest() {
	if f.again != nil {
		f.again.Stop()
		f.again = nil
	}
}

// watch listens for appends of other nodes. Those of this one are published, so their signals say nothing new.
func (f *followed) watch(store Store) {
	wake, stop := store.Watch(Topic{Stream: f.stream, Of: Head})
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-wake:
				f.heard()
			case <-done:
				return
			}
		}
	}()
	f.stop = func() {
		stop()
		close(done)
		<-ended
	}
}

func (f *followed) heard() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.local && !f.closed && f.again == nil {
		f.fresh = false
		f.broadcast()
	}
}

// cached answers from the ring: at its head, or with what it holds up to there, if that is a page. The loan is given back when
// the page was sent; nil is none.
func (f *followed) cached(after stream.Offset) (stream.Frame, *loan, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.fresh {
		return stream.Frame{}, nil, false
	}
	if after == f.head {
		return stream.Frame{After: after, Next: after}.At(f.head, f.closed), nil, true
	}
	first := f.find(after)
	if first < 0 {
		return stream.Frame{}, nil, false
	}
	for i := range f.pieces[first:] {
		if !f.pieces[first+i].encode() {
			f.forget()
			return stream.Frame{}, nil, false
		}
	}
	frame, lent := f.lend(f.join(f.pieces[first:]))
	return frame.At(f.head, f.closed), lent, true
}

// join is the page of pieces that end at the head, as the store would give it; where they are more than a page, the first.
// Readers who are behind at the same place share it.
func (f *followed) join(pieces []piece) *piece {
	page := &pieces[0]
	switch {
	case len(pieces) == 1:
		return page
	case f.joined.After == page.After && f.joined.Next == f.head:
		return &f.joined
	}
	frames := make([]stream.Frame, len(pieces))
	for i := range pieces {
		frames[i] = pieces[i].Frame
	}
	if all, ok := stream.Join(frames); ok {
		f.joined = piece{Frame: all}
		return &f.joined
	}
	return page
}

// find is the index of the piece that begins after an offset, -1 if the ring does not hold it.
func (f *followed) find(after stream.Offset) int {
	return slices.IndexFunc(f.pieces, func(p piece) bool { return p.After == after })
}

// confirm asks the store whether a ring that may be old still ends where the stream does, if it holds what is asked for.
// One that does not is forgotten: the stream has grown elsewhere, or was dropped and begun anew.
func (f *followed) confirm(ctx context.Context, store Store, after stream.Offset) error {
	if !f.doubtful(after) {
		return nil
	}
	f.filling.Lock()
	defer f.filling.Unlock()
	if !f.doubtful(after) {
		return nil
	}
	before := f.version()
	tail, err := store.Tail(ctx, f.stream)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.fresh || f.wake != before:
	case f.head == tail.Head:
		f.fresh, f.closed = true, tail.Closed
	default:
		f.forget()
	}
	return nil
}

func (f *followed) doubtful(after stream.Offset) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.fresh && f.find(after) >= 0
}

// read asks the store. A reader who stands at the ring's head asks for all who do; one behind it reads for itself. Where a
// page ended in the middle of a piece, the next ends with the piece: from there the ring goes on.
func (f *followed) read(ctx context.Context, store Store, after stream.Offset, largest int) (stream.Frame, *loan, error) {
	through, shared := f.reach(after)
	if shared {
		f.filling.Lock()
		defer f.filling.Unlock()
		if frame, lent, ok := f.cached(after); ok {
			return frame, lent, nil
		}
	}
	before := f.version()
	frame, err := readPage(ctx, store, f.stream, after, through, largest)
	if err == nil && shared && frame.Next == frame.Head {
		f.fill(frame, before)
	}
	return frame, nil, err
}

// reach says how far a read from the store may go, and whether its result is for everybody.
func (f *followed) reach(after stream.Offset) (through stream.Offset, shared bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pieces {
		if after < p.After {
			break
		}
		if after < p.Next {
			return p.Next, false
		}
	}
	return stream.Tail, len(f.pieces) == 0 || after >= f.head
}

// version is the wake of this moment: it is replaced by every append that is heard of.
func (f *followed) version() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wake
}

// fill puts what was read into the ring, unless something was appended meanwhile.
func (f *followed) fill(frame stream.Frame, before chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wake != before || f.fresh {
		return
	}
	if frame.After != f.head || len(f.pieces) == 0 {
		f.forget()
		f.head = frame.After
	}
	f.fresh = true
	f.push(piece{Frame: frame, bytes: len(frame.SSE())})
	f.closed = frame.Closed
}
