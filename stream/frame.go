package stream

import (
	"bytes"
	"encoding/json"
)

// A page of a stream read holds at most PageItems items or PageBytes of encoded body, and at least one whole item.
const (
	PageItems = 1000
	PageBytes = 1 << 20
)

// Frame is a page as encoded bytes, made once and shared by all its readers: nobody may change them.
type Frame struct {
	After  Offset // where the page begins: strictly after this
	Next   Offset // resume here
	Tail   bool   // nothing lies behind it at the moment of reading
	Closed bool   // and nothing ever will
	Items  int    // chunks or events in it; a page of hidden batches has none
	Head   Offset // the stream's last offset at that moment

	data []byte // a whole SSE data frame; the JSON array is a slice of it
}

var (
	dataOpen  = []byte("event: data\ndata:")
	dataClose = []byte("\n\n")
	emptyJSON = []byte("[]")
	heartbeat = []byte(": heartbeat\n\n")
)

// NewFrame encodes items, each one JSON value without a line break, as the page between two offsets.
func NewFrame(after, next Offset, items [][]byte) Frame {
	f := Frame{After: after, Next: next, Items: len(items)}
	if len(items) == 0 {
		return f
	}
	size := len(dataOpen) + len(dataClose) + 1 + len(items)
	for _, item := range items {
		size += len(item)
	}
	b := append(make([]byte, 0, size), dataOpen...)
	b = append(b, '[')
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	f.data = append(append(b, ']'), dataClose...)
	return f
}

// Join is the page of frames that follow one another, in which every offset is an item; false if they are more than a page.
func Join(frames []Frame) (Frame, bool) {
	first, last := frames[0], frames[len(frames)-1]
	f := Frame{After: first.After, Next: last.Next}
	size := 2
	for _, part := range frames {
		f.Items += part.Items
		size += max(0, len(part.JSON())-1)
	}
	if last.Next-first.After > PageItems || size > PageBytes {
		return first, false
	}
	if f.Items == 0 {
		return f, true
	}
	b := append(make([]byte, 0, size+len(dataOpen)+len(dataClose)), dataOpen...)
	for _, part := range frames {
		if part.Items > 0 {
			b = append(append(b, ','), part.JSON()[1:len(part.JSON())-1]...)
		}
	}
	b[len(dataOpen)] = '['
	f.data = append(append(b, ']'), dataClose...)
	return f, true
}

// At is the page as it is read while the stream has a head and is closed, or not yet.
func (f Frame) At(head Offset, closed bool) Frame {
	f.Head, f.Tail = head, f.Next >= head
	f.Closed = f.Tail && closed
	return f
}

// JSON is the page as the body of a catch-up or long-poll answer.
func (f Frame) JSON() []byte {
	if f.data == nil {
		return emptyJSON
	}
	return f.data[len(dataOpen) : len(f.data)-len(dataClose)]
}

// SSE is the page as a data frame, nothing where it has no items.
func (f Frame) SSE() []byte { return f.data }

// Heartbeat is the comment that keeps an idle SSE connection alive.
func Heartbeat() []byte { return heartbeat }

// Control is what follows every page on an SSE connection; a client keeps a page only when its control has arrived.
type Control struct {
	NextOffset string `json:"streamNextOffset"`
	Cursor     string `json:"streamCursor,omitempty"`
	UpToDate   bool   `json:"upToDate,omitempty"`
	Closed     bool   `json:"streamClosed,omitempty"`
}

// AppendControl appends a control frame. A closed stream has neither cursor nor up-to-date mark.
func AppendControl(dst []byte, next Offset, cursor string, upToDate, closed bool) []byte {
	dst = append(dst, "event: control\ndata:{\"streamNextOffset\":\""...)
	dst = next.append(dst)
	dst = append(dst, '"')
	if closed {
		return append(dst, ",\"streamClosed\":true}\n\n"...)
	}
	if cursor != "" {
		dst = append(dst, ",\"streamCursor\":\""...)
		dst = append(append(dst, cursor...), '"')
	}
	if upToDate {
		dst = append(dst, ",\"upToDate\":true"...)
	}
	return append(dst, "}\n\n"...)
}

// ParseControl reads the data of a control frame.
func ParseControl(data []byte) (Control, error) {
	var c Control
	err := json.Unmarshal(bytes.TrimSpace(data), &c)
	return c, err
}
