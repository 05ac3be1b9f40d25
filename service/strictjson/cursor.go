package strictjson

import (
	"bytes"
	"encoding/json"
)

// cursor walks over a text that is known to be valid JSON, from value to value.
type cursor struct {
	text []byte
	at   int
}

// peek is the byte that the next value, or the end of what holds it, begins with.
func (c *cursor) peek() byte {
	for isSpace(c.text[c.at]) {
		c.at++
	}
	return c.text[c.at]
}

// begin enters the array or object that is next.
func (c *cursor) begin() {
	c.peek()
	c.at++
}

// more stands before the next member of an array or object, or leaves it by its end.
func (c *cursor) more(end byte) bool {
	next := c.peek()
	if next == end || next == ',' {
		c.at++
	}
	return next != end
}

// name reads the key of a member, and stands before its value.
func (c *cursor) name() string {
	name := unquote(c.value())
	c.peek()
	c.at++ // the colon
	return name
}

// value passes over the next value, whole, and returns it as it is written.
func (c *cursor) value() []byte {
	c.peek()
	start := c.at
	for depth := 0; ; {
		switch c.peek() {
		case '{', '[':
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		case ',', ':':
			c.at++
		case '"':
			c.passString()
		default:
			c.passWord()
		}
		if depth == 0 {
			return c.text[start:c.at]
		}
	}
}

func (c *cursor) passString() {
	for c.at++; c.text[c.at] != '"'; c.at++ {
		if c.text[c.at] == '\\' {
			c.at++
		}
	}
	c.at++
}

// passWord passes over a number, true, false or null.
func (c *cursor) passWord() {
	for c.at < len(c.text) && !isSpace(c.text[c.at]) && bytes.IndexByte([]byte(",]}"), c.text[c.at]) < 0 {
		c.at++
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// unquote is the text of a JSON string. It loses nothing: what encoding/json would replace was refused before.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	// It is a string: the whole text was found valid.
	_ = json.Unmarshal(quoted, &text)
	return text
}
