package svc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
)

// flushBytes is how much gathers before it is written whatever the time.
const flushBytes = 8 << 10

// layout is how a kind of stream lays its records into batches. Its methods are called by one goroutine at a time, in the
// order of the log.
type layout[R any] interface {
	// lay fills a commit with the batch of records, which stands right behind head.
	lay(c *Commit, head stream.Offset, records []R) error
	// shown is what readers see of the batch whose last offset is given.
	shown(last stream.Offset, records []R) ([][]byte, error)
	// weigh is about how many bytes a record takes.
	weigh(r R) int
}

// writer gathers the records of one stream into appends: what must be durable is committed at once and takes along what
// waits, the rest goes when the stream has been quiet for a while or enough has come together.
type writer[R any] struct {
	rt     *Runtime
	lease  Lease
	layout layout[R]
	room   *memory.Grant
	stale  func() bool // whether the lease may be another's by now
	lost   func(error) // told once when an append did not go through
	mark   func()      // told when an append finds an abort mark

	kick chan struct{} // records wait for the flush timer

	appending sync.Mutex // held by whoever appends
	head      stream.Offset
	next      *Submission // after a settlement: the new head of the queue

	mu       sync.Mutex
	waiting  []R
	usual    int          // how many came together last time, and likely will again
	blobs    []Attachment // that waiting records name
	progress bool         // a waiting record is progress
	bytes    int
	added    int64 // records ever added
	written  int64 // records durable
	last     time.Time
	err      error
}

func newWriter[R any](j *job, f layout[R]) *writer[R] {
	rt, l := j.crew.rt, j.lease
	return &writer[R]{rt: rt, lease: l, layout: f, room: j.room, stale: j.lapsed, kick: make(chan struct{}, 1), head: l.Tail.Head, last: rt.config.Now()}
}

// add gathers records. It returns once they are gathered, or durable where much waits: that is the back-pressure on whoever
// writes faster than the store.
func (w *writer[R]) add(records ...R) error {
	w.mu.Lock()
	first := len(w.waiting) == 0
	w.push(records)
	full := w.bytes >= flushBytes
	w.mu.Unlock()
	if full {
		return w.commit(Commit{})
	}
	if first {
		// What comes behind it goes when it goes: the time is known already.
		w.nudge()
	}
	return nil
}

func (w *writer[R]) push(records []R) {
	if w.waiting == nil {
		w.waiting = make([]R, 0, max(w.usual, len(records)))
	}
	for _, r := range records {
		w.waiting = append(w.waiting, r)
		w.bytes += w.layout.weigh(r)
		w.added++
	}
}

func (w *writer[R]) nudge() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// due is when what waits should be written; ok is false when nothing waits.
func (w *writer[R]) due() (at time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last.Add(w.rt.config.Gather), len(w.waiting) > 0
}

// flush writes what waits.
func (w *writer[R]) flush() { _ = w.commit(Commit{}) } // a failure has been told

// steady calls fn while nothing is appended.
func (w *writer[R]) steady(fn func()) {
	w.appending.Lock()
	defer w.appending.Unlock()
	fn()
}

// woken is signalled when something waits for its time.
func (w *writer[R]) woken() <-chan struct{} { return w.kick }

// commit makes all that was added durable, these records too, and with them what the Commit says of run, settlement and
// closing. Commits that wait for one another become one append.
func (w *writer[R]) commit(c Commit, records ...R) error {
	ends := c.Settle != "" || c.Close
	if ends {
		// Nobody may take the records of an end along without what the Commit says: both are one append.
		w.appending.Lock()
		defer w.appending.Unlock()
	}
	w.mu.Lock()
	w.push(records)
	w.blobs = append(w.blobs, c.Blobs...)
	w.progress = w.progress || c.Progress
	mine := w.added
	w.mu.Unlock()
	if !ends {
		w.appending.Lock()
		defer w.appending.Unlock()
	}
	for {
		batch, more, err := w.take(mine, c)
		if err != nil || batch == nil {
			return err
		}
		part := c
		if more {
			part = Commit{}
		}
		if err := w.append(batch, part); err != nil {
			return err
		}
		if !more {
			return nil
		}
	}
}

// mostUsual bounds what is set aside for records that may not come.
const mostUsual = 16

// maxBatch bounds what one append holds.
const maxBatch = 8 << 20

// take takes what waits, at most maxBatch of it; more says that records of this commit remain. It takes nil when others have
// written them and the Commit itself asks for nothing.
func (w *writer[R]) take(mine int64, c Commit) (batch []R, more bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, false, w.err
	}
	if w.written >= mine && c.Settle == "" && !c.Close {
		return nil, false, nil
	}
	size, n := 0, 0
	for _, r := range w.waiting {
		weight := w.layout.weigh(r)
		if n > 0 && size+weight > maxBatch {
			break
		}
		size += weight
		n++
	}
	batch = w.waiting[:n:n]
	w.bytes -= size
	if w.waiting = w.waiting[n:]; len(w.waiting) == 0 {
		w.waiting, w.usual = nil, min(n, mostUsual)
	}
	if batch == nil {
		batch = []R{}
	}
	return batch, w.written+int64(n) < mine, nil
}

// append writes one batch. It is called by one goroutine at a time, so the frames of a stream are published in order.
func (w *writer[R]) append(batch []R, c Commit) error {
	before := w.head
	w.mu.Lock()
	c.Blobs, w.blobs = w.blobs, nil
	c.Progress, w.progress = w.progress, false
	w.mu.Unlock()
	var appended Appended
	err := w.layout.lay(&c, before, batch)
	if err != nil {
		err = fmt.Errorf("%w: %w", errPoisoned, err)
	} else {
		appended, err = w.put(c)
	}
	w.mu.Lock()
	if err != nil {
		w.err = fmt.Errorf("append: %w", err)
		err = w.err
	} else {
		w.written += int64(len(batch))
		w.last = w.rt.config.Now()
	}
	left := len(w.waiting) > 0
	w.mu.Unlock()
	if err != nil {
		w.lost(err)
		return err
	}
	if left {
		w.nudge()
	}
	w.head = appended.Head
	if c.Settle != "" {
		w.next = appended.Next
	}
	w.publish(before, batch, c)
	if appended.Aborted && c.Settle == "" {
		w.mark()
	}
	return nil
}

// put appends, within half a lease. What work does whose lease may be another's is not recorded, whether or not anybody has
// it yet.
func (w *writer[R]) put(c Commit) (Appended, error) {
	if w.stale() {
		return Appended{}, errLapsed
	}
	ctx, cancel := w.rt.within(context.Background())
	defer cancel()
	w.room.Force(int64(len(c.Data)))
	w.rt.rings.expect(w.lease.Stream)
	return w.rt.store.Append(ctx, w.lease, c)
}

// publish hands the batch to the stream's readers on this node, those who may come too.
func (w *writer[R]) publish(before stream.Offset, batch []R, c Commit) {
	// Named here, so that a batch which is kept for readers keeps nothing else of the work.
	s, head, layout, rt := w.lease.Stream, w.head, w.layout, w.rt
	show := func() ([][]byte, error) {
		items, err := layout.shown(head, batch)
		if err != nil {
			rt.logOf(s).Error("show batch", "error", err)
		}
		return items, err
	}
	bytes := 0 // about what readers are shown
	for _, r := range batch {
		bytes += layout.weigh(r)
	}
	w.rt.rings.publish(s, piece{Frame: stream.Frame{After: before, Next: head}, show: show, bytes: max(bytes, len(c.Data))}, c.Close)
}
