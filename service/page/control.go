package page

import (
	"fmt"
	"strconv"
	"strings"
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
	var names []string
	if c.Error != "" {
		names = append(names, c.ID+"-error")
	}
	if c.Hint != "" {
		names = append(names, c.ID+"-hint")
	}
	return strings.Join(names, " ")
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
	texts := map[string]*string{
		"id": &c.ID, "type": &c.Type, "value": &c.Value, "autocomplete": &c.Autocomplete, "hint": &c.Hint, "href": &c.Href, "link": &c.LinkText,
	}
	if text, is := texts[key]; is {
		*text = value
		return nil
	}
	flag, is := map[string]*bool{"optional": &c.Optional, "readonly": &c.ReadOnly, "plain": &c.Plain}[key]
	if !is {
		return fmt.Errorf("unknown key %s", key)
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	*flag = on
	return nil
}
