package workflow

import (
	"encoding/json"
	"time"

	"svc.dev/svc/stream"
)

// EventVersion is the version that every event carries; published clients refuse any other.
const EventVersion = 3

// The types of events.
const (
	RunStart  = "run_start"
	RunResume = "run_resume"
	RunEnd    = "run_end"
	Log       = "log"
)

// The levels of a log event.
const (
	LevelInfo  = "info"
	LevelWarn  = "warn"
	LevelError = "error"
)

// Event is one thing that happened in a run, as its readers see it. Fields stand in the order of the wire.
type Event struct {
	Type         string          `json:"type"`
	WorkflowName string          `json:"workflowName,omitempty"`
	StartedAt    *Time           `json:"startedAt,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	Level        string          `json:"level,omitempty"`
	Message      *string         `json:"message,omitempty"`
	Attributes   json.RawMessage `json:"attributes,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	IsError      *bool           `json:"isError,omitempty"`
	Error        *publicError    `json:"error,omitempty"`
	DurationMs   *int64          `json:"durationMs,omitempty"`
	RunID        string          `json:"runId"`
	V            int             `json:"v"`
	EventIndex   int64           `json:"eventIndex"`
	Timestamp    Time            `json:"timestamp"`

	Body   any     `json:"-"` // of an event of a model's operation: an object whose fields follow the type
	Within *Within `json:"-"` // where in the run such an event belongs
}

// Within says which operation and turn an event belongs to.
type Within struct {
	Conversation string `json:"conversationId,omitempty"`
	Session      string `json:"session,omitempty"`
	Operation    string `json:"operationId,omitempty"`
	Turn         string `json:"turnId,omitempty"`
	Harness      string `json:"harness,omitempty"`
}

// Started is the first event of every run.
func Started(r Run) Event {
	at := Time(r.StartedAt)
	return Event{Type: RunStart, WorkflowName: r.Workflow, StartedAt: &at, Input: r.Input}
}

// Resumed follows an interruption.
func Resumed(r Run) Event {
	at := Time(r.StartedAt)
	return Event{Type: RunResume, WorkflowName: r.Workflow, StartedAt: &at}
}

// Ended is the last event of every run that has ended.
func Ended(r Run) Event {
	failed, ms := r.Status == Errored, r.Duration()
	return Event{Type: RunEnd, Result: orNull(r.Result), IsError: &failed, Error: r.Error.public(), DurationMs: &ms}
}

// Logged is a line that the workflow wrote; attributes may be nil.
func Logged(level, message string, attributes json.RawMessage) Event {
	return Event{Type: Log, Level: level, Message: &message, Attributes: attributes}
}

// The states of a step that its log events show.
const (
	StepStarted  = "started"
	StepFinished = "finished"
	StepFailed   = "failed"
	StepKept     = "kept"
)

// StepEvent is what attributes.step of a log event says.
type StepEvent struct {
	Name       string `json:"name"`
	Seq        int    `json:"seq"`
	Attempt    int    `json:"attempt"`
	State      string `json:"state"`
	DurationMs *int64 `json:"durationMs,omitempty"`
}

// Stepped is the log event of a step.
func Stepped(level string, s StepEvent) (Event, error) {
	attributes, err := stream.Encode(map[string]StepEvent{"step": s})
	return Logged(level, s.Name+" "+s.State, attributes), err
}

// Encode prints the event as it stands in the log and on the wire, on one line.
func (e Event) Encode(runID string, index int64, at time.Time) ([]byte, error) {
	e.RunID, e.V, e.EventIndex, e.Timestamp = runID, EventVersion, index, Time(at)
	if e.Body == nil {
		return stream.Encode(e)
	}
	return join(
		map[string]string{"type": e.Type}, e.Body, e.Within,
		struct {
			RunID      string `json:"runId"`
			V          int    `json:"v"`
			EventIndex int64  `json:"eventIndex"`
			Timestamp  Time   `json:"timestamp"`
		}{e.RunID, e.V, e.EventIndex, e.Timestamp},
	)
}

// join prints objects as one, their fields in order.
func join(objects ...any) ([]byte, error) {
	joined := []byte{'{'}
	for _, o := range objects {
		data, err := stream.Encode(o)
		if err != nil {
			return nil, err
		}
		if fields := data[1 : len(data)-1]; len(fields) > 0 {
			if len(joined) > 1 {
				joined = append(joined, ',')
			}
			joined = append(joined, fields...)
		}
	}
	return append(joined, '}'), nil
}
