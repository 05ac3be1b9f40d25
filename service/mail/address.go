package mail

import (
	"errors"
	"net/mail"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainAddress is an address that needs no quotes, comments or encoding anywhere: in a header, an envelope or a text.
var plainAddress = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*" +
	`@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)

// checkAddress never repeats the address: it is somebody's.
func checkAddress(address string) error {
	if len(address) > maxAddress || !plainAddress.MatchString(address) {
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
	return text != "" && len(text) <= 200 && utf8.ValidString(text) && !strings.ContainsFunc(text, isHidden)
}

func isHidden(char rune) bool { return !unicode.IsPrint(char) }

// printable is a text that people chose, as it may stand in a mail to them: on one line, and not long.
func printable(text string) string { return clipped(text, 64) }

// clipped is such a text of at most that many characters.
func clipped(text string, most int) string {
	line := []rune(text)
	line = line[:min(len(line), most)]
	for i, char := range line {
		if isHidden(char) {
			line[i] = '·'
		}
	}
	return string(line)
}

// linkless is a name that its reader did not choose, and whose giver the reader may not know, without what a mail program
// would take for an address and make a link of: such a name could send strangers anywhere.
func linkless(name string) string {
	chars := []rune(name)
	for i, char := range chars[:max(0, len(chars)-1)] {
		if strings.ContainsRune(".:/@", char) && !unicode.IsSpace(chars[i+1]) {
			chars[i] = '·'
		}
	}
	return string(chars)
}
