package svc

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"svc.dev/svc/fault"
)

// schema is the JSON Schema of a Go type, ready to validate.
type schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
	source   json.RawMessage
}

// issue is one place where an input does not fit.
type issue struct {
	Message string `json:"message"`
	Path    []any  `json:"path,omitempty"`
}

// schemaOf panics for a type that has no schema: it is called where workflows are declared.
func schemaOf[T any]() *schema {
	root, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("svc: schema of %T: %v", *new(T), err))
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("svc: schema of %T: %v", *new(T), err))
	}
	source, err := json.Marshal(root)
	if err != nil {
		panic(fmt.Sprintf("svc: schema of %T: %v", *new(T), err))
	}
	return &schema{root: root, resolved: resolved, source: source}
}

// check refuses a value that does not fit, naming the places.
func (s *schema) check(raw json.RawMessage) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return invalidInput(issue{Message: err.Error()})
	}
	err := s.resolved.Validate(value)
	if err == nil {
		return nil
	}
	issues := locate(s.root, value, nil)
	if len(issues) == 0 {
		issues = []issue{{Message: reason(err)}}
	}
	return invalidInput(issues...)
}

func invalidInput(issues ...issue) *fault.Error {
	return fault.New(fault.InputValidation, "The input does not fit the schema.", "").
		With("action", "workflow").With("issues", issues)
}

// locate descends to the innermost values that do not fit.
func locate(s *jsonschema.Schema, value any, path []any) []issue {
	err := fits(s, value)
	if err == nil {
		return nil
	}
	var issues []issue
	switch v := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if member, ok := v[name]; ok {
				issues = append(issues, locate(property, member, append(slices.Clone(path), name))...)
			}
		}
	case []any:
		for i, item := range v {
			if s.Items != nil {
				issues = append(issues, locate(s.Items, item, append(slices.Clone(path), i))...)
			}
		}
	}
	if len(issues) == 0 {
		return []issue{{Message: reason(err), Path: path}}
	}
	slices.SortFunc(issues, func(a, b issue) int { return strings.Compare(fmt.Sprint(a.Path), fmt.Sprint(b.Path)) })
	return issues
}

func fits(s *jsonschema.Schema, value any) error {
	resolved, err := s.CloneSchemas().Resolve(nil)
	if err != nil {
		return err
	}
	return resolved.Validate(value)
}

// reason is the innermost part of a validator's message, without the schema's own path. The validator prints the value
// too, so the text is cut.
func reason(err error) string {
	text := err.Error()
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if !ok {
			return plainly(text)
		}
		_, inner, ok := strings.Cut(rest, ": ")
		if !ok {
			return cut(text, 200)
		}
		text = inner
	}
}

var wanted = regexp.MustCompile(`(?s)^type: .* want (?:one of )?"([a-z, ]*)"$`)

// plainly says what was expected where the validator would print the value.
func plainly(text string) string {
	if m := wanted.FindStringSubmatch(text); m != nil {
		return "expected " + m[1]
	}
	return cut(text, 200)
}

// cut shortens a text to at most n bytes, never inside a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
