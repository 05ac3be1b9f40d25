package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// object is a JSON object as a service sees it before it trusts it.
type object map[string]any

func (o object) text(name string) string {
	s, _ := o[name].(string)
	return s
}

func (o object) number(name string) float64 {
	n, _ := o[name].(float64)
	return n
}

func (o object) object(name string) object {
	v, _ := o[name].(map[string]any)
	return v
}

// objects is a list of objects; what is none is nil in it.
func (o object) objects(name string) []object {
	list, _ := o[name].([]any)
	all := make([]object, len(list))
	for i, v := range list {
		all[i], _ = v.(map[string]any)
	}
	return all
}

// only refuses fields that are not named.
func (o object) only(names ...string) error {
	for name := range o {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%s: unknown field", name)
		}
	}
	return nil
}

// needs refuses an object that lacks a field.
func (o object) needs(names ...string) error {
	for _, name := range names {
		if v, ok := o[name]; !ok || v == "" {
			return fmt.Errorf("%s: field required", name)
		}
	}
	return nil
}

// readBody is the body of a POST of JSON.
func readBody(r *http.Request, body []byte) (object, error) {
	if r.Method != http.MethodPost {
		return nil, fmt.Errorf("method %s not allowed", r.Method)
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return nil, fmt.Errorf("content type %q is not JSON", r.Header.Get("Content-Type"))
	}
	var o object
	if err := json.Unmarshal(body, &o); err != nil || o == nil {
		return nil, fmt.Errorf("body is not a JSON object")
	}
	return o, nil
}

// isObject reports whether a text is a JSON object.
func isObject(text string) bool {
	var o map[string]any
	return json.Unmarshal([]byte(text), &o) == nil && o != nil
}

// frame is a server-sent event.
func frame(name string, v any) string {
	data := "data: " + encode(v) + "\n\n"
	if name == "" {
		return data
	}
	return "event: " + name + "\n" + data
}

// pieces cuts arguments as services stream them: small, and anywhere.
func pieces(arguments []byte) []string {
	var all []string
	for part := range slices.Chunk([]rune(string(arguments)), 3) {
		all = append(all, string(part))
	}
	return all
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
