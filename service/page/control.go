package page

import (
	"fmt"
	"strconv"
)

// control is an input with its label, its hint and what is wrong with it.
type control struct {
	ID, Name, Label, Type, Value     string
	Autocomplete, Hint, Error        string
	Href, LinkText                   string // a link beside the label
	Optional, ReadOnly, Focus, Plain bool
}

// DescribedBy names the elements that explain the input.
func (c control) DescribedBy() string {
	switch {
	case c.Error != "" && c.Hint != "":
		return c.ID + "-error " + c.ID + "-hint"
	case c.Error != "":
		return c.ID + "-error"
	case c.Hint != "":
		return c.ID + "-hint"
	}
	return ""
}

// newControl is the template function "control": the field of a form, its label, and pairs of what else is known of it.
func newControl(f frame, name, label string, pairs ...string) (control, error) {
	c := control{ID: name, Name: name, Label: label, Type: "text", Error: f.Form.wrong(name), Focus: f.Focus(name)}
	if len(pairs)%2 != 0 {
		return c, fmt.Errorf("control %s: a key without a value", name)
	}
	for i := 0; i < len(pairs); i += 2 {
		if err := c.set(pairs[i], pairs[i+1]); err != nil {
			return c, fmt.Errorf("control %s: %w", name, err)
		}
	}
	return c, nil
}

func (c *control) set(key, value string) error {
	switch key {
	case "id":
		c.ID = value
	case "type":
		c.Type = value
	case "value":
		c.Value = value
	case "autocomplete":
		c.Autocomplete = value
	case "hint":
		c.Hint = value
	case "href":
		c.Href = value
	case "link":
		c.LinkText = value
	default:
		return c.flag(key, value)
	}
	return nil
}

func (c *control) flag(key, value string) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	switch key {
	case "optional":
		c.Optional = on
	case "readonly":
		c.ReadOnly = on
	case "plain":
		c.Plain = on
	default:
		return fmt.Errorf("unknown key %s", key)
	}
	return nil
}
