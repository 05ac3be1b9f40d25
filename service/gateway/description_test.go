package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"svc.dev/svc/service/operation/operationtest"
)

// Description is the document, ready to be compared with.
type Description struct {
	Operations []Operation

	doc       *openapi3.T
	otherwise *openapi3.Operation // what is answered where there is no operation
	anywhere  map[string]int      // the types that every operation can answer with, and what is none too, with their statuses

	checked sync.Map // refusals that were as described, by sameAs
}

// Operation is one method of one path.
type Operation struct {
	ID         string
	Method     string
	Path       string
	Surfaces   []string // sorted
	Statuses   []int    // that are no refusals, sorted
	ErrorTypes []string

	tail bool // the last parameter is a path, with its slashes
	item *openapi3.PathItem
	op   *openapi3.Operation
}

// readDescription reads a document as it is served.
func readDescription(text []byte) (*Description, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("read description: %w", err)
	}
	d := &Description{doc: doc}
	otherwise := doc.Components.Responses["Otherwise"]
	d.otherwise = &openapi3.Operation{Responses: openapi3.NewResponses(openapi3.WithName("default", otherwise.Value))}
	if d.anywhere, err = statuses(otherwise.Value); err != nil {
		return nil, err
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			d.Operations = append(d.Operations, d.operation(method, path, item, op))
		}
	}
	slices.SortFunc(d.Operations, func(a, b Operation) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	return d, nil
}

func (d *Description) operation(method, path string, item *openapi3.PathItem, op *openapi3.Operation) Operation {
	o := Operation{ID: op.OperationID, Method: method, Path: path, ErrorTypes: operationtest.ErrorTypes(op), item: item, op: op}
	o.tail, _ = item.Extensions["x-path-tail"].(bool)
	servers := d.doc.Servers
	if len(item.Servers) > 0 {
		servers = item.Servers
	}
	if op.Servers != nil && len(*op.Servers) > 0 {
		servers = *op.Servers
	}
	for _, s := range servers {
		name, _ := s.Extensions["x-surface"].(string)
		o.Surfaces = append(o.Surfaces, name)
	}
	slices.Sort(o.Surfaces)
	for status := 200; status < 400; status++ {
		if op.Responses.Status(status) != nil {
			o.Statuses = append(o.Statuses, status)
		}
	}
	return o
}

// statuses are those of the types that an answer for many of them allows.
func statuses(r *openapi3.Response) (map[string]int, error) {
	text, err := json.Marshal(r.Extensions["x-error-statuses"])
	if err != nil {
		return nil, err
	}
	var all map[string]int
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read statuses: %w", err)
	}
	return all, nil
}

// Describes reports whether an answer of that status may have an error of that type.
func (o Operation) Describes(status int, typ string) bool {
	r := o.op.Responses.Status(status)
	if r == nil {
		r = o.op.Responses.Default()
	}
	return slices.Contains(operationtest.RefusalTypes(r), typ)
}

// Find is the operation of a request; nil where there is none, and then the methods that its path has.
func (d *Description) Find(surface, method, path string) (found *Operation, params map[string]string, methods []string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i, o := range d.Operations {
		values, ok := o.match(strings.Split(path, "/"))
		if !ok || !slices.Contains(o.Surfaces, surface) {
			continue
		}
		if o.Method == method {
			return &d.Operations[i], values, nil
		}
		methods = append(methods, o.Method)
	}
	if slices.Contains(methods, http.MethodGet) {
		methods = append(methods, http.MethodHead)
	}
	slices.Sort(methods)
	return nil, nil, slices.Compact(methods)
}

// match is the values of the path's parameters, if it is one of the operation's.
func (o Operation) match(path []string) (values map[string]string, ok bool) {
	pattern := strings.Split(o.Path, "/")
	if o.tail && len(path) > len(pattern) && !slices.Contains(path[1:], "") {
		path = append(path[:len(pattern)-1:len(pattern)-1], strings.Join(path[len(pattern)-1:], "/"))
	}
	if len(pattern) != len(path) {
		return nil, false
	}
	values = map[string]string{}
	for i, want := range pattern {
		if want == "{username}" && path[i] == "admin" {
			return nil, false // the workspace of the staff has paths of its own
		}
		if name, wild := strings.CutPrefix(want, "{"); wild && path[i] != "" {
			values[strings.TrimSuffix(name, "}")] = path[i]
		} else if want != path[i] {
			return nil, false
		}
	}
	return values, true
}

// Parameters are the names of what an operation takes from a place of the request: path, query or header.
func (o Operation) Parameters(in string) (names []string) {
	for _, p := range slices.Concat(o.item.Parameters, o.op.Parameters) {
		if p.Value.In == in {
			names = append(names, p.Value.Name)
		}
	}
	return names
}

// Fields are the fields of an operation's JSON body with their kinds: string, strings, or another that holds no text. It is nil
// where there is no body of fields.
func (o Operation) Fields() map[string]string {
	if o.op.RequestBody == nil || o.op.RequestBody.Value.Content.Get("application/json") == nil {
		return nil
	}
	schema := o.op.RequestBody.Value.Content.Get("application/json").Schema
	if schema == nil || len(schema.Value.Properties) == 0 {
		return nil
	}
	kinds := map[string]string{}
	for name, p := range maps.All(schema.Value.Properties) {
		switch {
		case p.Value.Type.Includes(openapi3.TypeString):
			kinds[name] = "string"
		case p.Value.Type.Includes(openapi3.TypeArray) && p.Value.Items != nil && p.Value.Items.Value.Type.Includes(openapi3.TypeString):
			kinds[name] = "strings"
		default:
			kinds[name] = "other"
		}
	}
	return kinds
}
