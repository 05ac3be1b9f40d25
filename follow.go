package svc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc.dev/svc/conversation"
	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// Follower reads one stream, page by page, for as long as its reader wishes. Its readers on this node share the bytes of
// the newest pages: at the tail nobody asks the store.
type Follower struct {
	in    Scoped
	ring  *ring
	once  sync.Once
	begun bool          // a page was read
	room  *memory.Grant // of the page that was read last
	lent  *loan         // of the page that was taken from the ring last
}

// Follow begins to follow a stream; the follower must be closed.
func (rt *Runtime) Follow(s Stream) *Follower {
	return &Follower{in: rt.In(s.Scope), ring: rt.rings.join(s)}
}

// PageRoom is what a page takes of memory while it is read: its rows, its events and the frame that they become. A page of one
// row that is longer takes as many times that.
const (
	PageRoom  = pageTimes * stream.PageBytes
	pageTimes = 3
)

// pageWait is how long a reader waits for that.
const pageWait = 10 * time.Second

// Followed is how many streams have readers on this node.
func (rt *Runtime) Followed() int {
	rt.rings.mu.Lock()
	defer rt.rings.mu.Unlock()
	return rt.rings.read
}

// RunStream is the address of a run's stream.
func (s Scoped) RunStream(run workflow.Run) Stream { return s.run(run.Workflow, run.ID) }

// Tail says where a stream stands.
func (rt *Runtime) Tail(ctx context.Context, s Stream) (Tail, error) { return rt.store.Tail(ctx, s) }

// Close ends the following.
func (f *Follower) Close() {
	f.once.Do(func() {
		f.Free()
		f.in.rt.rings.part(f.ring)
	})
}

// Free gives back what the last page took of memory. It is called when the page was sent.
func (f *Follower) Free() {
	f.room.Release()
	f.room = nil
	if f.lent != nil {
		f.ring.takeBack(f.lent)
		f.lent = nil
	}
}

// Wake is closed when something may have been appended since this call. Take it before a Page: what is appended between
// the two is then not missed.
func (f *Follower) Wake() <-chan struct{} {
	return f.ring.version()
}

// Page returns what stands strictly after an offset, as far as one page goes; nothing waits for more. Its Tail and Closed
// say what was true at this moment.
func (f *Follower) Page(ctx context.Context, after stream.Offset) (stream.Frame, error) {
	if !f.begun {
		f.ring.catchUp(ctx)
		f.begun = true
	}
	if frame, ok := f.cached(after); ok {
		return frame, nil
	}
	if err := f.ring.confirm(ctx, after); err != nil {
		return stream.Frame{}, err
	}
	if frame, ok := f.cached(after); ok {
		return frame, nil
	}
	return f.read(ctx, after)
}

// cached takes a page from the ring, if that has it.
func (f *Follower) cached(after stream.Offset) (stream.Frame, bool) {
	frame, lent, ok := f.ring.cached(after)
	f.Free()
	f.lent = lent
	return frame, ok
}

// read takes a page from the store when there is room for it. The page keeps its room until it is sent.
func (f *Follower) read(ctx context.Context, after stream.Offset) (stream.Frame, error) {
	f.Free()
	waiting, cancel := context.WithTimeout(ctx, pageWait)
	defer cancel()
	room, err := f.in.AwaitRoom(waiting, memory.Reads, PageRoom)
	if err != nil {
		return stream.Frame{}, fmt.Errorf("read page: %w: %w", ErrBusy, err)
	}
	f.room = room
	var frame stream.Frame
	err = f.in.within(ctx, room, func(largest int) (err error) {
		frame, f.lent, err = f.ring.read(ctx, after, largest)
		return err
	})
	if f.lent == nil {
		room.Resize(int64(len(frame.SSE())))
	} else {
		room.Release() // somebody else has read it meanwhile
	}
	return frame, err
}

// longRow says that a row is longer than what there is room for.
type longRow struct{ bytes int }

func (*longRow) Error() string { return "a row is longer than a page" }

// within reads with room for a page. Where a row is longer, it gives that back and waits until there is room for the row: those
// who wait for room hold nothing, and what is large is not read before it is counted.
func (s Scoped) within(ctx context.Context, room *memory.Grant, page func(largest int) error) error {
	read := func(turns *memory.Turns, largest int) error {
		return s.inTurn(ctx, turns, func() error { return page(largest) })
	}
	err := read(s.rt.pages, stream.PageBytes)
	for long, ok := errors.AsType[*longRow](err); ok; long, ok = errors.AsType[*longRow](err) {
		room.Release()
		waiting, cancel := context.WithTimeout(ctx, pageWait)
		full := room.Await(waiting, min(pageTimes*int64(long.bytes), s.rt.most(s.scope)))
		cancel()
		if full != nil {
			return fmt.Errorf("read page: %w: %w", ErrBusy, full)
		}
		err = read(s.rt.rows, long.bytes)
	}
	return err
}

// inTurn reads a page for a holder, who has few read at once: the pages of one account do not keep the store from all others. Nobody
// waits longer than for room, which those who read a long row hold already.
func (s Scoped) inTurn(ctx context.Context, turns *memory.Turns, read func() error) error {
	holder := s.Holder()
	if holder == "" {
		return read()
	}
	waiting, cancel := context.WithTimeout(ctx, pageWait)
	defer cancel()
	done, err := turns.Wait(waiting, holder)
	if err != nil {
		return fmt.Errorf("read page: %w: %w", ErrBusy, err)
	}
	defer done()
	return read()
}

// Page reads one page of a stream that nobody follows.
func (rt *Runtime) Page(ctx context.Context, s Stream, after stream.Offset) (stream.Frame, error) {
	return readPage(ctx, rt.store, s, after, stream.Tail, 0)
}

// PageWithin is Page with room for one, which grows where the page is larger.
func (rt *Runtime) PageWithin(ctx context.Context, s Stream, after stream.Offset, room *memory.Grant) (frame stream.Frame, err error) {
	err = rt.In(s.Scope).within(ctx, room, func(largest int) (err error) {
		frame, err = readPage(ctx, rt.store, s, after, stream.Tail, largest)
		return err
	})
	return frame, err
}

// readPage reads what readers see after an offset, at most up to another, and not more than a page. A row of more bytes than
// the largest is a longRow.
func readPage(ctx context.Context, store Store, s Stream, after, through stream.Offset, largest int) (stream.Frame, error) {
	page, err := store.Read(ctx, s, Range{
		After: Position{Offset: after, Part: maxPart}, Through: pageEnd(after, through), Items: stream.PageItems, Bytes: stream.PageBytes, Largest: largest,
	})
	if err != nil {
		return stream.Frame{}, fmt.Errorf("read page: %w", err)
	}
	if page.Larger > 0 {
		return stream.Frame{}, &longRow{page.Larger}
	}
	// A row may hold more than a page, or reach beyond through; the page is cut among its events.
	frame, err := cutPage(s, page.Batches, after, min(through, page.Tail.Head))
	return frame.At(page.Tail.Head, page.Tail.Closed), err
}

// pageEnd is the last offset that a page after an offset can reach: an item takes one at least.
func pageEnd(after, through stream.Offset) stream.Offset {
	if through-after <= stream.PageItems {
		return through
	}
	return after + stream.PageItems
}

// maxPart stands behind every row of one offset.
const maxPart = 1<<31 - 1

// cutPage takes items in order until one would pass the bounds of a page. A run's items are its events; an agent's are whole
// batches, whatever number of chunks they show.
func cutPage(s Stream, batches []Batch, after, through stream.Offset) (stream.Frame, error) {
	var items [][]byte
	next, size, taken := after, 2, 0
	for _, b := range batches {
		parts, err := shownOf(s, b)
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

func shownOf(s Stream, b Batch) ([]shownAt, error) {
	if s.Kind == KindAgent {
		chunks, err := conversation.Chunks(b.Last, b.Data)
		return []shownAt{{b.Last, chunks}}, err
	}
	events, err := workflow.Events(b.Data, s.ID, int64(b.Last))
	shown := make([]shownAt, len(events))
	for i := range events {
		shown[i] = shownAt{b.Last - stream.Offset(len(events)-1-i), events[i : i+1]}
	}
	return shown, err
}
