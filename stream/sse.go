package stream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// Event is one server-sent event: its name and its data lines joined.
type Event struct {
	Name string
	Data []byte
}

// ErrEventTooLarge tells that an event passes the reader's limit.
var ErrEventTooLarge = errors.New("server-sent event too large")

// maxEvent bounds one event: a page and room for one item that passes it.
const maxEvent = 96 << 20

// Events reads server-sent events until the reader ends. Comments are passed over, and an event that the end cuts off is
// not yielded.
func Events(r io.Reader) iter.Seq2[Event, error] { return EventsWithin(r, maxEvent) }

// EventsWithin is Events of which none may have more bytes than most, nor a line of one.
func EventsWithin(r io.Reader, most int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, min(4096, most)), most)
		lines.Split(new(lineSplit).next)
		var e Event
		var seen bool
		for lines.Scan() {
			line := lines.Bytes()
			if len(line) == 0 {
				if seen && !yield(e, nil) {
					return
				}
				e, seen = Event{}, false
				continue
			}
			field, value, _ := bytes.Cut(line, colon)
			value = bytes.TrimPrefix(value, space)
			switch string(field) {
			case "event":
				e.Name = string(value)
			case "data":
				if len(e.Data)+len(value) >= most {
					yield(Event{}, ErrEventTooLarge)
					return
				}
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

var colon, space = []byte(":"), []byte(" ")

// lineSplit splits at LF, CR or CRLF, the three line ends of the format. A line that the end cuts off is dropped. It is asked
// again whenever more has come, and looks at no byte twice: a long line may come in many small parts.
type lineSplit struct {
	looked int // bytes of the line in which there is no end
}

func (s *lineSplit) next(data []byte, atEOF bool) (advance int, token []byte, err error) {
	for i := s.looked; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\n':
			return s.cut(data, i, 1)
		case c == '\r' && i+1 < len(data):
			if data[i+1] == '\n' {
				return s.cut(data, i, 2)
			}
			return s.cut(data, i, 1)
		case c == '\r' && atEOF:
			return s.cut(data, i, 1)
		case c == '\r':
			s.looked = i
			return 0, nil, nil
		}
	}
	if s.looked = len(data); atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

// cut ends the line at an index, where its end has so many bytes.
func (s *lineSplit) cut(data []byte, at, end int) (advance int, token []byte, err error) {
	s.looked = 0
	return at + end, data[:at], nil
}
