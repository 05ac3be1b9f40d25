// Package strictjson reads request bodies that decide who somebody is. encoding/json is too kind for them: it takes the last
// of two equal keys, fills password from "paſſword", and makes one character of everything that is none, so that two
// different passwords become the same. Here a body says exactly one thing, or it is refused.
package strictjson

import (
	"bytes"
	"fmt"
	"reflect"

	"svc.dev/svc/fault"
)

// Decode reads a body that is exactly one JSON object into the struct that into points to. Nothing is set unless all is
// well; a field that may be absent and is keeps the value it had.
//
// A body that is not one JSON document, not UTF-8, escapes half a character, repeats a key or nests deeper than 32 is the
// fault invalid_json. A body that is no object, a key that no field has byte for byte, a value of the wrong type and a
// missing field are the fault invalid_request; its meta.fields names all of them in the order they are declared in, then
// the unknown keys.
//
// Every field has a json tag with its name. It must be there, unless it is a pointer (null and absent are nil) or its tag
// says omitzero (absent leaves it alone, null is refused); no other option is known. Fields are strings, booleans, signed
// integers, float64, time.Time (RFC 3339), json.RawMessage (any value, null too), map[string]string, structs, and pointers
// and slices of these. The fields of an embedded struct without a tag count as the struct's own. Any other type is an error
// that is no fault: a mistake of ours.
//
// A text holds no control characters but line breaks and tabs, unless its field has the tag text:"any", as that of a password
// has; one that does is of the wrong form.
func Decode(body []byte, into any) error { return decode(body, into, false) }

// Merge is Decode for a change of what is there, as JSON merge patches are: null resets a field whose tag null says what that means,
// to the zero value or a pointer to it, and is refused for every other, which must have a value. What lies deeper is replaced whole.
func Merge(body []byte, into any) error { return decode(body, into, true) }

func decode(body []byte, into any, merge bool) error {
	target, err := structOf(into)
	if err != nil {
		return err
	}
	fresh := reflect.New(target.Type()).Elem()
	missing, err := readObject(fresh, []byte("{}"), "", merge)
	if err != nil {
		return err
	}
	if err := check(body); err != nil {
		return err
	}
	if body = bytes.TrimSpace(body); body[0] != '{' {
		refusal := Refuse(missing...)
		refusal.Details = "The body must be a JSON object."
		return refusal
	}
	fresh.Set(target)
	bad, err := readObject(fresh, body, "", merge)
	if err != nil {
		return err
	}
	if len(bad) > 0 {
		return Refuse(bad...)
	}
	target.Set(fresh)
	return nil
}

func structOf(into any) (reflect.Value, error) {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return v, fmt.Errorf("strictjson: %T is not a pointer to a struct", into)
	}
	return v.Elem(), nil
}

// What can be wrong with a field.
const (
	Invalid   = "invalid"   // of the wrong type or form
	Required  = "required"  // missing
	Unknown   = "unknown"   // there is none of this name
	Duplicate = "duplicate" // it stands there twice
	Cycle     = "cycle"     // it leads back to itself
	TooShort  = "too_short"
	TooLong   = "too_long"
	TooCommon = "too_common"
)

// Field names one refused field of a request.
type Field struct {
	Field string `json:"field"`
	Type  string `json:"type"`
}

// Refuse is the fault invalid_request that names these fields in meta.fields.
func Refuse(fields ...Field) *fault.Error {
	if fields == nil {
		fields = []Field{} // a list in JSON, not null
	}
	return fault.New(fault.InvalidRequest, "Some fields are missing or not valid.", "").With("fields", fields)
}

// Wrong refuses one field of a request; no problem is nothing wrong.
func Wrong(field, problem string) error {
	if problem == "" {
		return nil
	}
	return Refuse(Field{Field: field, Type: problem})
}

// Fields gathers what is wrong with a request.
type Fields []Field

// Add notes what is wrong with a field; no problem is nothing wrong.
func (f *Fields) Add(name, problem string) {
	if problem != "" {
		*f = append(*f, Field{Field: name, Type: problem})
	}
}

// Refusal is nil where nothing is wrong.
func (f Fields) Refusal() error {
	if len(f) == 0 {
		return nil
	}
	return Refuse(f...)
}

// FieldsOf are the fields that a refusal names.
func FieldsOf(f *fault.Error) []Field {
	all, _ := f.Meta["fields"].([]Field)
	return all
}
