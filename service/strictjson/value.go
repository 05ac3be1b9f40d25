package strictjson

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxUnknown is how many unknown keys of one object are named in a refusal.
	maxUnknown = 16
	// maxName is how many bytes of an unknown key are repeated.
	maxName = 64
)

// read is what was found for one field.
type read struct {
	seen bool
	bad  []Field
}

// readObject reads an object into a struct. bad names what does not fit: the fields in the order they are declared in, then
// unknown keys. path is the name of the object itself; merge, that null resets what may be reset.
func readObject(into reflect.Value, object []byte, path string, merge bool) (bad []Field, err error) {
	fields, err := fieldsOf(into.Type())
	if err != nil {
		return nil, err
	}
	reads := make([]read, len(fields))
	var unknown []Field
	for name, value := range members(object) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			unknown = appendUnknown(unknown, join(path, clip(name)))
			continue
		}
		reads[i].seen = true
		place := into.FieldByIndex(fields[i].index)
		if merge && value[0] == 'n' && place.Type() != rawType {
			reads[i].bad = fields[i].reset(place, join(path, name))
			continue
		}
		if reads[i].bad, err = readValue(place, value, join(path, name)); err != nil {
			return nil, err
		}
		if reads[i].bad == nil && !fields[i].any && !writable(place) {
			reads[i].bad = invalid(join(path, name))
		}
	}
	for i, f := range fields {
		if f.required && !reads[i].seen {
			bad = append(bad, Field{Field: join(path, f.name), Type: Required})
		}
		bad = append(bad, reads[i].bad...)
	}
	return append(bad, unknown...), nil
}

// reset gives a place the value that null means there.
func (f field) reset(place reflect.Value, path string) (bad []Field) {
	switch {
	case !f.resets:
		return invalid(path)
	case place.Kind() == reflect.Pointer:
		place.Set(reflect.New(place.Type().Elem()))
	default:
		place.SetZero()
	}
	return nil
}

func appendUnknown(unknown []Field, path string) []Field {
	if len(unknown) == maxUnknown {
		return unknown
	}
	return append(unknown, Field{Field: path, Type: Unknown})
}

// invalid is one field of the wrong type or form.
func invalid(path string) []Field { return []Field{{Field: path, Type: Invalid}} }

func clip(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:maxName], "")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// readValue reads a value, whatever it is, into a place of its own type.
func readValue(into reflect.Value, value []byte, path string) (bad []Field, err error) {
	t := into.Type()
	switch {
	case t == rawType:
		into.SetBytes(value)
		return nil, nil
	case t.Kind() == reflect.Pointer:
		return readPointer(into, value, path)
	case t == stringsMap && value[0] == '{':
		return readStrings(into, value, path), nil
	case t.Kind() == reflect.Slice && value[0] == '[':
		return readSlice(into, value, path)
	case t.Kind() == reflect.Struct && t != timeType && value[0] == '{':
		return readObject(into, value, path, false)
	}
	if !setScalar(into, value) {
		return invalid(path), nil
	}
	return nil, nil
}

func readPointer(into reflect.Value, value []byte, path string) (bad []Field, err error) {
	if value[0] == 'n' {
		into.SetZero()
		return nil, nil
	}
	fresh := reflect.New(into.Type().Elem())
	into.Set(fresh)
	return readValue(fresh.Elem(), value, path)
}

// readSlice names the first element that does not fit, so that a long list of wrong ones is not a long answer.
func readSlice(into reflect.Value, array []byte, path string) (bad []Field, err error) {
	list := reflect.MakeSlice(into.Type(), 0, 0)
	for value := range elements(array) {
		one := reflect.New(into.Type().Elem()).Elem()
		if bad, err = readValue(one, value, path+"["+strconv.Itoa(list.Len())+"]"); err != nil || bad != nil {
			return bad, err
		}
		list = reflect.Append(list, one)
	}
	into.Set(list)
	return nil, nil
}

func readStrings(into reflect.Value, object []byte, path string) (bad []Field) {
	values := map[string]string{}
	for name, value := range members(object) {
		if value[0] != '"' {
			return invalid(join(path, clip(name)))
		}
		values[name] = unquote(value)
	}
	into.Set(reflect.ValueOf(values))
	return nil
}

// setScalar reports whether the value, as it is written, is one of the place's type.
func setScalar(into reflect.Value, value []byte) bool {
	quoted := value[0] == '"'
	switch kind := into.Kind(); {
	case into.Type() == timeType:
		return quoted && setTime(into, unquote(value))
	case kind == reflect.String && quoted:
		into.SetString(unquote(value))
		return true
	case kind == reflect.Bool && (value[0] == 't' || value[0] == 'f'):
		into.SetBool(value[0] == 't')
		return true
	case kind == reflect.Float64 && isNumber(value):
		n, err := strconv.ParseFloat(string(value), 64)
		into.SetFloat(n)
		return err == nil
	case into.CanInt() && isNumber(value):
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || into.OverflowInt(n) {
			return false
		}
		into.SetInt(n)
		return true
	}
	return false
}

func isNumber(value []byte) bool { return value[0] == '-' || '0' <= value[0] && value[0] <= '9' }

// rfc3339 is narrower than time.Parse, which takes one digit for an hour, a comma for the point, and forgets what is finer
// than nanoseconds.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func setTime(into reflect.Value, text string) bool {
	if !rfc3339.MatchString(text) {
		return false
	}
	at, err := time.Parse(time.RFC3339, text)
	into.Set(reflect.ValueOf(at))
	return err == nil
}
