package svc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// flushBytes is how much gathers before it is written whatever the time.
const flushBytes = 8 << 10

// writer gathers the records of one run into appends: what must be durable is committed at once and takes along what
// waits, the rest goes when the stream has been quiet for a while or enough has come together.
type writer struct {
	rt    *Runtime
	lease Lease
	lost  func(error) // told once when an append did not go through
	mark  func()      // told when an append finds an abort mark

	kick chan struct{} // records wait for the flush timer

	appending sync.Mutex // held by whoever appends
	mu        sync.Mutex
	waiting   []workflow.Record
	bytes     int
	index     int64 // of the next event
	added     int64 // records ever added
	written   int64 // records durable
	progress  bool  // a step's end waits: the attempts start again
	last      time.Time
	err       error
}

func newWriter(rt *Runtime, l Lease) *writer {
	return &writer{rt: rt, lease: l, kick: make(chan struct{}, 1), index: int64(l.Tail.Head) + 1, last: rt.config.Now()}
}

// event adds an event. It returns once the event is gathered, or durable where much waits: that is the back-pressure on a
// workflow that writes faster than the store.
func (w *writer) event(kind workflow.Kind, e workflow.Event, memories ...workflow.Memory) error {
	w.mu.Lock()
	data, err := e.Encode(w.lease.Stream.ID, w.index, w.rt.config.Now())
	if err != nil {
		w.mu.Unlock()
		return fmt.Errorf("encode %s: %w", e.Type, err)
	}
	w.index++
	w.push(workflow.Record{Kind: kind, Data: data})
	err = w.remember(memories)
	full := w.bytes >= flushBytes
	w.mu.Unlock()
	if err != nil {
		return err
	}
	if full {
		return w.commit(Commit{})
	}
	w.nudge()
	return nil
}

// memory adds private records.
func (w *writer) memory(memories ...workflow.Memory) error {
	w.mu.Lock()
	err := w.remember(memories)
	w.mu.Unlock()
	w.nudge()
	return err
}

func (w *writer) remember(memories []workflow.Memory) error {
	for _, m := range memories {
		r, err := m.Record()
		if err != nil {
			return fmt.Errorf("encode memory: %w", err)
		}
		w.push(r)
		w.progress = w.progress || m.Ends()
	}
	return nil
}

func (w *writer) push(r workflow.Record) {
	w.waiting = append(w.waiting, r)
	w.bytes += len(r.Data)
	w.added++
}

func (w *writer) nudge() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// due is when what waits should be written; ok is false when nothing waits.
func (w *writer) due() (at time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last.Add(w.rt.config.Gather), len(w.waiting) > 0
}

// commit makes all that was added durable, and with it what the Commit says of run, settlement and closing. Commits that
// wait for one another become one append.
func (w *writer) commit(c Commit) error {
	w.mu.Lock()
	mine := w.added
	w.mu.Unlock()
	w.appending.Lock()
	defer w.appending.Unlock()
	for {
		batch, more, done, err := w.take(mine, c)
		if err != nil || done {
			return err
		}
		part := c
		if more {
			part = Commit{}
		}
		part.Data, part.N, part.Progress = batch.data, len(batch.events), batch.progress
		if err := w.append(batch, part); err != nil {
			return err
		}
		if !more {
			return nil
		}
	}
}

// taken is a batch on its way into the log.
type taken struct {
	data     []byte
	events   [][]byte
	records  int64
	progress bool
}

// take encodes what waits, at most MaxBatch of it; more says that records of this commit remain, done that others have
// written them and the Commit itself asks for nothing.
func (w *writer) take(mine int64, c Commit) (b taken, more, done bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return b, false, false, w.err
	}
	if w.written >= mine && c.Settle == "" && !c.Close {
		return b, false, true, nil
	}
	var size, n int
	for _, r := range w.waiting {
		if n > 0 && size+len(r.Data) > workflow.MaxBatch {
			break
		}
		size += len(r.Data) + 8
		n++
	}
	b.data, b.records = make([]byte, 0, size), int64(n)
	for _, r := range w.waiting[:n] {
		b.data = workflow.AppendRecord(b.data, r)
		if r.Public() {
			b.events = append(b.events, r.Data)
		}
		w.bytes -= len(r.Data)
	}
	b.progress, w.progress = w.progress, false
	w.waiting = w.waiting[n:]
	if len(w.waiting) == 0 {
		w.waiting = nil
	}
	return b, w.written+b.records < mine, false, nil
}

// append writes one batch. It is called by one goroutine at a time, so the frames of a stream are published in order.
func (w *writer) append(b taken, c Commit) error {
	if len(c.Data) == 0 {
		c.Data = nil
	}
	appended, err := w.rt.store.Append(context.Background(), w.lease, c)
	w.mu.Lock()
	if err != nil {
		w.err = fmt.Errorf("append: %w", err)
		err = w.err
	} else {
		w.written += b.records
		w.last = w.rt.config.Now()
	}
	w.mu.Unlock()
	if err != nil {
		w.lost(err)
		return err
	}
	head := appended.Head
	w.rt.follow.publish(w.lease.Stream, head-stream.Offset(len(b.events)), head, b.events, c.Close)
	if appended.Aborted && c.Settle == "" {
		w.mark()
	}
	return nil
}
