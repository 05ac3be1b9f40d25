package script

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// utf8 is a string as bytes. A half of a pair has become U+FFFD on the way here.
func (c Call) utf8() (any, error) { return toBase64([]byte(c.Args.String(0))), nil }

// text is bytes as a string: bytes, whether to refuse what is no UTF-8, and whether more bytes will come. It answers with the number of
// bytes that belong to what comes, and the text; nil when it refuses.
func (c Call) text() (any, error) {
	data, err := c.Args.Bytes(0)
	if err != nil {
		return nil, err
	}
	rest := 0
	if c.Args.Bool(2) {
		rest = unfinished(data)
		data = data[:len(data)-rest]
	}
	if c.Args.Bool(1) && !utf8.Valid(data) {
		return nil, nil
	}
	return strconv.Itoa(rest) + decodeUTF8(data), nil
}

// decodeUTF8 decodes as the web does: what is wrong becomes U+FFFD, one for each longest part that could have begun a character.
func decodeUTF8(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	var b strings.Builder
	b.Grow(len(data))
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n <= 1 {
			n = max(beginning(data), 1)
		}
		b.WriteRune(r)
		data = data[n:]
	}
	return b.String()
}

// unfinished is how many bytes at the end begin a character whose rest may still come.
func unfinished(data []byte) int {
	for n := min(3, len(data)); n > 0; n-- {
		tail := data[len(data)-n:]
		if utf8.RuneStart(tail[0]) && beginning(tail) == n && !utf8.FullRune(tail) {
			return n
		}
	}
	return 0
}

// beginning is how many bytes at the start could begin a character, and do not end it.
func beginning(data []byte) int {
	need, low, high := 0, byte(0x80), byte(0xbf)
	switch b := data[0]; {
	case b >= 0xc2 && b <= 0xdf:
		need = 2
	case b >= 0xe0 && b <= 0xef:
		need = 3
		if b == 0xe0 {
			low = 0xa0
		}
		if b == 0xed {
			high = 0x9f
		}
	case b >= 0xf0 && b <= 0xf4:
		need = 4
		if b == 0xf0 {
			low = 0x90
		}
		if b == 0xf4 {
			high = 0x8f
		}
	default:
		return 0
	}
	n := 1
	for n < need && n < len(data) && data[n] >= low && data[n] <= high {
		n, low, high = n+1, 0x80, 0xbf
	}
	return n
}
