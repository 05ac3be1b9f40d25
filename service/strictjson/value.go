package strictjson

import (
	"bytes"
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
	bad  []string
}

// object reads the next value, which is an object, into a struct. bad names what does not fit: the fields in the order they
// are declared in, then unknown keys. path is the name of the object itself.
func (c *cursor) object(into reflect.Value, path string) (bad []string, err error) {
	fields, err := fieldsOf(into.Type())
	if err != nil {
		return nil, err
	}
	reads := make([]read, len(fields))
	var unknown []string
	for c.begin(); c.more('}'); {
		name := c.name()
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			c.value()
			unknown = appendUnknown(unknown, join(path, clip(name)))
			continue
		}
		reads[i].seen = true
		place := into.FieldByIndex(fields[i].index)
		if reads[i].bad, err = c.read(place, join(path, name)); err != nil {
			return nil, err
		}
		if reads[i].bad == nil && !fields[i].any && !writable(place) {
			reads[i].bad = []string{join(path, name)}
		}
	}
	for i, f := range fields {
		if f.required && !reads[i].seen {
			bad = append(bad, join(path, f.name))
		}
		bad = append(bad, reads[i].bad...)
	}
	return append(bad, unknown...), nil
}

func appendUnknown(unknown []string, name string) []string {
	if len(unknown) == maxUnknown {
		return unknown
	}
	return append(unknown, name)
}

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

// read reads the next value, whatever it is, into a place of its own type.
func (c *cursor) read(into reflect.Value, path string) (bad []string, err error) {
	next := c.peek()
	t := into.Type()
	switch {
	case t == rawType:
		into.SetBytes(bytes.Clone(c.value()))
		return nil, nil
	case t.Kind() == reflect.Pointer:
		return c.pointer(into, path)
	case t == stringsMap && next == '{':
		return c.stringsMap(into, path), nil
	case t.Kind() == reflect.Slice && next == '[':
		return c.slice(into, path)
	case t.Kind() == reflect.Struct && t != timeType && next == '{':
		return c.object(into, path)
	}
	if !setScalar(into, c.value()) {
		return []string{path}, nil
	}
	return nil, nil
}

func (c *cursor) pointer(into reflect.Value, path string) (bad []string, err error) {
	if c.peek() == 'n' {
		c.value()
		into.SetZero()
		return nil, nil
	}
	fresh := reflect.New(into.Type().Elem())
	into.Set(fresh)
	return c.read(fresh.Elem(), path)
}

// slice names the first element that does not fit, so that a long list of wrong ones is not a long answer.
func (c *cursor) slice(into reflect.Value, path string) (bad []string, err error) {
	list := reflect.MakeSlice(into.Type(), 0, 0)
	for c.begin(); c.more(']'); {
		if bad != nil {
			c.value()
			continue
		}
		one := reflect.New(into.Type().Elem()).Elem()
		place := path + "[" + strconv.Itoa(list.Len()) + "]"
		if bad, err = c.read(one, place); err != nil {
			return nil, err
		}
		list = reflect.Append(list, one)
	}
	into.Set(list)
	return bad, nil
}

func (c *cursor) stringsMap(into reflect.Value, path string) (bad []string) {
	values := map[string]string{}
	for c.begin(); c.more('}'); {
		name, value := c.name(), c.value()
		if value[0] == '"' {
			values[name] = unquote(value)
		} else if bad == nil {
			bad = []string{join(path, clip(name))}
		}
	}
	into.Set(reflect.ValueOf(values))
	return bad
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
