package memory

import "bytes"

// What JSON takes when it is taken apart into Go values. Measured (json_test.go), and rounded up.
const (
	elementBytes = 32  // of a list
	listBytes    = 40  // a list itself
	memberBytes  = 72  // of an object
	objectBytes  = 304 // an object that has members
	emptyBytes   = 48  // one that has none
	stringBytes  = 16  // beside the text
)

// Decoded is what a JSON text takes when it is taken apart into Go values: a quarter more than what is left in the end, for
// lists that grow.
func Decoded(text []byte) int64 {
	n := int64(len(text))
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
			n += stringBytes
		case '{':
			if n += emptyBytes; !isEmpty(text[i+1:]) {
				n += objectBytes - emptyBytes
			}
		case '[':
			n += listBytes
		case ',':
			n += elementBytes
		case ':':
			n += memberBytes - elementBytes
		}
	}
	return n + n/4
}

// isEmpty reports whether a list or an object ends where it began.
func isEmpty(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && (rest[0] == '}' || rest[0] == ']')
}

// stringEnd is where the string ends that begins at an index.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// Shape is how many values a JSON text holds, and how deep they lie. It reads through the text and keeps nothing.
func Shape(text []byte) (values, depth int) {
	values = 1
	for i, at := 0, 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
		case '{', '[':
			if at++; !isEmpty(text[i+1:]) {
				values++
			}
			depth = max(depth, at)
		case '}', ']':
			at--
		case ',':
			values++
		}
	}
	return values, depth
}
