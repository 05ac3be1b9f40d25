package script

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"modernc.org/quickjs"
)

// Thrown is an error of JavaScript, as it crosses between scripts and Go. A Go function that returns one chooses what scripts catch.
type Thrown struct {
	Name    string         `json:"name"`
	Message string         `json:"message"`
	Stack   string         `json:"stack,omitempty"`
	Type    string         `json:"type,omitempty"` // of an error of the caller's own kind, and "unsupported"
	Details string         `json:"details,omitempty"`
	Meta    map[string]any `json:"meta,omitempty"`
	Status  int            `json:"status,omitempty"`
	DOM     bool           `json:"dom,omitempty"` // a DOMException
}

func (t *Thrown) Error() string {
	if t.Message == "" {
		return t.Name
	}
	return t.Name + ": " + t.Message
}

// Thrown reads an error that a script told, its stack that of the sources. Its texts are cut as a line of the log is, and what is not of its
// type, such as a meta that is no object, is left out.
func (e *Engine) Thrown(text string) *Thrown {
	t := &Thrown{}
	var misfit *json.UnmarshalTypeError
	if err := json.Unmarshal([]byte(text), t); err != nil && !errors.As(err, &misfit) {
		t = &Thrown{Name: "Error", Message: text}
	}
	for _, part := range []*string{&t.Name, &t.Message, &t.Stack, &t.Type, &t.Details} {
		*part = cut(*part, e.config.Limits.LogLine)
	}
	t.Stack = e.trace(t.Stack)
	return t
}

// fromEngine is an exception as the wrapper tells it.
func (e *Engine) fromEngine(err error) *Thrown {
	var own *Thrown
	if errors.As(err, &own) {
		return own
	}
	var js *quickjs.Error
	if !errors.As(err, &js) {
		return &Thrown{Name: "Error", Message: err.Error()}
	}
	t := &Thrown{Name: js.Name, Message: js.Message, Stack: e.trace(js.Stack)}
	if t.Name == "" {
		t.Name, t.Message = "Error", js.Error()
	}
	return t
}

// isStop reports whether the engine stopped the script by it.
func (t *Thrown) isStop() bool { return t.Name == "InternalError" && t.Message == "interrupted" }

// isMemory reports whether an error is that the memory is full, whatever it was made of: one of a turn in which memory was refused.
func (e *Engine) isMemory(t *Thrown) bool {
	return e.refused || t.Name == "InternalError" && t.Message == "out of memory"
}

// tell writes an error for the prelude.
func tell(err error) string {
	var t *Thrown
	switch {
	case errors.As(err, &t):
	case errors.Is(err, context.DeadlineExceeded):
		t = &Thrown{Name: "TimeoutError", Message: "The operation was aborted due to timeout", DOM: true}
	case errors.Is(err, context.Canceled):
		t = &Thrown{Name: "AbortError", Message: "This operation was aborted", DOM: true}
	default:
		t = &Thrown{Name: "Error", Message: err.Error()}
	}
	data, err := json.Marshal(t)
	if err != nil {
		return `{"name":"Error","message":"the error cannot be told"}`
	}
	return string(data)
}

var frame = regexp.MustCompile(`<eval>:(\d+)`)

// trace takes the prelude's own frames out of a stack, and makes it that of the sources.
func (e *Engine) trace(stack string) string {
	if stack == "" {
		return ""
	}
	var kept []string
	for line := range strings.SplitSeq(stack, "\n") {
		if found := frame.FindStringSubmatch(line); found != nil {
			if n, _ := strconv.Atoi(found[1]); n >= PreludeLine {
				continue
			}
		}
		kept = append(kept, line)
	}
	stack = strings.Join(kept, "\n")
	if e.config.Trace == nil {
		return stack
	}
	return e.config.Trace(stack)
}
