package mail

import (
	"errors"
	"net/mail"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// plainAddress is an address that needs no quotes, comments or encoding anywhere: in a header, an envelope or a text.
var plainAddress = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*" +
	`@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)

// checkAddress never repeats the address: it is somebody's.
func checkAddress(address string) error {
	if len(address) > 254 || !plainAddress.MatchString(address) {
		return errors.New("the recipient is not an address")
	}
	return nil
}

// parseFrom reads who mails come from; the brand is the name of an address without one.
func parseFrom(from, brand string) (*mail.Address, error) {
	parsed, err := mail.ParseAddress(from)
	if err != nil || checkAddress(parsed.Address) != nil {
		return nil, errors.New("the sender must be an address, or NAME <ADDRESS>")
	}
	if parsed.Name == "" {
		parsed.Name = brand
	}
	if !isLine(parsed.Name) {
		return nil, errors.New("the sender's name must be one line of text")
	}
	return parsed, nil
}

// isLine reports whether a text can stand in a subject: one line, and nothing in it that hides or turns what follows.
func isLine(text string) bool {
	if text == "" || len(text) > 200 || !utf8.ValidString(text) {
		return false
	}
	for _, char := range text {
		if !unicode.IsPrint(char) {
			return false
		}
	}
	return true
}

// printable is a text that people chose, as it may stand in a mail to them: on one line, and not long.
func printable(text string) string {
	var line []rune
	for _, char := range text {
		if !unicode.IsPrint(char) {
			char = '·'
		}
		line = append(line, char)
		if len(line) == 64 {
			break
		}
	}
	return string(line)
}
