package exchange

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"svc.dev/svc/model"
)

// Transcript gathers what a turn says, in the order that model.Event asks for, whatever order the provider kept.
type Transcript struct {
	cost   func(model.Usage) model.Cost
	events []model.Event
	open   model.EventType // of the block that has no end yet
	called bool
	broken error // of a call that makes no sense
}

// take returns what was gathered since it was last called. It is overwritten by what is gathered next.
func (t *Transcript) take() []model.Event {
	taken := t.events
	t.events = t.events[:0]
	return taken
}

// Text adds to the text.
func (t *Transcript) Text(delta string) { t.say(model.TextDelta, delta) }

// Reasoning adds to the reasoning.
func (t *Transcript) Reasoning(delta string) { t.say(model.ReasoningDelta, delta) }

func (t *Transcript) say(kind model.EventType, delta string) {
	if delta == "" {
		return
	}
	if t.open != kind {
		t.Close()
	}
	t.open = kind
	t.events = append(t.events, model.Event{Type: kind, Text: delta})
}

// Close ends the open block, if there is one.
func (t *Transcript) Close() {
	if t.open != "" {
		t.end("")
	}
}

// CloseReasoning ends the reasoning with its signature. Reasoning that was not shown ends too, if it is signed.
func (t *Transcript) CloseReasoning(signature string) {
	if t.open == model.TextDelta {
		t.end("")
	}
	if t.open == model.ReasoningDelta || signature != "" {
		t.end(signature)
	}
}

func (t *Transcript) end(signature string) {
	t.events = append(t.events, model.Event{Type: model.BlockEnd, Signature: signature})
	t.open = ""
}

// Call adds a whole call. One whose arguments are no JSON object is kept back: the turn fails when it ends, unless it was
// cut for length, where a call may well be half.
func (t *Transcript) Call(call model.ToolCall) {
	t.Close()
	t.called = true
	input, err := object(call.Input)
	if err != nil || call.Name == "" {
		t.broken = fmt.Errorf("a call of tool %q has arguments that are no JSON object", call.Name)
		return
	}
	call.Input = input
	if call.ID == "" {
		call.ID = "call_" + rand.Text()
	}
	t.events = append(t.events, model.Event{Type: model.Called, Call: &call})
}

// Finish ends the turn. A turn that called tools stopped for them, whatever the provider named it.
func (t *Transcript) Finish(f model.Finish) error {
	if t.broken != nil && f.Reason != model.Length {
		return t.broken
	}
	t.Close()
	if t.called && f.Reason == model.Stop {
		f.Reason = model.ToolUse
	}
	f.Usage.Cost = t.cost(f.Usage)
	f.Usage.TotalTokens = f.Usage.Input + f.Usage.Output + f.Usage.CacheRead + f.Usage.CacheWrite
	t.events = append(t.events, model.Event{Type: model.Finished, Finish: &f})
	return nil
}

// object is a JSON object as it stands, or {} where there is nothing.
func object(data json.RawMessage) (json.RawMessage, error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0, string(data) == "null":
		return json.RawMessage("{}"), nil
	case data[0] != '{' || !json.Valid(data):
		return nil, fmt.Errorf("not a JSON object")
	}
	return data, nil
}

// Decode reads an event that is JSON. One of a kind that nobody knows may have any shape: known is asked when a field has
// another type than it should.
func Decode(data []byte, v any, known func() bool) error {
	err := json.Unmarshal(data, v)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" && !known() {
		return nil
	}
	return err
}
