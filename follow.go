package svc

import (
	"context"
	"fmt"
	"sync"

	"svc.dev/svc/conversation"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// The ring of a followed stream keeps at most so many of its newest frames.
const (
	ringFrames = 64
	ringBytes  = 256 << 10
)

// Follower reads one stream, page by page, for as long as its reader wishes. Its readers on this node share the bytes of
// the newest pages: at the tail nobody asks the store.
type Follower struct {
	followers *followers
	followed  *followed
	once      sync.Once
}

// Follow begins to follow a stream; the follower must be closed.
func (rt *Runtime) Follow(s Stream) *Follower {
	return &Follower{followers: &rt.follow, followed: rt.follow.join(s)}
}

// Followed is how many streams have readers on this node.
func (rt *Runtime) Followed() int {
	rt.follow.mu.Lock()
	defer rt.follow.mu.Unlock()
	return len(rt.follow.rings)
}

// RunStream is the address of a run's stream.
func (s Scoped) RunStream(run workflow.Run) Stream { return s.run(run.Workflow, run.ID) }

// Tail says where a stream stands.
func (rt *Runtime) Tail(ctx context.Context, s Stream) (Tail, error) { return rt.store.Tail(ctx, s) }

// Close ends the following.
func (f *Follower) Close() { f.once.Do(func() { f.followers.part(f.followed) }) }

// Wake is closed when something may have been appended since this call. Take it before a Page: what is appended between
// the two is then not missed.
func (f *Follower) Wake() <-chan struct{} {
	f.followed.mu.Lock()
	defer f.followed.mu.Unlock()
	return f.followed.wake
}

// Page returns what stands strictly after an offset, as far as one page goes; nothing waits for more. Its Tail and Closed
// say what was true at this moment.
func (f *Follower) Page(ctx context.Context, after stream.Offset) (stream.Frame, error) {
	if frame, ok := f.followed.cached(after); ok {
		return frame, nil
	}
	return f.followed.read(ctx, f.followers.store, after)
}

// Page reads one page of a stream that nobody follows.
func (rt *Runtime) Page(ctx context.Context, s Stream, after stream.Offset) (stream.Frame, error) {
	frame, _, err := readPage(ctx, rt.store, s, after, stream.Tail)
	return frame, err
}

// readPage reads what readers see after an offset, at most up to another, and not more than a page. It returns the head
// that it was read against, too.
func readPage(ctx context.Context, store Store, s Stream, after, through stream.Offset) (stream.Frame, stream.Offset, error) {
	page, err := store.Read(ctx, s, Range{
		After: Position{Offset: after, Part: maxPart}, Through: stream.Tail, Items: stream.PageItems, Bytes: stream.PageBytes,
	})
	if err != nil {
		return stream.Frame{}, 0, fmt.Errorf("read page: %w", err)
	}
	// A row may hold more than a page, or reach beyond through; the page is cut among its events.
	frame, err := cutPage(s.Kind, page.Batches, after, min(through, page.Tail.Head))
	if err != nil {
		return frame, 0, err
	}
	frame.Tail = frame.Next >= page.Tail.Head
	frame.Closed = frame.Tail && page.Tail.Closed
	return frame, page.Tail.Head, nil
}

// maxPart stands behind every row of one offset.
const maxPart = 1<<31 - 1

// cutPage takes items in order until one would pass the bounds of a page. A run's items are its events; an agent's are whole
// batches, whatever number of chunks they show.
func cutPage(kind Kind, batches []Batch, after, through stream.Offset) (stream.Frame, error) {
	var items [][]byte
	next, size, taken := after, 2, 0
	for _, b := range batches {
		parts, err := shownOf(kind, b)
		if err != nil {
			return stream.Frame{}, fmt.Errorf("read page: %w", err)
		}
		for _, p := range parts {
			if p.offset <= after || p.offset > through {
				continue
			}
			for _, item := range p.items {
				size += len(item) + 1
			}
			if taken == stream.PageItems || taken > 0 && size > stream.PageBytes {
				return stream.NewFrame(after, next, items), nil
			}
			items, next, taken = append(items, p.items...), p.offset, taken+1
		}
	}
	return stream.NewFrame(after, next, items), nil
}

// shownAt is what readers see at one offset.
type shownAt struct {
	offset stream.Offset
	items  [][]byte
}

func shownOf(kind Kind, b Batch) ([]shownAt, error) {
	if kind == KindAgent {
		chunks, err := conversation.Chunks(b.Last, b.Data)
		return []shownAt{{b.Last, chunks}}, err
	}
	events, err := workflow.Events(b.Data)
	shown := make([]shownAt, len(events))
	for i := range events {
		shown[i] = shownAt{b.Last - stream.Offset(len(events)-1-i), events[i : i+1]}
	}
	return shown, err
}

// followers are the streams that have readers on this node.
type followers struct {
	store Store

	mu     sync.Mutex
	rings  map[Stream]*followed
	writes map[Stream]int // streams whose appends are published here, and by how many jobs: one may still be leaving
}

// followed is one stream with readers: a ring of its newest frames.
type followed struct {
	stream  Stream
	readers int // guarded by followers.mu
	stop    func()

	filling sync.Mutex // held by the one reader who asks the store for what all at the head wait for

	mu     sync.Mutex
	wake   chan struct{}
	local  bool           // this node appends, so every append is published here
	fresh  bool           // the ring's head is the stream's, as far as anyone told
	frames []stream.Frame // contiguous
	bytes  int
	head   stream.Offset
	closed bool
}

func (fs *followers) join(s Stream) *followed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.rings[s]; f != nil {
		f.readers++
		return f
	}
	f := &followed{stream: s, readers: 1, wake: make(chan struct{}), local: fs.writes[s] > 0}
	f.watch(fs.store)
	if fs.rings == nil {
		fs.rings = map[Stream]*followed{}
	}
	fs.rings[s] = f
	return f
}

func (fs *followers) part(f *followed) {
	fs.mu.Lock()
	f.readers--
	last := f.readers == 0
	if last {
		delete(fs.rings, f.stream)
	}
	fs.mu.Unlock()
	if last {
		f.stop()
	}
}

func (fs *followers) find(s Stream) *followed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.rings[s]
}

// hold tells that this node appends to the stream now.
func (fs *followers) hold(s Stream) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.writes == nil {
		fs.writes = map[Stream]int{}
	}
	fs.writes[s]++
	if f := fs.rings[s]; f != nil {
		f.setLocal(true)
	}
}

// letGo tells that it does no longer: others may have appended unseen.
func (fs *followers) letGo(s Stream) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.writes[s]--; fs.writes[s] > 0 {
		return
	}
	delete(fs.writes, s)
	if f := fs.rings[s]; f != nil {
		f.setLocal(false)
	}
}

// followed reports whether the stream has readers here.
func (fs *followers) followed(s Stream) bool { return fs.find(s) != nil }

// publish hands an append to the stream's readers, if it has any. It is called after the commit, in order. What could not be
// shown, or is more than a page at once, the readers take from the store.
func (fs *followers) publish(s Stream, after, head stream.Offset, items [][]byte, closed, shown bool) {
	f := fs.find(s)
	if f == nil || head == after && !closed {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if shown && fitsPage(items) {
		f.push(stream.NewFrame(after, head, items))
	} else {
		f.forget()
	}
	f.closed = f.closed || closed
	f.broadcast()
}

func fitsPage(events [][]byte) bool {
	size := 2
	for _, e := range events {
		size += len(e) + 1
	}
	return len(events) <= stream.PageItems && (size <= stream.PageBytes || len(events) <= 1)
}

func (f *followed) push(frame stream.Frame) {
	if !f.fresh || frame.After != f.head {
		f.forget()
	}
	f.fresh, f.head = true, frame.Next
	if frame.Next == frame.After {
		return
	}
	f.frames = append(f.frames, frame)
	f.bytes += len(frame.SSE())
	for len(f.frames) > ringFrames || f.bytes > ringBytes && len(f.frames) > 1 {
		f.bytes -= len(f.frames[0].SSE())
		f.frames[0] = stream.Frame{}
		f.frames = f.frames[1:]
	}
}

func (f *followed) forget() {
	f.frames, f.bytes, f.fresh = nil, 0, false
}

func (f *followed) broadcast() {
	close(f.wake)
	f.wake = make(chan struct{})
}

func (f *followed) setLocal(local bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.local = local
	if !local && !f.closed {
		f.fresh = false
		f.broadcast()
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
	if !f.local && !f.closed {
		f.fresh = false
		f.broadcast()
	}
}

// cached answers from the ring: at its head, or from one of its frames.
func (f *followed) cached(after stream.Offset) (stream.Frame, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.fresh {
		return stream.Frame{}, false
	}
	if after == f.head {
		return stream.Frame{After: after, Next: after, Tail: true, Closed: f.closed}, true
	}
	for _, frame := range f.frames {
		if frame.After == after {
			frame.Tail = frame.Next == f.head
			frame.Closed = frame.Tail && f.closed
			return frame, true
		}
	}
	return stream.Frame{}, false
}

// read asks the store. A reader who stands at the ring's head asks for all who do; one behind it reads for itself, as far
// as the ring begins, and joins it there.
func (f *followed) read(ctx context.Context, store Store, after stream.Offset) (stream.Frame, error) {
	through, shared := f.reach(after)
	if shared {
		f.filling.Lock()
		defer f.filling.Unlock()
		if frame, ok := f.cached(after); ok {
			return frame, nil
		}
	}
	before := f.version()
	frame, head, err := readPage(ctx, store, f.stream, after, through)
	if err == nil && shared && frame.Next == head {
		f.fill(frame, before)
	}
	return frame, err
}

// reach says how far a read from the store may go, and whether its result is for everybody.
func (f *followed) reach(after stream.Offset) (through stream.Offset, shared bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, frame := range f.frames {
		if after < frame.After {
			return frame.After, false
		}
		if after < frame.Next {
			return frame.Next, false
		}
	}
	return stream.Tail, true
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
	if frame.After != f.head || len(f.frames) == 0 {
		f.forget()
		f.head = frame.After
	}
	f.fresh = true
	f.push(frame)
	f.closed = frame.Closed
}
