package svc

import (
	"fmt"
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
	return &events{writer: newWriter(j, runLayout{}), index: int64(j.lease.Tail.Head) + 1}
}

// event adds an event and memories that belong to it.
func (e *events) event(kind workflow.Kind, event workflow.Event, memories ...workflow.Memory) error {
	return e.all(kind, []workflow.Event{event}, memories, func(records []workflow.Record) error { return e.add(records...) })
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
		records = append(records, workflow.Record{Kind: kind, Data: e.rt.config.Redact(data)})
	}
	private, err := remembered(memories)
	if err != nil {
		return err
	}
	e.index += int64(len(told))
	return put(append(records, private...))
}

// last writes an event in the append that carries the Commit.
func (e *events) last(event workflow.Event, c Commit) error {
	return e.all(workflow.KindEvent, []workflow.Event{event}, nil, func(records []workflow.Record) error { return e.commit(c, records...) })
}

// memory adds private records.
func (e *events) memory(memories ...workflow.Memory) error {
	records, err := remembered(memories)
	if err != nil {
		return err
	}
	return e.add(records...)
}

func remembered(memories []workflow.Memory) ([]workflow.Record, error) {
	var records []workflow.Record
	for _, m := range memories {
		r, err := m.Record()
		if err != nil {
			return nil, fmt.Errorf("encode memory: %w", err)
		}
		records = append(records, r)
	}
	return records, nil
}

// runLayout gives every event an offset of its own.
type runLayout struct{}

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

func (runLayout) shown(_ stream.Offset, records []workflow.Record) ([][]byte, error) {
	var items [][]byte
	for _, r := range records {
		if r.Public() {
			items = append(items, r.Data)
		}
	}
	return items, nil
}

func (runLayout) weigh(r workflow.Record) int { return len(r.Data) + 8 }
