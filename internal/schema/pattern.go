package schema

import (
	"encoding/json"
	"errors"
	"regexp/syntax"
)

// Bounds of all patterns of a schema that others write.
const (
	maxPatterns = 4 << 10 // bytes
	maxProgram  = 20_000  // instructions that they are compiled to, more or less
)

// light refuses a schema whose patterns are large programs: a few characters can say that something comes a thousand times. It is asked
// before the schema is resolved, which compiles them, of the schema as the validator has read it.
func light(read json.RawMessage) error {
	var tree any
	if err := json.Unmarshal(read, &tree); err != nil {
		return errors.New("it is no JSON Schema")
	}
	if w := (weight{}); !w.bears(tree) {
		return errors.New("its patterns are too large")
	}
	return nil
}

// weight is what the patterns of a schema come to.
type weight struct{ bytes, program int }

// bears adds what stands in a place, and reports whether it is not too much.
func (w *weight) bears(at any) bool {
	switch at := at.(type) {
	case []any:
		for _, below := range at {
			if !w.bears(below) {
				return false
			}
		}
	case map[string]any:
		for name, below := range at {
			if pattern, is := below.(string); is && name == "pattern" && !w.add(pattern) {
				return false
			}
			if patterns, is := below.(map[string]any); is && name == "patternProperties" && !w.addAll(patterns) {
				return false
			}
			if !w.bears(below) {
				return false
			}
		}
	}
	return true
}

func (w *weight) addAll(patterns map[string]any) bool {
	for pattern := range patterns {
		if !w.add(pattern) {
			return false
		}
	}
	return true
}

// add leaves a text that is no pattern to whoever compiles it.
func (w *weight) add(pattern string) bool {
	if w.bytes += len(pattern); w.bytes > maxPatterns {
		return false
	}
	if parsed, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		w.program += program(parsed)
	}
	return w.program <= maxProgram
}

// program is how many instructions a pattern is compiled to, more or less, and a little more than the bound where it is more than that.
func program(p *syntax.Regexp) int {
	n := 1
	for _, below := range p.Sub {
		n += program(below)
	}
	switch p.Op {
	case syntax.OpLiteral, syntax.OpCharClass:
		n += len(p.Rune)
	case syntax.OpRepeat:
		n *= max(p.Max, p.Min+1, 1)
	}
	return min(n, maxProgram+1)
}
