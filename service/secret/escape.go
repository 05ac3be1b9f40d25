package secret

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape undoes the escapes of JSON, Go and their like.
func unescape(dst, text []byte, i int) ([]byte, int) {
	if text[i] != '\\' || i+1 == len(text) {
		return append(dst, text[i]), 1
	}
	switch c := text[i+1]; c {
	case '"', '\'', '\\', '/':
		return append(dst, c), 2
	case 'u':
		return unescapeUTF16(dst, text, i)
	case 'U':
		if n, ok := number(text[i+2:], 8, 16); ok {
			return utf8.AppendRune(dst, rune(n)), 10
		}
	case 'x':
		if n, ok := number(text[i+2:], 2, 16); ok {
			return append(dst, byte(n)), 4
		}
	case '0', '1', '2', '3':
		if n, ok := number(text[i+1:], 3, 8); ok {
			return append(dst, byte(n)), 4
		}
	default:
		if k := bytes.IndexByte([]byte("abfnrtv"), c); k >= 0 {
			return append(dst, "\a\b\f\n\r\t\v"[k]), 2
		}
	}
	return append(dst, '\\'), 1
}

func unescapeUTF16(dst, text []byte, i int) ([]byte, int) {
	first, ok := number(text[i+2:], 4, 16)
	if !ok {
		return append(dst, '\\'), 1
	}
	if rest := text[i+6:]; utf16.IsSurrogate(rune(first)) && bytes.HasPrefix(rest, []byte(`\u`)) {
		if second, ok := number(rest[2:], 4, 16); ok {
			if r := utf16.DecodeRune(rune(first), rune(second)); r != utf8.RuneError {
				return utf8.AppendRune(dst, r), 12
			}
		}
	}
	return utf8.AppendRune(dst, rune(first)), 6
}

// unpercent undoes the escapes of URLs.
func unpercent(dst, text []byte, i int) ([]byte, int) {
	if text[i] == '%' {
		if n, ok := number(text[i+1:], 2, 16); ok {
			return append(dst, byte(n)), 3
		}
	}
	return append(dst, text[i]), 1
}

// unplus is unpercent as in a query, where plus stands for a space.
func unplus(dst, text []byte, i int) ([]byte, int) {
	if text[i] == '+' {
		return append(dst, ' '), 1
	}
	return unpercent(dst, text, i)
}

// unwrap joins lines, as tools break base64 into them.
func unwrap(dst, text []byte, i int) ([]byte, int) {
	if text[i] == '\n' || text[i] == '\r' {
		return dst, 1
	}
	return append(dst, text[i]), 1
}

// number reads digits, exactly so many.
func number(text []byte, digits, base int) (n uint32, ok bool) {
	if len(text) < digits {
		return 0, false
	}
	for _, c := range text[:digits] {
		d := 16
		switch {
		case isDigit(c):
			d = int(c - '0')
		case 'a' <= c && c <= 'f':
			d = int(c-'a') + 10
		case 'A' <= c && c <= 'F':
			d = int(c-'A') + 10
		}
		if d >= base {
			return 0, false
		}
		n = n*uint32(base) + uint32(d)
	}
	return n, true
}
