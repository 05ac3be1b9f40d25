package workflow

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"iter"

	"svc.dev/svc/stream"
)

// Kind says what a record of a run's log is for.
type Kind byte

// The kinds of records. Events, lines and steps are public and take an offset each; memories are private and take none.
const (
	KindEvent  Kind = 'E' // an event
	KindLine   Kind = 'L' // a log event written outside steps: numbered, not written again on replay
	KindStep   Kind = 'S' // a memory of a step that readers are told too
	KindMemory Kind = 'M' // what replay reads instead of doing it again
)

// Record is one fact of a run's log.
type Record struct {
	Kind Kind
	Data []byte // an encoded event, a step as Told lays it out, or a Memory as JSON
	Ends bool   // it is how a step ended; not kept in the log
}

// Public reports whether readers see the record, and so whether it takes an offset.
func (r Record) Public() bool { return r.Kind != KindMemory }

// MaxRecord bounds one record that a program produces.
const MaxRecord = 1 << 20

// ErrCorrupt tells that a batch cannot be read.
var ErrCorrupt = errors.New("corrupt batch")

// AppendRecord appends a record to an encoded batch: its kind, its length, its bytes.
func AppendRecord(batch []byte, r Record) []byte {
	batch = append(batch, byte(r.Kind))
	batch = binary.AppendUvarint(batch, uint64(len(r.Data)))
	return append(batch, r.Data...)
}

// Records reads a batch back. The data are slices of the batch.
func Records(batch []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for len(batch) > 0 {
			size, n := binary.Uvarint(batch[1:])
			if n <= 0 || size > uint64(len(batch)-1-n) {
				yield(Record{}, ErrCorrupt)
				return
			}
			r := Record{Kind: Kind(batch[0]), Data: batch[1+n : 1+n+int(size)]}
			if !yield(r, nil) {
				return
			}
			batch = batch[1+n+int(size):]
		}
	}
}

// Events are the events of a batch of a run as readers see them, in order; the last has an index.
func Events(batch []byte, runID string, last int64) ([][]byte, error) {
	var public []Record
	for r, err := range Records(batch) {
		if err != nil {
			return nil, err
		}
		if r.Public() {
			public = append(public, r)
		}
	}
	return Shown(public, runID, last)
}

// Shown are public records as readers see them; the last has an index.
func Shown(public []Record, runID string, last int64) ([][]byte, error) {
	events := make([][]byte, len(public))
	for i, r := range public {
		var err error
		if events[i], err = r.Event(runID, last-int64(len(public)-1-i)); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// The types of memories.
const (
	memoryStarted = "started" // an attempt of a step began
	memoryFailed  = "failed"  // an attempt failed and another will follow at Until
	memoryEnded   = "ended"   // the step has its result or its final error
	memorySleep   = "sleep"   // a sleep lasts until Until
	memoryValue   = "value"   // a recorded value: the time, a random number
	memorySaid    = "said"    // records of the run's own conversation
	memoryAsked   = "asked"   // a prompt has its answer or its final error
)

// StepID is a step's identity: its name and key, and how often they were used before it in the run.
type StepID struct {
	Name string `json:"name,omitempty"`
	Key  string `json:"key,omitempty"`
	Nth  int    `json:"nth,omitempty"`
}

// Memory is a private record: what a run has done, so that a resumed one does not do it again.
type Memory struct {
	Type string `json:"t"`
	StepID
	Seq      int             `json:"seq,omitempty"`
	Parallel bool            `json:"parallel,omitempty"`
	Attempt  int             `json:"attempt,omitempty"`
	Millis   int64           `json:"ms,omitempty"`
	Until    int64           `json:"until,omitempty"` // unix milliseconds
	Value    json.RawMessage `json:"value,omitempty"`
	Error    *Error          `json:"error,omitempty"`
}

// Record encodes the memory.
func (m Memory) Record() (Record, error) {
	data, err := stream.Encode(m)
	return Record{Kind: KindMemory, Data: data, Ends: m.Type == memoryEnded || m.Type == memoryAsked}, err
}

// StepBegan remembers that an attempt of a step began.
func StepBegan(s Step) Memory {
	return Memory{Type: memoryStarted, StepID: s.ID, Seq: s.Seq, Parallel: s.Parallel, Attempt: s.Attempt}
}

// StepRetries remembers that an attempt failed and when the next is due.
func StepRetries(s Step, until int64) Memory {
	return Memory{Type: memoryFailed, StepID: s.ID, Seq: s.Seq, Parallel: s.Parallel, Attempt: s.Attempt, Millis: s.Millis, Until: until}
}

// StepEnded remembers how a step ended.
func StepEnded(s Step) Memory {
	return Memory{Type: memoryEnded, StepID: s.ID, Seq: s.Seq, Parallel: s.Parallel, Attempt: s.Attempt,
		Millis: s.Millis, Value: s.Result, Error: s.Error}
}

// Slept remembers until when the nth sleep of the run lasts.
func Slept(nth int, until int64) Memory {
	return Memory{Type: memorySleep, StepID: StepID{Nth: nth}, Until: until}
}

// Said remembers records of the run's own conversation, a list in JSON.
func Said(records json.RawMessage) Memory { return Memory{Type: memorySaid, Value: records} }

// Asked remembers the answer to the nth prompt of the run.
func Asked(nth int, answer json.RawMessage) Memory {
	return Memory{Type: memoryAsked, StepID: StepID{Nth: nth}, Value: answer}
}

// AskFailed remembers that the nth prompt of the run failed for good.
func AskFailed(nth int, e *Error) Memory {
	return Memory{Type: memoryAsked, StepID: StepID{Nth: nth}, Error: e}
}

// Valued remembers the nth recorded value of the run.
func Valued(nth int, value json.RawMessage) Memory {
	return Memory{Type: memoryValue, StepID: StepID{Nth: nth}, Value: value}
}
