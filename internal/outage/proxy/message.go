package proxy

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// messages reads one side's messages and writes what becomes of them. Bodies that nobody looks at go through unread.
type messages struct {
	from *bufio.Reader
	to   *bufio.Writer
}

// header reads the type of the next message and the length of its body. Before it waits for bytes it sends what was written.
func (m messages) header() (kind byte, length int, err error) {
	if m.from.Buffered() < 5 {
		if err := m.to.Flush(); err != nil {
			return 0, 0, err
		}
	}
	var head [5]byte
	if _, err := io.ReadFull(m.from, head[:]); err != nil {
		return 0, 0, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size < 4 || size > 1<<30 {
		return 0, 0, errors.New("not a message")
	}
	return head[0], int(size) - 4, nil
}

func (m messages) body(length int) ([]byte, error) {
	body := make([]byte, length)
	_, err := io.ReadFull(m.from, body)
	return body, err
}

// write passes a message on.
func (m messages) write(kind byte, body []byte) error {
	if err := m.head(kind, len(body)); err != nil {
		return err
	}
	_, err := m.to.Write(body)
	return err
}

// pass passes a message on whose body is still to come.
func (m messages) pass(kind byte, length int) error {
	if err := m.head(kind, length); err != nil {
		return err
	}
	_, err := io.CopyN(m.to, m.from, int64(length))
	return err
}

func (m messages) head(kind byte, length int) error {
	var head [5]byte
	head[0] = kind
	binary.BigEndian.PutUint32(head[1:], uint32(length+4))
	_, err := m.to.Write(head[:])
	return err
}

// Messages of clients.
const (
	sentQuery   = 'Q'
	sentParse   = 'P'
	sentBind    = 'B'
	sentExecute = 'E'
	sentSync    = 'S'
)

// Messages of servers.
const (
	toldError  = 'E'
	toldNotice = 'N'
	toldReady  = 'Z'
)

// intent is what a client is about to do: it is known which statements its transaction ran when it asks for the commit.
type intent struct {
	prepared map[string]string // statement name → text
	portals  map[string]string // portal → text
	ran      []string          // since the transaction began
	asked    bool              // the message before ended a question
}

func cString(b []byte) (text string, rest []byte) {
	before, after, _ := bytes.Cut(b, []byte{0})
	return string(before), after
}

// hear follows one message of the client, and reports whether the server commits when it gets it. status is what the server
// said last of its transaction.
func (in *intent) hear(kind byte, body []byte, status byte) (commits bool) {
	if in.asked && status == idle {
		in.ran = nil
	}
	in.asked = kind == sentQuery || kind == sentSync
	switch kind {
	case sentParse:
		name, rest := cString(body)
		in.prepared[name], _ = cString(rest)
	case sentBind:
		portal, rest := cString(body)
		name, _ := cString(rest)
		in.portals[portal] = in.prepared[name]
	case sentExecute:
		portal, _ := cString(body)
		in.ran = append(in.ran, in.portals[portal])
	case sentQuery:
		text, _ := cString(body)
		in.ran = append(in.ran, text)
		return ends(text) || status == idle && !begins(text)
	case sentSync:
		return len(in.ran) > 0 && (ends(in.ran[len(in.ran)-1]) || status == idle && !begins(in.ran[0]))
	}
	return false
}

func ends(statement string) bool { return startsWith(statement, "commit", "end") }

func begins(statement string) bool { return startsWith(statement, "begin", "start transaction") }

func startsWith(statement string, words ...string) bool {
	text := strings.ToLower(strings.TrimSpace(statement))
	return slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(text, word) })
}

// fromClient passes on what the client sends until it ends.
func (c *Conn) fromClient(r *bufio.Reader, startup []byte) error {
	m := messages{from: r, to: bufio.NewWriterSize(gate{c, Client, c.server}, 64<<10)}
	if _, err := m.to.Write(startup); err != nil {
		return err
	}
	in := intent{prepared: map[string]string{}, portals: map[string]string{}}
	for {
		kind, length, err := m.header()
		if err != nil {
			return errors.Join(err, m.to.Flush())
		}
		// All but the head of what is bound may be long and is not looked at.
		if kind == sentBind && length > 1<<12 || length > 1<<20 {
			if err := c.passLong(m, &in, kind, length); err != nil {
				return err
			}
			continue
		}
		body, err := m.body(length)
		if err != nil {
			return err
		}
		if in.hear(kind, body, byte(c.status.Load())) {
			if c.proxy.takeLoss(in.ran) {
				c.withhold.Store(true)
			}
			in.ran = nil
		}
		if err := m.write(kind, body); err != nil {
			return err
		}
	}
}

// passLong hears the head of a long message and passes it on.
func (c *Conn) passLong(m messages, in *intent, kind byte, length int) error {
	head, err := m.from.Peek(min(length, 1<<10))
	if err != nil {
		return err
	}
	in.hear(kind, bytes.Clone(head), byte(c.status.Load()))
	return m.pass(kind, length)
}

// fromServer passes on what the server sends until it ends.
func (c *Conn) fromServer() error {
	m := messages{from: bufio.NewReaderSize(c.server, 64<<10), to: bufio.NewWriterSize(gate{c, Server, c.client}, 64<<10)}
	for {
		kind, length, err := m.header()
		if err != nil {
			return errors.Join(err, m.to.Flush())
		}
		looked := kind == toldError || kind == toldNotice || kind == toldReady
		if !looked && !c.withhold.Load() {
			if err := m.pass(kind, length); err != nil {
				return err
			}
			continue
		}
		body, err := m.body(length)
		if err != nil {
			return err
		}
		if c.withhold.Load() {
			if kind == toldReady {
				c.proxy.lost.Add(1)
				return errors.New("the connection was cut")
			}
			continue
		}
		if kind == toldReady && len(body) == 1 {
			c.status.Store(int32(body[0]))
		} else if rule, _ := c.current(); rule.Foreign {
			body = translated(body)
		}
		if err := m.write(kind, body); err != nil {
			return err
		}
	}
}

// severities in German, as PostgreSQL's own catalogue has them.
var severities = map[string]string{
	"ERROR": "FEHLER", "FATAL": "FATAL", "PANIC": "PANIK", "WARNING": "WARNUNG", "NOTICE": "HINWEIS", "DEBUG": "DEBUG",
	"INFO": "INFO", "LOG": "LOG",
}

// translated is an error or a notice whose texts for people are in another language. What is said to machines, the code and
// the severity that is never translated, stays.
func translated(body []byte) (out []byte) {
	code := ""
	for field, text := range fields(body) {
		if field == 'C' {
			code = text
		}
	}
	for field, text := range fields(body) {
		switch field {
		case 'S':
			text = cmp.Or(severities[text], text)
		case 'M', 'D', 'H', 'W':
			text = fmt.Sprintf("die Meldung zu %s steht hier in einer anderen Sprache", code)
		}
		out = append(append(append(out, field), text...), 0)
	}
	return append(out, 0)
}

// fields are those of an error or a notice, each with its text.
func fields(body []byte) iter.Seq2[byte, string] {
	return func(yield func(byte, string) bool) {
		for rest := body; len(rest) > 1 && rest[0] != 0; {
			field := rest[0]
			var text string
			if text, rest = cString(rest[1:]); !yield(field, text) {
				return
			}
		}
	}
}
