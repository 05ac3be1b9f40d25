// Package schema is the JSON Schema of a Go type, and says where a value does not fit it.
package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"svc.dev/svc/fault"
)

// Schema is the JSON Schema of a Go type, ready to validate.
type Schema struct {
	Source json.RawMessage

	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// issue is one place where an input does not fit.
type issue struct {
	Message string `json:"message"`
	Path    []any  `json:"path,omitempty"`
}

// Of panics for a type that has no schema: it is called where workflows are declared.
func Of[T any]() *Schema {
	t := reflect.TypeFor[T]()
	if s, found := made.Load(t); found {
		return s.(*Schema)
	}
	s, err := of[T]()
	if err != nil {
		panic(fmt.Sprintf("svc: schema of %T: %v", *new(T), err))
	}
	made.Store(t, s)
	return s
}

// made are the schemas of types that were asked for: tools are made anew for every agent, of the same types.
var made sync.Map

func of[T any]() (*Schema, error) {
	root, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, err
	}
	source, err := json.Marshal(root)
	return &Schema{Source: source, root: root, resolved: resolved}, err
}

// Check refuses a value that does not fit, naming the places. It ends when ctx does, with its error.
func (s *Schema) Check(ctx context.Context, raw json.RawMessage) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return Misfit(err.Error())
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err := s.resolved.Validate(value)
	if err == nil {
		return nil
	}
	misfits := finder{ctx: ctx, resolved: map[*jsonschema.Schema]*jsonschema.Resolved{}}
	misfits.locate(s.root, value, nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(misfits.issues) == 0 {
		misfits.issues = []issue{{Message: reason(err)}}
	}
	slices.SortFunc(misfits.issues, func(a, b issue) int { return strings.Compare(fmt.Sprint(a.Path), fmt.Sprint(b.Path)) })
	return invalid(misfits.issues...)
}

// Misfit refuses a value as a whole.
func Misfit(why string) error { return invalid(issue{Message: why}) }

func invalid(issues ...issue) error {
	return fault.New(fault.InputValidation, "The input does not fit the schema.", "").
		With("action", "workflow").With("issues", issues)
}

// maxIssues is how many places are named: who sent more of them learns enough from these.
const maxIssues = 100

// finder looks for the innermost values that do not fit.
type finder struct {
	ctx      context.Context
	resolved map[*jsonschema.Schema]*jsonschema.Resolved
	issues   []issue
}

// locate descends to the places in one value.
func (f *finder) locate(s *jsonschema.Schema, value any, path []any) {
	if len(f.issues) == maxIssues || f.ctx.Err() != nil {
		return
	}
	err := f.fits(s, value)
	if err == nil {
		return
	}
	found := len(f.issues)
	f.descend(s, value, path)
	if len(f.issues) == found && f.ctx.Err() == nil {
		f.issues = append(f.issues, issue{Message: reason(err), Path: slices.Clone(path)})
	}
}

func (f *finder) descend(s *jsonschema.Schema, value any, path []any) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if member, ok := v[name]; ok {
				f.locate(s.Properties[name], member, append(path, name))
			}
		}
	case []any:
		for i := 0; s.Items != nil && i < len(v) && len(f.issues) < maxIssues; i++ {
			f.locate(s.Items, v[i], append(path, i))
		}
	}
}

func (f *finder) fits(s *jsonschema.Schema, value any) error {
	if f.resolved[s] == nil {
		resolved, err := s.CloneSchemas().Resolve(nil)
		if err != nil {
			return err
		}
		f.resolved[s] = resolved
	}
	return f.resolved[s].Validate(value)
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
			return Cut(text, 200)
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
	return Cut(text, 200)
}

// Cut shortens a text to at most n bytes, never inside a character.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
