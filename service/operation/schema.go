package operation

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"svc.dev/svc/iso"
)

var known = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[iso.Moment]():      {Type: "string", Format: "date-time"},
	reflect.TypeFor[iso.Time]():        {Type: "string", Format: "date-time"},
	reflect.TypeFor[json.RawMessage](): {},
}

// schemaOf is the schema of a Go type, made more precise by the tags of its fields:
//
//	id:"acc"        an id of that noun
//	enum:"a b"      one of these
//	null:"never"    null means that
//	type:"string"   what a value is that Go does not type, and its format
func schemaOf(t reflect.Type) (object, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	refine(t, s)
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var tree object
	return tree, json.Unmarshal(text, &tree)
}

func refine(t reflect.Type, s *jsonschema.Schema) {
	if slices.Contains(s.Types, "array") { // no list that we answer with is null
		s.Types, s.Type = nil, "array"
	}
	switch {
	case t.Kind() == reflect.Slice && s.Items != nil:
		refine(t.Elem(), s.Items)
	case t.Kind() == reflect.Struct && s.Properties != nil:
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if property := s.Properties[name]; property != nil && !f.Anonymous {
				refine(f.Type, property)
				narrow(f.Tag, property)
			}
		}
	}
}

// narrow is what the tags of a field say of its values.
func narrow(tag reflect.StructTag, s *jsonschema.Schema) {
	if noun := tag.Get("id"); noun != "" {
		s.Pattern = "^" + noun + "_[0-9A-HJKMNP-TV-Z]{26}$"
	}
	for _, value := range strings.Fields(tag.Get("enum")) {
		s.Enum = append(s.Enum, value)
	}
	if typ := tag.Get("type"); typ != "" {
		s.Type, s.Format = typ, tag.Get("format")
	}
	if tag.Get("null") != "" {
		s.Types, s.Type = []string{s.Type, "null"}, ""
	}
}
