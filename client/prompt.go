package client

// Prompt is a message for an agent. A Type makes it a signal; else it is what a user says.
type Prompt struct {
	Body        string
	Attachments []Image // of a user
	Type        string  // of a signal
	TagName     string  // of a signal. Defaults to signal
	Attributes  Attributes
	// Key makes a repeated prompt one, for seven days. Defaults to one of its own for every Send.
	Key string
}

// Image is an image that is sent along. Its bytes are not encoded.
type Image struct {
	MediaType string
	Filename  string
	Data      []byte
}

// Attribute is one pair of a signal.
type Attribute struct{ Name, Value string }

// Attributes keep their order. As JSON they are an object.
type Attributes []Attribute

// Get is the value of a name, empty where there is none.
func (a Attributes) Get(name string) string { panic("not yet") }

// MarshalJSON prints the pairs as an object.
func (a Attributes) MarshalJSON() ([]byte, error) { panic("not yet") }

// UnmarshalJSON reads an object of strings in its order; of a repeated name the last value counts.
func (a *Attributes) UnmarshalJSON(data []byte) error { panic("not yet") }
