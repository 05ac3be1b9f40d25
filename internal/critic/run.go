// Package critic reads what a runtime has told of a run or a conversation, and says what is wrong with it: the laws that
// hold whatever happened meanwhile.
package critic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// Story is a run as its readers see it.
type Story struct {
	Run    json.RawMessage
	Events []json.RawMessage
	Closed bool
}

// StoryOf reads a run through its runtime.
func StoryOf(ctx context.Context, rt *svc.Runtime, run workflow.Run) (*Story, error) {
	record, err := run.MarshalJSON() // json.Marshal would escape it once more
	if err != nil {
		return nil, err
	}
	events, closed, err := EventsOf(ctx, rt, run)
	return &Story{Run: record, Events: events, Closed: closed}, err
}

// EventsOf pages through the events of a run.
func EventsOf(ctx context.Context, rt *svc.Runtime, run workflow.Run) (all []json.RawMessage, closed bool, err error) {
	after := stream.Start
	for {
		frame, err := rt.Page(ctx, rt.RunStream(run), after)
		if err != nil {
			return nil, false, err
		}
		var page []json.RawMessage
		if err := json.Unmarshal(frame.JSON(), &page); err != nil {
			return nil, false, err
		}
		all = append(all, page...)
		if after = frame.Next; frame.Tail {
			return all, frame.Closed, nil
		}
	}
}

// Event is an event as a reader decodes it.
type Event map[string]any

// DecodeEvents decodes events that a runtime has told.
func DecodeEvents(raw []json.RawMessage) []Event {
	events := make([]Event, len(raw))
	for i, data := range raw {
		if err := json.Unmarshal(data, &events[i]); err != nil {
			panic(fmt.Sprintf("event %s: %v", data, err))
		}
	}
	return events
}

// Kind is the event's type.
func (e Event) Kind() string { return e["type"].(string) }

// Attribute is a textual attribute, empty where there is none.
func (e Event) Attribute(name string) string {
	return object(e).object("attributes").text(name)
}

// StepEvent is attributes.step.
type StepEvent struct {
	Name, State  string
	Level        string
	Seq, Attempt int
}

// Step is what the event tells of a step, nil for another event.
func (e Event) Step() *StepEvent {
	s := object(e).object("attributes").object("step")
	if s == nil {
		return nil
	}
	seq, _ := s["seq"].(float64)
	attempt, _ := s["attempt"].(float64)
	return &StepEvent{
		Name: s["name"].(string), State: s["state"].(string), Level: e["level"].(string), Seq: int(seq), Attempt: int(attempt),
	}
}

// Record is a run as it is looked up.
type Record struct {
	RunID        string          `json:"runId"`
	WorkflowName string          `json:"workflowName"`
	Status       string          `json:"status"`
	StartedAt    string          `json:"startedAt"`
	IsError      *bool           `json:"isError"`
	DurationMs   *int            `json:"durationMs"`
	Input        json.RawMessage `json:"input"`
	Result       json.RawMessage `json:"result"`
	Error        any             `json:"error"`
}

// Tale is a story that has been read, and what is wrong with it.
type Tale struct {
	findings
	Record  Record
	Events  []Event
	Resumes int
}

// findings are what is wrong.
type findings struct{ Problems []string }

// Problem notes something that is wrong.
func (f *findings) Problem(format string, args ...any) {
	f.Problems = append(f.Problems, fmt.Sprintf(format, args...))
}

// Read judges the story of a run that has ended.
func Read(s *Story) *Tale {
	t := &Tale{Events: DecodeEvents(s.Events)}
	if err := json.Unmarshal(s.Run, &t.Record); err != nil {
		t.Problem("run record: %v", err)
		return t
	}
	if len(t.Events) == 0 {
		t.Problem("no events")
		return t
	}
	if !s.Closed {
		t.Problem("the stream is not closed")
	}
	t.checkFrame()
	t.checkSteps()
	return t
}

// checkFrame demands one run_start first, one run_end last that says what the record says, and growing indexes.
func (t *Tale) checkFrame() {
	last := -1.0
	for i, e := range t.Events {
		switch kind := e.Kind(); {
		case (kind == "run_start") != (i == 0), (kind == "run_end") != (i == len(t.Events)-1):
			t.Problem("%s is event %d of %d", kind, i, len(t.Events))
		case kind == "run_resume":
			t.Resumes++
		}
		index := e["eventIndex"].(float64)
		if index <= last {
			t.Problem("eventIndex %v follows %v", index, last)
		}
		last = index
		if e["v"].(float64) != 3 || e["runId"] != t.Record.RunID {
			t.Problem("event %d is of version %v and run %v", i, e["v"], e["runId"])
		}
	}
	first, end := t.Events[0], t.Events[len(t.Events)-1]
	if first["eventIndex"].(float64) != 0 {
		t.Problem("the first eventIndex is %v", first["eventIndex"])
	}
	t.checkSame("input", first["input"], t.Record.Input)
	if first["startedAt"] != t.Record.StartedAt {
		t.Problem("run_start says %v, the record %v", first["startedAt"], t.Record.StartedAt)
	}
	if t.Record.Status == "active" || t.Record.IsError == nil || t.Record.DurationMs == nil {
		t.Problem("the record is not that of an ended run: %+v", t.Record)
		return
	}
	if *t.Record.IsError != (t.Record.Status == "errored") || end["isError"] != *t.Record.IsError || end["durationMs"] != float64(*t.Record.DurationMs) {
		t.Problem("run_end %v does not fit the record %+v", end, t.Record)
	}
	t.checkSame("result", end["result"], t.Record.Result)
	if Print(end["error"]) != Print(t.Record.Error) {
		t.Problem("run_end has error %v, the record %v", end["error"], t.Record.Error)
	}
}

func (t *Tale) checkSame(what string, inEvent any, inRecord json.RawMessage) {
	var v any
	if inRecord != nil {
		if err := json.Unmarshal(inRecord, &v); err != nil {
			t.Problem("%s of the record: %v", what, err)
		}
	}
	if Print(inEvent) != Print(v) {
		t.Problem("%s is %v in the event and %v in the record", what, Print(inEvent), Print(v))
	}
}

// Print is a value as JSON.
func Print(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// progress is how far a step has come in the telling.
type progress struct {
	name    string
	attempt int  // that started last
	running bool // and has neither finished nor failed
	ended   int  // in which stretch between resumes, from 1; 0 while it has not
	kept    int  // in which stretch it was told as kept
}

// checkSteps demands that steps are told in the order of their life: started, then finished or failed; ended once; kept at
// most once per resume, and only if they had ended before it.
func (t *Tale) checkSteps() {
	steps := map[int]*progress{}
	stretch := 1
	for i, e := range t.Events {
		if e.Kind() == "run_resume" {
			stretch++
			for _, p := range steps {
				p.running = false
			}
		}
		s := e.Step()
		if s == nil {
			continue
		}
		p := steps[s.Seq]
		if p == nil {
			p = &progress{name: s.Name}
			steps[s.Seq] = p
		}
		if p.name != s.Name {
			t.Problem("event %d: seq %d is %q and was %q", i, s.Seq, s.Name, p.name)
		}
		switch {
		case s.State == "started":
			if p.ended > 0 || p.running || s.Attempt != p.attempt+1 {
				t.Problem("event %d: %s#%d started, after %+v", i, s.Name, s.Attempt, *p)
			}
			p.attempt, p.running = s.Attempt, true
		case s.State == "kept":
			if p.ended == 0 || p.ended == stretch || p.kept == stretch || s.Attempt != p.attempt {
				t.Problem("event %d: %s#%d kept, after %+v in stretch %d", i, s.Name, s.Attempt, *p, stretch)
			}
			p.kept = stretch
		default:
			if p.ended > 0 || !p.running || s.Attempt != p.attempt {
				t.Problem("event %d: %s#%d %s, after %+v", i, s.Name, s.Attempt, s.State, *p)
			}
			p.running = false
			if s.State == "finished" || s.State == "failed" && s.Level == "error" { // its result, or its final error
				p.ended = stretch
			}
		}
	}
	for seq := range len(steps) {
		p := steps[seq]
		if p == nil {
			t.Problem("no step has seq %d of %v", seq, slices.Sorted(maps.Keys(steps)))
		} else if t.returned() && p.ended > 0 && p.ended < stretch && p.kept < stretch {
			t.Problem("%s was not told as kept after the last resume", p.name)
		}
	}
}

// returned reports whether the run's function came to its end.
func (t *Tale) returned() bool {
	return t.Record.Status == "completed" || strings.Contains(Print(t.Record.Error), `"name":"Error"`)
}

// Short is what a person reads of the events.
func (t *Tale) Short() []string {
	lines := make([]string, len(t.Events))
	for i, e := range t.Events {
		lines[i] = fmt.Sprintf("%d %s", i, e.Kind())
		if s := e.Step(); s != nil {
			lines[i] = fmt.Sprintf("%d seq %d %s#%d %s", i, s.Seq, s.Name, s.Attempt, s.State)
		} else if e.Kind() == "log" {
			lines[i] = fmt.Sprintf("%d %q %s", i, e["message"], e.Attribute("token"))
		}
	}
	return lines
}

// CheckPrefix demands that events which were found once are still there, byte for byte.
func (t *Tale) CheckPrefix(s *Story, found []json.RawMessage) {
	for i, e := range found {
		if i >= len(s.Events) || !bytes.Equal(e, s.Events[i]) {
			t.Problem("event %d was %s and is gone or changed", i, e)
			return
		}
	}
}
