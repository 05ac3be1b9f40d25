package operation

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"svc.dev/svc/conversation"
	"svc.dev/svc/iso"
)

var known = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[iso.Moment]():              {Type: "string", Format: "date-time"},
	reflect.TypeFor[iso.Time]():                {Type: "string", Format: "date-time"},
	reflect.TypeFor[json.RawMessage]():         {},
	reflect.TypeFor[conversation.Attributes](): {Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string"}},
}

// schemaOf is the schema of a Go type, made more precise by the tags of its fields:
//
//	id:"acc"        an id of that noun
//	enum:"a b"      one of these
//	null:"never"    null means that
//	min:"1" max:"9" how many characters a text has
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
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
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
				if strings.Contains(f.Tag.Get("json"), ",omit") && f.Tag.Get("null") == "" { // then it is not there, rather than null
					property.Types = slices.DeleteFunc(property.Types, func(t string) bool { return t == "null" })
				}
			}
		}
	}
}

// narrow is what the tags of a field say of its values.
func narrow(tag reflect.StructTag, s *jsonschema.Schema) {
	if noun := tag.Get("id"); noun != "" {
		s.Pattern = "^" + noun + "_[0-9A-HJKMNP-TV-Z]{26}$"
	}
	of := s
	if s.Items != nil {
		of = s.Items // each is one of these
	}
	for _, value := range strings.Fields(tag.Get("enum")) {
		of.Enum = append(of.Enum, value)
	}
	if n, err := strconv.Atoi(tag.Get("min")); err == nil {
		s.MinLength = &n
	}
	if n, err := strconv.Atoi(tag.Get("max")); err == nil {
		s.MaxLength = &n
	}
	if typ := tag.Get("type"); typ != "" {
		s.Type, s.Format = typ, tag.Get("format")
	}
	if tag.Get("null") == "" {
		return
	}
	if s.Type != "" {
		s.Types, s.Type = []string{s.Type, "null"}, ""
	}
	if s.Enum != nil {
		s.Enum = append(s.Enum, nil)
	}
}
