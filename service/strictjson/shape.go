package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
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
				fields = append(fields, field{in.name, append([]int{i}, in.index...), in.required})
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
	return field{name: name, index: f.Index, required: f.Type.Kind() != reflect.Pointer && option == ""}, nil
}

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

func required(fields []field) []string {
	var names []string
	for _, f := range fields {
		if f.required {
			names = append(names, f.name)
		}
	}
	return names
}
