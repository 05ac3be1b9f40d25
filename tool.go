package svc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/schema"
	"svc.dev/svc/stream"
)

// Tool is something that a model may call.
type Tool struct {
	Name        string
	Description string
	// Timeout bounds one call. A call that has not ended a while after it is left behind, and the model is told so. Defaults to
	// 2 minutes.
	Timeout time.Duration
	// Repeats says that a call which is made again has no second effect: the id of its Call is that of the first. One that was
	// interrupted, or whose error is ErrUnavailable, is then made again; any other is told to the model. Defaults to false.
	Repeats bool

	schema json.RawMessage
	call   func(ctx context.Context, input json.RawMessage) (ToolResult, error)
	asks   func(ctx context.Context, agent string) error // whether an agent may be asked; nil: the tool asks none
}

// Call is what a tool is called for.
type Call struct {
	Scope string
	// Agent is the one whose model called, of an agent's instance or of a run.
	Agent, Instance string
	// Submission is whose answer it leads to, also in the conversation of a sub-agent.
	Submission string
	ID         string // of the call; no other has it
	By         string // whose prompt it was, or whose run: what Prompt.By or Invocation.StartedBy said. Sub-agents have it too
}

type callKey struct{}

// CallOf is what a tool is called for; ok is false where no agent has called.
func CallOf(ctx context.Context) (call Call, ok bool) {
	call, ok = ctx.Value(callKey{}).(Call)
	return call, ok
}

// WithCall carries a Call to a tool that is not called by an agent, as in a test.
func WithCall(ctx context.Context, call Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// ToolResult is what a tool answers. Output is shown to readers as it is and given to the model as text; Content, where it is
// set, is given to the model instead.
type ToolResult struct {
	Output  json.RawMessage
	Content []ToolContent
	IsError bool
}

// ToolContent is a piece of text or an image.
type ToolContent struct {
	Text     string
	MimeType string // of an image
	Data     []byte // of an image
}

const defaultToolTimeout = 2 * time.Minute

func (t Tool) timeout() time.Duration { return cmp.Or(max(t.Timeout, 0), defaultToolTimeout) }

// toolInputValidation is the fault of a model that calls a tool with what does not fit it.
const toolInputValidation = "tool_input_validation"

// NewTool declares a tool as a function. Its input is validated against the JSON Schema of In before it is called, its
// output against that of Out afterwards. An error is a result that the model sees.
func NewTool[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error)) Tool {
	in, out := schema.Of[In](), schema.Of[Out]()
	return Tool{
		Name: name, Description: description, schema: in.Source,
		call: func(ctx context.Context, raw json.RawMessage) (ToolResult, error) {
			var v In
			if err := in.Check(context.WithoutCancel(ctx), raw); err != nil {
				return ToolResult{}, renamed(err, toolInputValidation, "The input does not fit the tool.")
			}
			if err := decodeInput(raw, &v); err != nil {
				return ToolResult{}, fault.New(toolInputValidation, "The input does not fit the tool.", err.Error())
			}
			result, err := fn(ctx, v)
			if err != nil {
				return ToolResult{}, err
			}
			return encodeResult(ctx, out, result)
		},
	}
}

func encodeResult(ctx context.Context, out *schema.Schema, v any) (ToolResult, error) {
	data, err := stream.Encode(v)
	if err != nil {
		return ToolResult{}, fault.New("tool_output_serialization", "The output cannot be written as JSON.", "").Because(err)
	}
	if err := out.Check(context.WithoutCancel(ctx), data); err != nil {
		return ToolResult{}, renamed(err, "tool_output_validation", "The output does not fit the tool.")
	}
	return ToolResult{Output: data}, nil
}

func renamed(err error, typ, message string) error {
	f := fault.From(err)
	return &fault.Error{Type: typ, Message: message, Details: fmt.Sprint(f.Meta["issues"]), Meta: f.Meta}
}

// RawTool declares a tool by its JSON Schema, for tools that are not known when the program is written.
func RawTool(name, description string, input json.RawMessage, call func(ctx context.Context, input json.RawMessage) (ToolResult, error)) Tool {
	return Tool{Name: name, Description: description, schema: input, call: call}
}

// AskTool is a tool by which a model asks another agent of its scope, one that was added or that Config.Resolve finds, and gets
// its answer: the text, or the value of an agent with an Output. The conversation of the agent that is asked is part of the same
// stream, as that of a sub-agent is: interrupted, it goes on, with the version that it began with. May is asked before it begins; its error is a result that the
// model sees. Nobody is asked who waits for the answer, and never more than four deep.
func AskTool(name, description string, may func(ctx context.Context, agent string) error) Tool {
	return Tool{Name: name, Description: description, schema: askSchema(nil), asks: may, call: askedAlone}
}

// askedAlone is what becomes of a call outside of a conversation.
func askedAlone(context.Context, json.RawMessage) (ToolResult, error) {
	return ToolResult{}, errors.New("an agent is only asked in a conversation")
}

// askSchema is the JSON Schema of a question to an agent, of one of these names where there are some.
func askSchema(names []string) json.RawMessage {
	agent := map[string]any{"type": "string", "description": "The agent's name."}
	if names != nil {
		agent = map[string]any{"type": "string", "enum": names}
	}
	schema, _ := stream.Encode(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"agent", "prompt"},
		"properties": map[string]any{
			"agent":  agent,
			"prompt": map[string]any{"type": "string", "description": "All that the agent needs to know; it sees nothing else."},
		},
	})
	return schema
}

// InputSchema is the JSON Schema of the tool's input.
func (t Tool) InputSchema() json.RawMessage { return t.schema }

// Call calls the tool.
func (t Tool) Call(ctx context.Context, input json.RawMessage) (ToolResult, error) {
	return t.call(ctx, input)
}
