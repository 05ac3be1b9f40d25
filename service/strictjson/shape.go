package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

var (
	timeType   = reflect.TypeFor[time.Time]()
	rawType    = reflect.TypeFor[json.RawMessage]()
	stringsMap = reflect.TypeFor[map[string]string]()
)

// field is one name that an object may have.
type field struct {
	name     string
	index    []int // for reflect.Value.FieldByIndex
	required bool
	any      bool // its text may hold any character
	resets   bool // null means something where fields are merged
}

// fieldsOf reads the fields of a struct from its tags, in order. Its errors are mistakes of ours.
func fieldsOf(t reflect.Type) ([]field, error) {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		switch {
		case f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct:
			inner, err := fieldsOf(f.Type)
			if err != nil {
				return nil, err
			}
			for _, in := range inner {
				in.index = append([]int{i}, in.index...)
				fields = append(fields, in)
			}
		case tag == "-" || !f.IsExported():
		default:
			one, err := fieldOf(f, tag)
			if err != nil {
				return nil, fmt.Errorf("strictjson: %s.%s: %w", t, f.Name, err)
			}
			fields = append(fields, one)
		}
	}
	return fields, unlike(t, fields)
}

func fieldOf(f reflect.StructField, tag string) (field, error) {
	name, option, _ := strings.Cut(tag, ",")
	switch {
	case name == "":
		return field{}, errors.New("has no name in a json tag")
	case option != "" && option != "omitzero":
		return field{}, fmt.Errorf("has the option %q: only omitzero is known", option)
	case !supported(f.Type):
		return field{}, fmt.Errorf("has the type %s, which is not supported", f.Type)
	}
	text := f.Tag.Get("text")
	if text != "" && text != anyText {
		return field{}, fmt.Errorf("has the text %q: only %q is known", text, anyText)
	}
	return field{name: name, index: f.Index, required: f.Type.Kind() != reflect.Pointer && option == "", any: text == anyText, resets: f.Tag.Get("null") != ""}, nil
}

// anyText is the tag of a field whose text may hold any character.
const anyText = "any"

// writable reports whether a value holds only texts that a person could have written. Structs see to their own fields.
func writable(v reflect.Value) bool {
	switch {
	case v.Type() == rawType:
		return true
	case v.Kind() == reflect.String:
		return !strings.ContainsFunc(v.String(), isControl)
	case v.Kind() == reflect.Pointer:
		return v.IsNil() || writable(v.Elem())
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			if !writable(v.Index(i)) {
				return false
			}
		}
	case v.Type() == stringsMap:
		for name, text := range v.Interface().(map[string]string) {
			if strings.ContainsFunc(name, isControl) || strings.ContainsFunc(text, isControl) {
				return false
			}
		}
	}
	return true
}

// isControl reports whether a character is none that is written: line breaks and tabs are.
func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }

// unlike refuses two fields of one name.
func unlike(t reflect.Type, fields []field) error {
	for i, f := range fields {
		if slices.ContainsFunc(fields[:i], func(g field) bool { return g.name == f.name }) {
			return fmt.Errorf("strictjson: %s has two fields %q", t, f.name)
		}
	}
	return nil
}

// supported does not look into structs: they are looked at when one is read.
func supported(t reflect.Type) bool {
	if t == timeType || t == rawType || t == stringsMap {
		return true
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float64, reflect.Struct,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return true
	case reflect.Pointer:
		return t.Elem().Kind() != reflect.Pointer && supported(t.Elem())
	case reflect.Slice:
		return supported(t.Elem())
	}
	return false
}
