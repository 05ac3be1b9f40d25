package github

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// object is a JSON object whose members are found by their exact names. encoding/json would let "ID" and "id" be the same
// field, and the last of two win: there must be one reading of an identity.
type object map[string]json.RawMessage

// parseObject reads one object and nothing after it; a name that stands twice is refused.
func parseObject(body []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	o := object{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, value := t.(string), json.RawMessage(nil)
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if _, twice := o[name]; twice {
			return nil, errors.New("a name stands twice")
		}
		o[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return o, nil
}

// text is a member that is a string; empty for any other.
func (o object) text(name string) string {
	var s *string
	if json.Unmarshal(o[name], &s) != nil || s == nil {
		return ""
	}
	return *s
}

// yes reports whether a member is true and nothing else.
func (o object) yes(name string) bool { return string(o[name]) == "true" }
