// Package operationtest reads what the description says of refusals, for the tests that hold it to the rows and to the wire.
package operationtest

import "github.com/getkin/kin-openapi/openapi3"

// ErrorTypes are the types that an operation names itself.
func ErrorTypes(op *openapi3.Operation) []string { return texts(op.Extensions["x-error-types"]) }

// RefusalTypes are the types of errors that an answer allows; none where it is no refusal.
func RefusalTypes(r *openapi3.ResponseRef) []string {
	media := r.Value.Content.Get("application/json")
	if media == nil || media.Schema == nil {
		return nil
	}
	schema := media.Schema.Value
	if len(schema.AnyOf) == 2 { // beside it stands what another standard words itself
		schema = schema.AnyOf[0].Value
	}
	if len(schema.AllOf) != 2 {
		return nil
	}
	return texts(schema.AllOf[1].Value.Properties["error"].Value.Properties["type"].Value.Enum)
}

func texts(list any) []string {
	var all []string
	items, _ := list.([]any)
	for _, item := range items {
		text, _ := item.(string)
		all = append(all, text)
	}
	return all
}
