package contract

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"slices"

	"svc.dev/svc"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
)

// Models are the providers of the contract: its runtimes have svc.Config{Model: contract.Models.Find}.
var Models = model.Providers{"scripted": script{words: scripted.Words()}}

const modelName = "scripted/words"

func agents() []*svc.Agent {
	return []*svc.Agent{
		{Name: "assistant", Model: modelName, Route: svc.Open},
		{Name: "tooluser", Model: modelName, Tools: []svc.Tool{svc.NewTool("add", "Adds two numbers.", add)}, Route: svc.Open, Attachments: svc.Open},
		{Name: "private", Model: modelName},
	}
}

type addends struct {
	A int `json:"a"`
	B int `json:"b"`
}

func add(_ context.Context, in addends) (int, error) { return in.A + in.B, nil }

// script speaks words, and who is offered tools calls the one that it knows.
type script struct{ words model.Provider }

func (s script) Turn(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	if len(r.Tools) == 0 {
		return s.words.Turn(ctx, r)
	}
	return func(yield func(model.Event, error) bool) {
		if answered(r.Messages) {
			finish(yield, model.Stop, model.Event{Type: model.TextDelta, Text: "5"}, model.Event{Type: model.BlockEnd})
			return
		}
		call := &model.ToolCall{ID: "call_" + rand.Text(), Name: "add", Input: json.RawMessage(`{"a":2,"b":3}`)}
		finish(yield, model.ToolUse, model.Event{Type: model.Called, Call: call})
	}
}

// finish tells events, of which the first counts as one token, and ends the turn.
func finish(yield func(model.Event, error) bool, reason model.StopReason, events ...model.Event) {
	for _, e := range events {
		if !yield(e, nil) {
			return
		}
	}
	yield(model.Event{Type: model.Finished, Finish: &model.Finish{
		Reason: reason, Usage: model.Usage{Input: 1, Output: 1, TotalTokens: 2}, Model: "words",
	}}, nil)
}

// answered reports whether the tool has been called since the last prompt. What the runtime says of an interruption is none.
func answered(messages []model.Message) bool {
	before, _ := scripted.Unbroken(messages)
	for _, m := range slices.Backward(before) {
		switch m.Role {
		case model.RoleTool:
			return true
		case model.RoleUser:
			return false
		}
	}
	return false
}
