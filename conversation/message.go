// Package conversation is the meaning of an agent's stream: the messages that enter it, the records that are its truth, what
// they add up to, what is owed after an interruption, what a model is given, and what a reader is shown. It has no clock and
// no I/O.
package conversation

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/stream"
)

// MaxImage is the longest base64 text of one image.
const MaxImage = 14 << 20

// Message is what is delivered to an agent: a chat turn of a user, or a structured signal.
type Message struct {
	Kind        string       // user or signal
	Body        string       // the text
	Attachments []Attachment // of a user
	Type        string       // of a signal
	TagName     string       // of a signal
	Attributes  Attributes   // of a signal
}

// The kinds of messages.
const (
	KindUser   = "user"
	KindSignal = "signal"
)

// Attachment is an image that came with a message.
type Attachment struct {
	MimeType string
	Filename string
	Data     []byte
}

// Attribute is one pair of a signal.
type Attribute struct{ Name, Value string }

// Attributes keep the order in which they were sent.
type Attributes []Attribute

// MarshalJSON prints the pairs as an object.
func (a Attributes) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, pair := range a {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := stream.Encode(pair.Name)
		if err != nil {
			return nil, err
		}
		value, err := stream.Encode(pair.Value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads an object of strings in its order; of a repeated name the last value counts.
func (a *Attributes) UnmarshalJSON(data []byte) error {
	*a = nil
	return eachMember(data, func(name string, raw json.RawMessage) error {
		var value string
		if err := stringOf(raw, &value); err != nil {
			return err
		}
		a.set(name, value)
		return nil
	})
}

func (a *Attributes) set(name, value string) {
	for i := range *a {
		if (*a)[i].Name == name {
			(*a)[i].Value = value
			return
		}
	}
	*a = append(*a, Attribute{name, value})
}

// dropped are names that would change what an object is in other languages.
var dropped = map[string]bool{"__proto__": true, "prototype": true, "constructor": true}

var tagName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// ParseMessage reads a DeliveredMessage. Keys are matched exactly, unknown ones are dropped, and a null is no value. Image
// data are decoded here, so that nothing half-read is ever stored. The error is an invalid_request fault.
func ParseMessage(body json.RawMessage) (Message, error) {
	fields, err := members(body)
	if err != nil {
		return Message{}, fault.Invalid("The body is not a message.")
	}
	m := Message{}
	if stringOf(fields["kind"], &m.Kind) != nil || stringOf(fields["body"], &m.Body) != nil {
		return Message{}, fault.Invalid("The body is not a message.")
	}
	switch m.Kind {
	case KindUser:
		err = m.parseUser(fields)
	case KindSignal:
		err = m.parseSignal(fields)
	default:
		err = fault.Invalid("The body is not a message.")
	}
	if err != nil {
		return Message{}, err
	}
	return m, nil
}

func (m *Message) parseUser(fields map[string]json.RawMessage) error {
	raw, ok := fields["attachments"]
	if !ok {
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return fault.Invalid("attachments is not a list.")
	}
	for _, item := range list {
		a, err := parseAttachment(item)
		if err != nil {
			return err
		}
		m.Attachments = append(m.Attachments, a)
	}
	return nil
}

func parseAttachment(raw json.RawMessage) (Attachment, error) {
	fields, err := members(raw)
	if err != nil {
		return Attachment{}, fault.Invalid("An attachment is not an object.")
	}
	var kind, data string
	var a Attachment
	if stringOf(fields["type"], &kind) != nil || kind != "image" {
		return a, fault.Invalid("An attachment is not of type image.")
	}
	if stringOf(fields["data"], &data) != nil || stringOf(fields["mimeType"], &a.MimeType) != nil {
		return a, fault.Invalid("An attachment lacks data or mimeType.")
	}
	if name, ok := fields["filename"]; ok && stringOf(name, &a.Filename) != nil {
		return a, fault.Invalid("filename is not a string.")
	}
	if len(data) > MaxImage {
		return a, fault.Invalid("Image data is longer than %d characters.", MaxImage)
	}
	if a.Data, err = decodeBase64(data); err != nil {
		return a, fault.Invalid("Image data is not base64.")
	}
	return a, nil
}

// decodeBase64 takes the standard alphabet, with white space anywhere and padding or none; unused bits are ignored.
func decodeBase64(text string) ([]byte, error) {
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n\f\r", r) {
			return -1
		}
		return r
	}, text)
	bare := strings.TrimRight(text, "=")
	if padding := len(text) - len(bare); padding > 0 && (padding > 2 || len(text)%4 != 0) {
		return nil, base64.CorruptInputError(len(bare))
	}
	return base64.RawStdEncoding.DecodeString(bare)
}

func (m *Message) parseSignal(fields map[string]json.RawMessage) error {
	if stringOf(fields["type"], &m.Type) != nil || m.Type == "" {
		return fault.Invalid("A signal needs a type.")
	}
	if raw, ok := fields["tagName"]; ok {
		if stringOf(raw, &m.TagName) != nil || !tagName.MatchString(m.TagName) {
			return badTagName()
		}
	}
	raw, ok := fields["attributes"]
	if !ok {
		return nil
	}
	m.Attributes = Attributes{}
	err := eachMember(raw, func(name string, value json.RawMessage) error {
		var text string
		if err := stringOf(value, &text); err != nil {
			return err
		}
		if !dropped[name] {
			m.Attributes.set(name, text)
		}
		return nil
	})
	if err != nil {
		return fault.Invalid("attributes must be an object of strings.")
	}
	return nil
}

// Check holds a message that was not parsed to the same rules.
func (m Message) Check() error {
	switch {
	case m.Kind == KindUser:
		return nil
	case m.Kind != KindSignal:
		return fault.Invalid("The body is not a message.")
	case m.Type == "":
		return fault.Invalid("A signal needs a type.")
	case m.TagName != "" && !tagName.MatchString(m.TagName):
		return badTagName()
	}
	return nil
}

func badTagName() error {
	return fault.Invalid("tagName must be a name: a letter or underscore, then letters, digits, dots, hyphens or underscores.")
}

// members reads an object by exact keys; of a repeated one the last counts.
func members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	err := eachMember(raw, func(name string, value json.RawMessage) error {
		fields[name] = value
		return nil
	})
	return fields, err
}

// eachMember calls fn for the members of an object in their order.
func eachMember(raw json.RawMessage, fn func(name string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("not an object")
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if err := fn(t.(string), value); err != nil {
			return err
		}
	}
	return nil
}

// stringOf reads a JSON string; anything else, null and absence too, is an error.
func stringOf(raw json.RawMessage, s *string) error {
	if len(raw) == 0 || raw[0] != '"' {
		return fmt.Errorf("not a string")
	}
	return json.Unmarshal(raw, s)
}
