package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/cli/screen"
)

// teller tells what happens in a run, a line for each thing that a person wants to know.
type teller struct {
	w     io.Writer
	style screen.Style
	text  strings.Builder // what a model says, until it has said it
}

func newTeller(w io.Writer) *teller { return &teller{w: w, style: screen.StyleOf(w)} }

// until tells events until there are no more, and returns how the run ended, if it did.
func (t *teller) until(events func(func(client.Event, error) bool)) (end client.RunEnd, err error) {
	for e, err := range events {
		if err != nil {
			return end, err
		}
		if e.Type == client.EventEnd {
			if err := e.Decode(&end); err != nil {
				return end, err
			}
		}
		t.tell(e)
	}
	return end, nil
}

// told is what is read of events: which fields there are depends on the type.
type told struct {
	Level      string
	Message    json.RawMessage // of a log it is text
	Attributes struct {
		Step *struct {
			Name, State string
			Attempt     int
			DurationMs  *int64
		}
	}
	WorkflowName string
	IsError      bool
	DurationMs   int64
	Text         string
	ToolName     string
	Error        *struct{ Name, Message string }
}

func (t *teller) tell(e client.Event) {
	var is told
	_ = e.Decode(&is) // what cannot be read is shown by its type
	if e.Type == "text_delta" {
		t.text.WriteString(is.Text)
		return
	}
	if said := t.text.String(); said != "" && e.Type != "text_delta" {
		t.text.Reset()
		t.line(e, said)
	}
	switch e.Type {
	case client.EventStart:
		t.line(e, "started "+is.WorkflowName)
	case client.EventResume:
		t.line(e, "resumed")
	case client.EventLog:
		t.line(e, is.log())
	case "tool_start":
		t.line(e, "• "+is.ToolName)
	case "tool":
		t.line(e, is.outcome("  = "+is.ToolName))
	case "task", "operation", "compaction":
		if is.IsError {
			t.line(e, is.outcome(e.Type))
		}
	case client.EventEnd:
		t.line(e, is.outcome(map[bool]string{true: "failed", false: "completed"}[is.IsError]))
	}
}

// log is a line of the program, or what became of one of its steps.
func (is told) log() string {
	if s := is.Attributes.Step; s != nil {
		text := s.Name + ": " + s.State
		if s.Attempt > 1 {
			text += fmt.Sprintf(", attempt %d", s.Attempt)
		}
		if s.DurationMs != nil {
			text += " (" + shownDuration(*s.DurationMs) + ")"
		}
		return text
	}
	text := compact(is.Message)
	if is.Level != "" && is.Level != "info" {
		text = is.Level + ": " + text
	}
	return text
}

func (is told) outcome(what string) string {
	text := fmt.Sprintf("%s (%s)", what, shownDuration(is.DurationMs))
	if is.IsError && is.Error != nil {
		text += ": " + is.Error.Message
	}
	return text
}

// line writes what happened, and when.
func (t *teller) line(e client.Event, text string) {
	fmt.Fprintf(t.w, "%s  %s\n", t.style.Dim(e.Timestamp.Local().Format("15:04:05.000")), screen.Clean(strings.TrimRight(text, "\n ")))
}
