// Package schema is the JSON Schema of a Go type, or one that somebody wrote, and says where a value does not fit it.
package schema

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"svc.dev/svc/fault"
)

// Schema is a JSON Schema, ready to validate.
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

// Bounds of a schema that others write: what a check costs grows with it, and with what its references are told out to.
const (
	maxNodes  = 10_000
	maxNested = 100
)

// Parse reads the JSON Schema of an object, as models are asked for one. A reference leads to a place in the schema itself, and to
// none that holds it: what a check costs is bounded.
func Parse(source json.RawMessage) (*Schema, error) {
	if err := bounded(source); err != nil {
		return nil, err
	}
	root := &jsonschema.Schema{}
	if err := json.Unmarshal(source, root); err != nil {
		return nil, errors.New("it is no JSON Schema")
	}
	// The validator reads a name in any case, and of two the last: it is bounded as the validator has read it.
	read, err := json.Marshal(root)
	if err != nil {
		return nil, errors.New("it is no JSON Schema")
	}
	if err := cmp.Or(bounded(read), light(read)); err != nil {
		return nil, err
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, errors.New("it is no JSON Schema that holds: a reference leads nowhere, or a pattern is none")
	}
	return &Schema{Source: source, root: root, resolved: resolved}, nil
}

// bounded refuses a schema that is not of an object, and one that a check could not come to an end with.
func bounded(source json.RawMessage) error {
	var tree map[string]any
	if json.Unmarshal(source, &tree) != nil || tree["type"] != "object" {
		return errors.New(`it is no JSON Schema of an object: its type must be "object"`)
	}
	told := expansion{root: tree}
	return told.walk(tree, 0)
}

// expansion is a schema with every reference told out, of which only the size is kept.
type expansion struct {
	root  any
	nodes int
}

// walk counts what stands below a place. A reference that leads to itself has no end, and so too many.
func (x *expansion) walk(at any, depth int) error {
	if x.nodes++; x.nodes > maxNodes || depth > maxNested {
		return errors.New("it is too large, or a reference leads to what holds it")
	}
	switch at := at.(type) {
	case map[string]any:
		for name, below := range at {
			if err := x.member(name, below, depth); err != nil {
				return err
			}
		}
	case []any:
		for _, below := range at {
			if err := x.walk(below, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// otherReferences are the ways to a place that are not told out here.
var otherReferences = []string{"$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor"}

func (x *expansion) member(name string, below any, depth int) error {
	to, isText := below.(string)
	switch {
	case name == "$ref" && isText:
		place, found := x.find(to)
		if !found {
			return fmt.Errorf("a reference leads nowhere in it: %s", Cut(to, 100))
		}
		return x.walk(place, depth+1)
	case isText && slices.Contains(otherReferences, name):
		return fmt.Errorf("it has %s; a reference is a $ref to a place in it, such as #/$defs/name", name)
	}
	return x.walk(below, depth+1)
}

// find is the place in the schema that a JSON pointer names.
func (x *expansion) find(reference string) (any, bool) {
	pointer, local := strings.CutPrefix(reference, "#")
	if !local || strings.Contains(pointer, "%") {
		return nil, false
	}
	at := x.root
	for _, name := range strings.Split(pointer, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch in := at.(type) {
		case map[string]any:
			at = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			at = in[i]
		}
		if at == nil {
			return nil, false
		}
	}
	return at, true
}

// OfObject reports whether all that fits is an object.
func (s *Schema) OfObject() bool { return s.root.Type == "object" }

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
