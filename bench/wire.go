package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// door is where a runtime's API is found, and what has to be shown there.
type door struct {
	Address string // host and port
	Host    string `json:",omitempty"` // what it is called; empty: as its address
	Base    string `json:",omitempty"` // before every path
	Head    string `json:",omitempty"` // lines of every request's head
	Agent   string `json:",omitempty"` // that is prompted; empty: talker
}

// host is that of an address with a scheme.
func host(address string) string {
	_, host, _ := strings.Cut(address, "://")
	return host
}

// wire is one kept-alive connection to a server. It is cheaper than an http.Client, for the load generator shares its
// cores with what it measures.
type wire struct {
	door
	conn  net.Conn
	reads *bufio.Reader
	body  bytes.Buffer
}

// answerTimeout bounds the wait for one answer.
const answerTimeout = 2 * time.Minute

func dial(host string) (*wire, error) { return door{Address: host}.dial() }

func (d door) dial() (*wire, error) {
	conn, err := net.Dial("tcp", d.Address)
	if err != nil {
		return nil, err
	}
	return &wire{door: d, conn: conn, reads: bufio.NewReader(conn)}, nil
}

func (w *wire) close() { w.conn.Close() }

// dialAll makes a connection for each of so many writers; what it returns closes them.
func dialAll(d door, n int) (all []*wire, closeAll func(), err error) {
	closeAll = func() {
		for _, w := range all {
			w.close()
		}
	}
	for range n {
		w, err := d.dial()
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		all = append(all, w)
	}
	return all, closeAll, nil
}

// begin writes a request and reads the head of its answer. The whole of it must come before a deadline.
func (w *wire) begin(method, path, body string) (*http.Response, error) {
	if err := w.conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return nil, err
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s HTTP/1.1\r\nHost: %s\r\n%s", method, w.Base+path, cmp.Or(w.Host, w.Address), w.Head)
	if body != "" {
		fmt.Fprintf(&s, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	} else if method == http.MethodPost {
		s.WriteString("Content-Length: 0\r\n")
	}
	s.WriteString("\r\n" + body)
	if _, err := io.WriteString(w.conn, s.String()); err != nil {
		return nil, err
	}
	return http.ReadResponse(w.reads, nil)
}

// ask sends a request and reads the whole answer, which must have succeeded. Its body is good until the next ask.
func (w *wire) ask(method, path, body string) (http.Header, []byte, error) {
	resp, err := w.begin(method, path, body)
	if err != nil {
		return nil, nil, err
	}
	w.body.Reset()
	if _, err := w.body.ReadFrom(resp.Body); err != nil {
		return nil, nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, w.body.Bytes())
	}
	return resp.Header, w.body.Bytes(), nil
}

// invoke starts a run, and returns its id when it has been admitted, or when it has ended if the path says so.
func invoke(host, path, input string) (string, error) { return door{Address: host}.invoke(path, input) }

func (d door) invoke(path, input string) (string, error) {
	w, err := d.dial()
	if err != nil {
		return "", err
	}
	defer w.close()
	_, raw, err := w.ask(http.MethodPost, "/workflows/"+path, input)
	if err != nil {
		return "", err
	}
	var answer struct {
		RunID string `json:"runId"`
	}
	err = json.Unmarshal(raw, &answer)
	return answer.RunID, err
}

// reader is one SSE connection.
type reader struct {
	*wire
	lines *bufio.Scanner
}

// follow connects, and reads the head of the answer.
func follow(d door, path string) (*reader, error) {
	w, err := d.dial()
	if err != nil {
		return nil, err
	}
	resp, err := w.begin(http.MethodGet, path, "")
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	r := &reader{w, bufio.NewScanner(resp.Body)}
	r.lines.Buffer(nil, 16<<20)
	return r, nil
}

// until shows lines to see, up to the one that it wants no more after.
func (r *reader) until(see func(line []byte) (done bool)) error {
	for r.lines.Scan() {
		if see(r.lines.Bytes()) {
			return nil
		}
	}
	return cmp.Or(r.lines.Err(), io.ErrUnexpectedEOF)
}
