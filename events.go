package svc

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// events writes the events of a run, and beside them what its replay remembers.
type events struct {
	*writer[workflow.Record]
	mu    sync.Mutex
	index int64 // of the next event
}

func newEvents(j *job) *events {
	return &events{writer: newWriter(j, runLayout{j.lease.Stream.ID}), index: int64(j.lease.Tail.Head) + 1}
}

// event adds an event.
func (e *events) event(kind workflow.Kind, event workflow.Event) error {
	return e.all(kind, []workflow.Event{event}, nil, e.gather)
}

// memory adds a private record.
func (e *events) memory(m workflow.Memory) error {
	return e.all(workflow.KindMemory, nil, []workflow.Memory{m}, e.gather)
}

func (e *events) gather(records []workflow.Record) error { return e.add(records...) }

// step adds what became of a step, for replay and for readers: one record, or two where readers may not see all of it.
func (e *events) step(m workflow.Memory) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	told, err := m.Told(e.rt.now())
	if err != nil {
		return fmt.Errorf("encode step: %w: %w", errPoisoned, err)
	}
	shown, whole, err := e.cleaned(told)
	if err != nil {
		return err
	}
	records := []workflow.Record{told}
	if !whole {
		private, err := m.Record()
		if err != nil {
			return fmt.Errorf("encode memory: %w", err)
		}
		records = []workflow.Record{{Kind: workflow.KindEvent, Data: shown}, private}
	}
	e.index++
	return e.add(records...)
}

// cleaned is what readers may see of the next record, and reports whether that is the whole of it.
func (e *events) cleaned(r workflow.Record) (clean []byte, whole bool, err error) {
	if e.rt.config.Redact == nil {
		return nil, true, nil
	}
	shown, err := r.Event(e.lease.Stream.ID, e.index)
	if err != nil {
		return nil, false, fmt.Errorf("encode step: %w: %w", errPoisoned, err)
	}
	clean = e.rt.redact(shown)
	return clean, bytes.Equal(clean, shown), nil
}

// all hands events, and memories that belong to them, to put.
func (e *events) all(kind workflow.Kind, told []workflow.Event, memories []workflow.Memory, put func([]workflow.Record) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var records []workflow.Record
	for i, event := range told {
		data, err := event.Encode(e.lease.Stream.ID, e.index+int64(i), e.rt.now())
		if err != nil {
			return fmt.Errorf("encode %s: %w: %w", event.Type, errPoisoned, err)
		}
		records = append(records, workflow.Record{Kind: kind, Data: e.rt.redact(data)})
	}
	for _, m := range memories {
		private, err := m.Record()
		if err != nil {
			return fmt.Errorf("encode memory: %w", err)
		}
		records = append(records, private)
	}
	e.index += int64(len(told))
	return put(records)
}

// last writes an event in the append that carries the Commit.
func (e *events) last(event workflow.Event, c Commit) error {
	return e.all(workflow.KindEvent, []workflow.Event{event}, nil, func(records []workflow.Record) error { return e.commit(c, records...) })
}

// runLayout gives every event of a run an offset of its own.
type runLayout struct{ run string }

func (runLayout) lay(c *Commit, _ stream.Offset, records []workflow.Record) error {
	for _, r := range records {
		c.Data = workflow.AppendRecord(c.Data, r)
		c.Progress = c.Progress || r.Ends
		if r.Public() {
			c.N++
		}
	}
	return nil
}

func (l runLayout) shown(last stream.Offset, records []workflow.Record) ([][]byte, error) {
	public := slices.DeleteFunc(slices.Clone(records), func(r workflow.Record) bool { return !r.Public() })
	return workflow.Shown(public, l.run, int64(last))
}

// stepShown is about how much more readers are told of a step than is written of it.
const stepShown = 256

func (runLayout) weigh(r workflow.Record) int {
	if r.Kind == workflow.KindStep {
		return len(r.Data) + stepShown
	}
	return len(r.Data) + 8
}
