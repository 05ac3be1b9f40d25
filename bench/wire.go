package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// wire is one kept-alive connection to a server. It is cheaper than an http.Client, for the load generator shares its
// cores with what it measures.
type wire struct {
	host  string
	conn  net.Conn
	reads *bufio.Reader
	body  []byte
}

// answerTimeout bounds the wait for one answer.
const answerTimeout = 2 * time.Minute

func dial(host string) (*wire, error) {
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &wire{host: host, conn: conn, reads: bufio.NewReader(conn)}, nil
}

func (w *wire) close() { w.conn.Close() }

// send writes a request and reads the head of its answer.
func (w *wire) send(method, path, body string) (*http.Response, error) {
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, w.host)
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
	if err := w.conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return nil, nil, err
	}
	resp, err := w.send(method, path, body)
	if err != nil {
		return nil, nil, err
	}
	if w.body, err = readAll(w.body[:0], resp.Body); err != nil {
		return nil, nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, w.body)
	}
	return resp.Header, w.body, nil
}

// readAll is io.ReadAll into memory that is there already.
func readAll(b []byte, r io.Reader) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}
