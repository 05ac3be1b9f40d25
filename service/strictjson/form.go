package strictjson

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Form reads the body of a page's form, application/x-www-form-urlencoded, into the struct that into points to, by the same
// names as Decode. Nothing is set unless all is well.
//
// Fields are strings, lists of strings, pointers to strings, booleans, numbers that are whole and, for a value that JSON may write in
// several ways, json.RawMessage, which holds the text. The names beside are read by others: they are looked at, and set nothing. A missing one is the empty string: whether it had to be there is
// for the one who judges its value. A pointer is nil when its field is missing; a boolean is true for "on" and "true", the values of a ticked box, and false for "false", "" and none. A
// list holds every value of its name, at most 64. An unknown name, a repeated one that is no list, an escape that is none, text that is not UTF-8, and ";" or "&" that separate nothing are the
// fault invalid_request, whose meta.fields names the fields as far as they have names.
func Form(body []byte, into any, beside ...string) error {
	target, err := structOf(into)
	if err != nil {
		return err
	}
	var f form
	own, err := formFieldsOf(target.Type())
	if err != nil {
		return err
	}
	f.fields = own
	for _, name := range beside {
		f.fields = append(f.fields, formField{field: field{name: name}})
	}
	if len(body) > 0 {
		for pair := range strings.SplitSeq(string(body), "&") {
			f.add(pair)
		}
	}
	fresh := reflect.New(target.Type()).Elem()
	fresh.Set(target)
	for i, each := range f.fields[:len(own)] {
		place := fresh.FieldByIndex(each.index)
		if !setFormValue(place, each.values) || !each.any && !writable(place) {
			f.fields[i].bad = cmp.Or(each.bad, Invalid)
		}
	}
	if refusal := f.refusal(); refusal != nil {
		return refusal
	}
	target.Set(fresh)
	return nil
}

// maxValues is how many values one name may have.
const maxValues = 64

// formField is a field, and what a body said of it so far.
type formField struct {
	field
	many   bool // more than one value is meant
	values []string
	bad    string // what is wrong with it
}

func formFieldsOf(t reflect.Type) (all []formField, err error) {
	fields, err := fieldsOf(t)
	for _, f := range fields {
		ft := t.FieldByIndex(f.index).Type
		texts := (ft.Kind() == reflect.Pointer || ft.Kind() == reflect.Slice) && ft.Elem().Kind() == reflect.String
		if !texts && ft.Kind() != reflect.String && ft.Kind() != reflect.Bool && ft.Kind() != reflect.Int64 && ft != rawType {
			return nil, fmt.Errorf("strictjson: %s: field %q has the type %s, which no form has", t, f.name, ft)
		}
		all = append(all, formField{field: f, many: texts && ft.Kind() == reflect.Slice})
	}
	return all, err
}

// form is what a body said so far.
type form struct {
	fields  []formField
	unknown []Field
	broken  bool // a name could not be read
}

// add reads one name=value.
func (f *form) add(pair string) {
	name, value, _ := strings.Cut(pair, "=")
	name, ok := unescape(name)
	if !ok || name == "" {
		f.broken = true
		return
	}
	i := slices.IndexFunc(f.fields, func(each formField) bool { return each.name == name })
	if i < 0 {
		f.unknown = appendUnknown(f.unknown, clip(name))
		return
	}
	text, ok := unescape(value)
	at, most, more := &f.fields[i], 1, Duplicate
	if at.many {
		most, more = maxValues, TooLong
	}
	switch {
	case !ok:
		at.bad = Invalid
		return
	case len(at.values) == most:
		at.bad = more
		return
	}
	at.values = append(at.values, text)
}

func unescape(text string) (string, bool) {
	// Some readers take ";" for "&": what one of them lets pass must not mean something else here.
	if strings.Contains(text, ";") {
		return "", false
	}
	text, err := url.QueryUnescape(text)
	return text, err == nil && utf8.ValidString(text)
}

func (f *form) refusal() error {
	var bad Fields
	for _, each := range f.fields {
		bad.Add(each.name, each.bad)
	}
	bad = append(bad, f.unknown...)
	if len(bad) == 0 && !f.broken {
		return nil
	}
	refusal := Refuse(bad...)
	if f.broken {
		refusal.Details = "The body must be a form."
	}
	return refusal
}

func setFormValue(into reflect.Value, values []string) bool {
	if into.Kind() == reflect.Slice && into.Type() != rawType {
		into.Set(reflect.ValueOf(values).Convert(into.Type()))
		return true
	}
	value := strings.Join(values, "")
	if value == "" && into.Kind() != reflect.Pointer {
		into.SetZero() // a form sends its empty fields too
		return true
	}
	switch into.Kind() {
	case reflect.Bool:
		into.SetBool(value == "on" || value == "true")
		return into.Bool() || value == "false"
	case reflect.Pointer:
		if into.SetZero(); len(values) == 0 {
			return true
		}
		into.Set(reflect.New(into.Type().Elem()))
		into.Elem().SetString(value)
	case reflect.Int64:
		n, err := strconv.ParseInt(value, 10, 64)
		into.SetInt(n)
		return err == nil
	case reflect.Slice:
		text, _ := json.Marshal(value) // a string always has JSON
		into.SetBytes(text)
	default:
		into.SetString(value)
	}
	return true
}
