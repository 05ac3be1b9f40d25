package svc

import (
	"cmp"
	"context"
	"encoding/json"
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
	// Timeout bounds one call. Defaults to 2 minutes.
	Timeout time.Duration

	schema json.RawMessage
	call   func(ctx context.Context, input json.RawMessage) (ToolResult, error)
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

// InputSchema is the JSON Schema of the tool's input.
func (t Tool) InputSchema() json.RawMessage { return t.schema }

// Call calls the tool.
func (t Tool) Call(ctx context.Context, input json.RawMessage) (ToolResult, error) {
	return t.call(ctx, input)
}
