package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"svc.dev/svc"
)

// maxAnswer is how many bytes of text a model is given at once.
const maxAnswer = 32 << 10

// define makes a tool that answers with text. In says what it is asked.
func define[In any](h hand, name, description string, most time.Duration, do func(ctx context.Context, in In) (string, error)) svc.Tool {
	typed := svc.NewTool(name, description, func(ctx context.Context, in In) (string, error) {
		text, err := do(ctx, in)
		return strings.ToValidUTF8(text, "\ufffd"), h.told(ctx, name, err)
	})
	t := svc.RawTool(name, description, typed.InputSchema(), func(ctx context.Context, raw json.RawMessage) (svc.ToolResult, error) {
		result, err := typed.Call(ctx, raw)
		if err != nil {
			return svc.ToolResult{}, err
		}
		var text string
		if err := json.Unmarshal(result.Output, &text); err != nil {
			return svc.ToolResult{}, err
		}
		return svc.ToolResult{Content: []svc.ToolContent{{Text: text}}}, nil
	})
	t.Timeout = most
	return t
}

// passage is text for a model, up to a bound.
type passage struct {
	strings.Builder
	full bool
}

// line adds a line unless there is no room for it; then nothing more is added.
func (a *passage) line(format string, args ...any) bool {
	text := fmt.Sprintf(format, args...)
	if a.full = a.full || a.Len()+len(text) >= maxAnswer; a.full {
		return false
	}
	a.WriteString(text)
	a.WriteByte('\n')
	return true
}

// hint adds a line behind all others, for which there is always room.
func (a *passage) hint(format string, args ...any) { fmt.Fprintf(a, "["+format+"]\n", args...) }

// cut is the beginning of a text that ends with a whole character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
