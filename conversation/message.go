// Package conversation is the meaning of an agent's stream: the messages that enter it, the records that are its truth, what
// they add up to, what is owed after an interruption, what a model is given, and what a reader is shown. It has no clock and
// no I/O.
package conversation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/stream"
)

// Bounds of a message.
const (
	MaxImage          = 14 << 20 // characters of the base64 text of one image
	MaxAttachments    = 1024
	MaxAttributes     = 256
	MaxAttributeBytes = 64 << 10 // of all names and values
)

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
	places := map[string]int{}
	return eachMember(context.Background(), data, func(name []byte, value json.RawMessage) error {
		text, err := textOf(value)
		if err == nil {
			a.set(places, string(name), string(text))
		}
		return err
	})
}

// set adds a pair, or changes the value of a name whose place is known.
func (a *Attributes) set(places map[string]int, name, value string) {
	if i, ok := places[name]; ok {
		(*a)[i].Value = value
		return
	}
	places[name] = len(*a)
	*a = append(*a, Attribute{name, value})
}

// dropped are names that would change what an object is in other languages.
var dropped = map[string]bool{"__proto__": true, "prototype": true, "constructor": true}

var tagName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// ParseMessage reads a DeliveredMessage from a body that was found to be JSON. Keys are matched exactly, unknown ones are
// dropped, and a null is no value. Image data are decoded here, so that nothing half-read is ever stored. The error is an
// invalid_request fault, or that ctx is over.
func ParseMessage(ctx context.Context, body json.RawMessage) (Message, error) {
	m, err := parseMessage(ctx, body)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return Message{}, err
	}
	return m, nil
}

func noMessage() error { return fault.Invalid("The body is not a message.") }

func parseMessage(ctx context.Context, body json.RawMessage) (m Message, err error) {
	fields, err := members(ctx, body, "kind", "body", "attachments", "type", "tagName", "attributes")
	if err != nil || stringOf(fields["kind"], &m.Kind) != nil || stringOf(fields["body"], &m.Body) != nil {
		return m, noMessage()
	}
	switch m.Kind {
	case KindUser:
		return m, m.parseUser(ctx, fields)
	case KindSignal:
		return m, m.parseSignal(ctx, fields)
	}
	return m, noMessage()
}

func (m *Message) parseUser(ctx context.Context, fields map[string]json.RawMessage) error {
	raw, ok := fields["attachments"]
	if !ok {
		return nil
	}
	err := eachItem(ctx, raw, func(item json.RawMessage) error {
		if len(m.Attachments) == MaxAttachments {
			return tooManyAttachments()
		}
		a, err := parseAttachment(ctx, item)
		m.Attachments = append(m.Attachments, a)
		return err
	})
	if errors.Is(err, errNoList) {
		return fault.Invalid("attachments is not a list.")
	}
	return err
}

func tooManyAttachments() error {
	return fault.Invalid("A message has at most %d attachments.", MaxAttachments)
}

func parseAttachment(ctx context.Context, raw json.RawMessage) (a Attachment, err error) {
	fields, err := members(ctx, raw, "type", "data", "mimeType", "filename")
	if err != nil {
		return a, fault.Invalid("An attachment is not an object.")
	}
	var kind string
	if stringOf(fields["type"], &kind) != nil || kind != "image" {
		return a, fault.Invalid("An attachment is not of type image.")
	}
	data, err := textOf(fields["data"])
	if err != nil || stringOf(fields["mimeType"], &a.MimeType) != nil {
		return a, fault.Invalid("An attachment lacks data or mimeType.")
	}
	if name, ok := fields["filename"]; ok && stringOf(name, &a.Filename) != nil {
		return a, fault.Invalid("filename is not a string.")
	}
	if len(data) > MaxImage {
		return a, tooLongImage()
	}
	if a.Data, err = decodeBase64(data); err != nil {
		return a, fault.Invalid("Image data is not base64.")
	}
	return a, nil
}

func tooLongImage() error { return fault.Invalid("Image data is longer than %d characters.", MaxImage) }

// decodeBase64 takes the standard alphabet, with white space anywhere and padding or none; unused bits are ignored.
func decodeBase64(text []byte) ([]byte, error) {
	text = withoutSpace(text)
	bare := bytes.TrimRight(text, "=")
	if padding := len(text) - len(bare); padding > 0 && (padding > 2 || len(text)%4 != 0) {
		return nil, base64.CorruptInputError(len(bare))
	}
	data := make([]byte, base64.RawStdEncoding.DecodedLen(len(bare)))
	n, err := base64.RawStdEncoding.Decode(data, bare)
	return data[:n], err
}

// withoutSpace is the text itself where there is no white space in it, as nearly always.
func withoutSpace(text []byte) []byte {
	const white = " \t\n\f\r"
	if !slices.ContainsFunc([]byte(white), func(c byte) bool { return bytes.IndexByte(text, c) >= 0 }) {
		return text
	}
	return slices.DeleteFunc(bytes.Clone(text), func(c byte) bool { return strings.IndexByte(white, c) >= 0 })
}

func (m *Message) parseSignal(ctx context.Context, fields map[string]json.RawMessage) (err error) {
	if stringOf(fields["type"], &m.Type) != nil || m.Type == "" {
		return fault.Invalid("A signal needs a type.")
	}
	if raw, ok := fields["tagName"]; ok {
		if stringOf(raw, &m.TagName) != nil || !tagName.MatchString(m.TagName) {
			return badTagName()
		}
	}
	if raw, ok := fields["attributes"]; ok {
		m.Attributes, err = parseAttributes(ctx, raw)
	}
	return err
}

// parseAttributes counts all that was sent, also what is dropped or said again.
func parseAttributes(ctx context.Context, raw json.RawMessage) (Attributes, error) {
	a, places := Attributes{}, map[string]int{}
	var sent attributeSize
	err := eachMember(ctx, raw, func(name []byte, value json.RawMessage) error {
		text, err := textOf(value)
		if err != nil {
			return err
		}
		if !dropped[string(name)] {
			a.set(places, string(name), string(text))
		}
		return sent.add(len(name) + len(text))
	})
	if errors.Is(err, errNoObject) || errors.Is(err, errNoText) {
		err = fault.Invalid("attributes must be an object of strings.")
	}
	return a, err
}

// attributeSize holds attributes to their bounds.
type attributeSize struct{ keys, bytes int }

func (s *attributeSize) add(n int) error {
	s.keys++
	s.bytes += n
	switch {
	case s.keys > MaxAttributes:
		return fault.Invalid("A signal has at most %d attributes.", MaxAttributes)
	case s.bytes > MaxAttributeBytes:
		return fault.Invalid("The attributes of a signal are longer than %d bytes.", MaxAttributeBytes)
	}
	return nil
}

// Check holds a message that was not parsed to the same rules.
func (m Message) Check() error {
	switch {
	case m.Kind == KindUser:
		return m.checkAttachments()
	case m.Kind != KindSignal:
		return noMessage()
	case m.Type == "":
		return fault.Invalid("A signal needs a type.")
	case m.TagName != "" && !tagName.MatchString(m.TagName):
		return badTagName()
	}
	var size attributeSize
	for _, a := range m.Attributes {
		if err := size.add(len(a.Name) + len(a.Value)); err != nil {
			return err
		}
	}
	return nil
}

func (m Message) checkAttachments() error {
	if len(m.Attachments) > MaxAttachments {
		return tooManyAttachments()
	}
	for _, a := range m.Attachments {
		if base64.RawStdEncoding.EncodedLen(len(a.Data)) > MaxImage {
			return tooLongImage()
		}
	}
	return nil
}

func badTagName() error {
	return fault.Invalid("tagName must be a name: a letter or underscore, then letters, digits, dots, hyphens or underscores.")
}
