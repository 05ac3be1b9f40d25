package apitest

import (
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

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
