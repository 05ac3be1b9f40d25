package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errRingForm hides what the parser says: its errors quote what it read.
var errRingForm = errors.New(`key ring is not of the form {"active":"kid","keys":{"kid":"base64"}}`)

// ParseRing reads a ring from its JSON, {"active":"k2","keys":{"k1":"base64 of 32 bytes",…}}. It is strict: a member
// that is unknown or stands twice is an error, for encoding/json would silently take the last of two keys.
func ParseRing(text []byte) (*Ring, error) {
	p := ringParser{json.NewDecoder(bytes.NewReader(text))}
	var active *string
	var keys map[string]Secret
	err := p.members(func(name string) (err error) {
		switch {
		case name == "active" && active == nil:
			active, err = p.text()
		case name == "keys" && keys == nil:
			keys, err = p.keys()
		default:
			err = errRingForm
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := p.Token(); err != io.EOF || active == nil || keys == nil {
		return nil, errRingForm
	}
	return makeRing(*active, keys)
}

// ringParser reads tokens, because only they show a name that stands twice.
type ringParser struct{ *json.Decoder }

// members calls each for every name of an object; each reads the value.
func (p ringParser) members(each func(name string) error) error {
	if err := p.expect('{'); err != nil {
		return err
	}
	for p.More() {
		name, err := p.text()
		if err != nil {
			return err
		}
		if err := each(*name); err != nil {
			return err
		}
	}
	return p.expect('}')
}

func (p ringParser) keys() (map[string]Secret, error) {
	keys := map[string]Secret{}
	err := p.members(func(kid string) error {
		if !kidForm.MatchString(kid) {
			return errors.New("key ring: a kid is 1 to 64 letters, digits, dots, dashes and underscores")
		}
		if _, twice := keys[kid]; twice {
			return fmt.Errorf("key ring: kid %s stands twice", kid)
		}
		text, err := p.text()
		if err != nil {
			return err
		}
		key, err := base64.StdEncoding.DecodeString(*text)
		// The decoder skips line breaks and ignores loose bits.
		if err != nil || base64.StdEncoding.EncodeToString(key) != *text {
			return fmt.Errorf("key ring: key %s is not base64", kid)
		}
		keys[kid] = Hide(string(key))
		return nil
	})
	return keys, err
}

func (p ringParser) text() (*string, error) {
	token, err := p.Token()
	text, ok := token.(string)
	if err != nil || !ok {
		return nil, errRingForm
	}
	return &text, nil
}

func (p ringParser) expect(d json.Delim) error {
	if token, err := p.Token(); err != nil || token != d {
		return errRingForm
	}
	return nil
}
