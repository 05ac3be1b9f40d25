package workflow

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"svc.dev/svc/stream"
)

// The record of a step is what replay reads of it and what readers are told, one fact for both. Most of what runs write are steps,
// so it has a layout of its own: the type's first letter, flags, the numbers, name and key with their lengths, and last the
// result, or the error as JSON.
const (
	flagParallel = 1 << iota
	flagError
)

// The letters of the types.
var stepLetters = map[string]byte{memoryStarted: 's', memoryFailed: 'f', memoryEnded: 'e'}

var stepTypes = map[byte]string{'s': memoryStarted, 'f': memoryFailed, 'e': memoryEnded}

// Told is the record of a step's memory that readers are told as an event of that time.
func (m Memory) Told(at time.Time) (Record, error) {
	rest, flags := []byte(m.Value), byte(0)
	if m.Parallel {
		flags |= flagParallel
	}
	if m.Error != nil {
		var err error
		if rest, err = stream.Encode(m.Error); err != nil {
			return Record{}, err
		}
		flags |= flagError
	}
	data := append(make([]byte, 0, 32+len(m.Name)+len(m.Key)+len(rest)), stepLetters[m.Type], flags)
	for _, n := range []int64{int64(m.Seq), int64(m.Attempt), int64(m.Nth), m.Millis, m.Until, at.UnixMilli()} {
		data = binary.AppendVarint(data, n)
	}
	for _, text := range []string{m.Name, m.Key} {
		data = append(binary.AppendUvarint(data, uint64(len(text))), text...)
	}
	return Record{Kind: KindStep, Data: append(data, rest...), Ends: m.Type == memoryEnded}, nil
}

// told reads such a record back.
func told(data []byte) (m Memory, at time.Time, err error) {
	if len(data) < 2 || stepTypes[data[0]] == "" {
		return m, at, ErrCorrupt
	}
	m.Type, m.Parallel = stepTypes[data[0]], data[1]&flagParallel != 0
	failed, rest := data[1]&flagError != 0, data[2:]
	var numbers [6]int64
	for i := range numbers {
		n, size := binary.Varint(rest)
		if size <= 0 {
			return m, at, ErrCorrupt
		}
		numbers[i], rest = n, rest[size:]
	}
	m.Seq, m.Attempt, m.Nth, m.Millis, m.Until = int(numbers[0]), int(numbers[1]), int(numbers[2]), numbers[3], numbers[4]
	for _, text := range []*string{&m.Name, &m.Key} {
		length, size := binary.Uvarint(rest)
		if size <= 0 || length > uint64(len(rest)-size) {
			return m, at, ErrCorrupt
		}
		*text, rest = string(rest[size:size+int(length)]), rest[size+int(length):]
	}
	if failed {
		if err := json.Unmarshal(rest, &m.Error); err != nil {
			return m, at, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	} else if len(rest) > 0 {
		m.Value = bytes.Clone(rest)
	}
	return m, time.UnixMilli(numbers[5]), nil
}

// event is what readers are told of a step's memory.
func (m Memory) event() (Event, error) {
	s := StepEvent{Name: m.Name, Seq: m.Seq, Attempt: m.Attempt, DurationMs: &m.Millis}
	level := LevelInfo
	switch {
	case m.Type == memoryStarted:
		s.State, s.DurationMs = StepStarted, nil
	case m.Type == memoryFailed:
		s.State, level = StepFailed, LevelWarn
	case m.Error != nil:
		s.State, level = StepFailed, LevelError
	default:
		s.State = StepFinished
	}
	return Stepped(level, s)
}

// Event is what readers see of a public record, as the event of a run at an index.
func (r Record) Event(runID string, index int64) ([]byte, error) {
	if r.Kind != KindStep {
		return r.Data, nil
	}
	m, at, err := told(r.Data)
	if err != nil {
		return nil, fmt.Errorf("step: %w", err)
	}
	event, err := m.event()
	if err != nil {
		return nil, err
	}
	return event.Encode(runID, index, at)
}
