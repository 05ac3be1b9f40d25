package stream

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"strings"
)

// Event is one server-sent event: its name and its data lines joined.
type Event struct {
	Name string
	Data []byte
}

// ErrEventTooLarge tells that a line of an event passes the reader's limit.
var ErrEventTooLarge = errors.New("server-sent event too large")

// maxLine bounds one line: a page and room for one item that passes it.
const maxLine = 96 << 20

// Events reads server-sent events until the reader ends. Comments are passed over, and an event that the end cuts off is
// not yielded.
func Events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, 4096), maxLine)
		lines.Split(scanLine)
		var e Event
		var seen bool
		for lines.Scan() {
			line := lines.Text()
			if line == "" {
				if seen && !yield(e, nil) {
					return
				}
				e, seen = Event{}, false
				continue
			}
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "event":
				e.Name = value
			case "data":
				if seen {
					e.Data = append(e.Data, '\n')
				}
				e.Data, seen = append(e.Data, value...), true
			}
		}
		if err := lines.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = ErrEventTooLarge
			}
			yield(Event{}, err)
		}
	}
}

// scanLine splits at LF, CR or CRLF, the three line ends of the format. A line that the end cuts off is dropped.
func scanLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	for i, c := range data {
		switch {
		case c == '\n':
			return i + 1, data[:i], nil
		case c == '\r' && i+1 < len(data):
			if data[i+1] == '\n' {
				return i + 2, data[:i], nil
			}
			return i + 1, data[:i], nil
		case c == '\r' && atEOF:
			return i + 1, data[:i], nil
		case c == '\r':
			return 0, nil, nil
		}
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}
