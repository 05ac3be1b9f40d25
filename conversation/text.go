package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// What is delivered may be as long as a body may be, so it is read where it lies: values are pieces of the text, and only
// what is kept is copied. Everything here takes text that is valid JSON, goes through it once, and ends when ctx does.

var (
	errNoObject = errors.New("not an object")
	errNoList   = errors.New("not a list")
	errNoText   = errors.New("not a string")
)

// members reads those members of an object that are known, by exact keys; of a repeated one the last counts.
func members(ctx context.Context, text json.RawMessage, known ...string) (map[string]json.RawMessage, error) {
	fields := make(map[string]json.RawMessage, len(known))
	err := eachMember(ctx, text, func(name []byte, value json.RawMessage) error {
		if slices.Contains(known, string(name)) {
			fields[string(name)] = value
		}
		return nil
	})
	return fields, err
}

// eachMember calls fn for the members of an object in their order.
func eachMember(ctx context.Context, text json.RawMessage, fn func(name []byte, value json.RawMessage) error) error {
	return (&scan{text: text}).each(ctx, '{', errNoObject, func(s *scan) error {
		name, err := textOf(s.value())
		if err != nil {
			return err
		}
		s.skip(":")
		return fn(name, s.value())
	})
}

// eachItem calls fn for the items of a list in their order.
func eachItem(ctx context.Context, text json.RawMessage, fn func(item json.RawMessage) error) error {
	return (&scan{text: text}).each(ctx, '[', errNoList, func(s *scan) error { return fn(s.value()) })
}

// textOf is what a JSON string says; anything else, absence too, is an error. It is a piece of the text where that can be.
func textOf(value json.RawMessage) ([]byte, error) {
	if len(value) < 2 || value[0] != '"' {
		return nil, errNoText
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner, nil
	}
	var text string
	err := json.Unmarshal(value, &text)
	return []byte(text), err
}

// stringOf copies what a JSON string says.
func stringOf(value json.RawMessage, s *string) error {
	text, err := textOf(value)
	*s = string(text)
	return err
}

// scan is a place in a JSON text.
type scan struct {
	text []byte
	at   int
}

const space = " \t\r\n"

// often is after how many elements it is asked whether anybody still waits for them.
const often = 1 << 10

// each calls fn at the beginning of each element of what opens with a bracket.
func (s *scan) each(ctx context.Context, bracket byte, other error, fn func(*scan) error) error {
	if s.skip(""); s.at == len(s.text) || s.text[s.at] != bracket {
		return other
	}
	s.at++
	s.skip("")
	for n := 0; s.at < len(s.text) && s.text[s.at] != '}' && s.text[s.at] != ']'; n++ {
		if n%often == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fn(s); err != nil {
			return err
		}
		s.skip(",")
	}
	return nil
}

// skip passes over white space, and over the characters that are given.
func (s *scan) skip(also string) {
	for s.at < len(s.text) && (strings.IndexByte(space, s.text[s.at]) >= 0 || strings.IndexByte(also, s.text[s.at]) >= 0) {
		s.at++
	}
}

// value passes over one value, and returns it.
func (s *scan) value() json.RawMessage {
	begin := s.at
	for depth := 0; s.at < len(s.text); {
		switch s.text[s.at] {
		case '"':
			s.at = stringEnd(s.text, s.at)
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			depth--
			s.at++
		default:
			s.at++
			if depth == 0 {
				s.scalar()
			}
		}
		if depth == 0 {
			break
		}
	}
	return s.text[begin:s.at]
}

// scalar passes over the rest of a number or a word.
func (s *scan) scalar() {
	for s.at < len(s.text) && strings.IndexByte(",]}"+space, s.text[s.at]) < 0 {
		s.at++
	}
}

// stringEnd is the place behind the string that begins at an index. It looks for quotes, which are few.
func stringEnd(text []byte, i int) int {
	for {
		n := bytes.IndexByte(text[i+1:], '"')
		if n < 0 {
			return len(text)
		}
		i += 1 + n
		escapes := i - len(bytes.TrimRight(text[:i], `\`))
		if escapes%2 == 0 {
			return i + 1
		}
	}
}
