package client

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Prompt is a message for an agent. A Type makes it a signal; else it is what a user says.
type Prompt struct {
	Body        string
	Attachments []Image    // of a user
	Type        string     // of a signal
	TagName     string     // of a signal. Defaults to signal
	Attributes  Attributes // of a signal
	// Key makes a repeated prompt one, for seven days. Defaults to one of its own for every Send.
	Key string
}

// Image is an image that is sent along. Its bytes are not encoded.
type Image struct {
	MediaType string
	Filename  string
	Data      []byte
}

// delivery is a prompt as the wire has it.
type delivery struct {
	Kind        string           `json:"kind"`
	Type        string           `json:"type,omitempty"`
	Body        string           `json:"body"`
	TagName     string           `json:"tagName,omitempty"`
	Attributes  Attributes       `json:"attributes,omitzero"`
	Attachments []deliveredImage `json:"attachments,omitempty"`
}

type deliveredImage struct {
	Type     string `json:"type"`
	Data     []byte `json:"data"` // JSON has it in base64
	MimeType string `json:"mimeType"`
	Filename string `json:"filename,omitempty"`
}

func (p Prompt) delivery() delivery {
	if p.Type != "" {
		return delivery{Kind: "signal", Type: p.Type, Body: p.Body, TagName: p.TagName, Attributes: p.Attributes}
	}
	d := delivery{Kind: "user", Body: p.Body}
	for _, image := range p.Attachments {
		data := image.Data
		if data == nil {
			data = []byte{} // which is a text, and nil would be null
		}
		d.Attachments = append(d.Attachments, deliveredImage{Type: "image", Data: data, MimeType: image.MediaType, Filename: image.Filename})
	}
	return d
}

// Attribute is one pair of a signal.
type Attribute struct{ Name, Value string }

// Attributes keep their order. As JSON they are an object.
type Attributes []Attribute

// Get is the value of a name, empty where there is none.
func (a Attributes) Get(name string) string {
	for _, pair := range a {
		if pair.Name == name {
			return pair.Value
		}
	}
	return ""
}

// MarshalJSON prints the pairs as an object.
func (a Attributes) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, pair := range a {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := encode(pair.Name)
		if err != nil {
			return nil, err
		}
		value, err := encode(pair.Value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

var errNoPairs = errors.New("attributes are no object of strings")

// UnmarshalJSON reads an object of strings in its order; of a repeated name the last value counts.
func (a *Attributes) UnmarshalJSON(data []byte) error {
	*a = nil
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil || open == nil {
		return err
	}
	if open != json.Delim('{') {
		return errNoPairs
	}
	*a = Attributes{}
	places := map[string]int{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		value, err := dec.Token()
		if err != nil {
			return err
		}
		text, ok := value.(string)
		if !ok {
			return errNoPairs
		}
		a.set(places, name.(string), text)
	}
	return nil
}

func (a *Attributes) set(places map[string]int, name, value string) {
	if i, ok := places[name]; ok {
		(*a)[i].Value = value
		return
	}
	places[name] = len(*a)
	*a = append(*a, Attribute{name, value})
}
