package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// Print writes a value for machines, as people can read it too. Texts stay as they are: nobody puts them into HTML. What a terminal
// would obey is written with the escapes that JSON has for it.
func Print(w io.Writer, v any) error { return write(w, v, "  ") }

// PrintLine writes a value for machines on a line of its own.
func PrintLine(w io.Writer, v any) error { return write(w, v, "") }

func write(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escaped(b.Bytes()))
	return err
}

// escaped is JSON without characters that a terminal obeys. They stand in texts alone.
func escaped(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if Obeyed(r) || r == utf8.RuneError && size == 1 {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}

// Obeyed reports whether a terminal takes a character for a command, or for the order in which letters are shown. Line breaks and tabs
// are text.
func Obeyed(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ' || r >= 0x7f && r < 0xa0:
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}
