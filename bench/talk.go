package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// talker is the agent that is prompted. Its model says what the prompt asks for, at once.
const talker = "talker"

// usualPrompt asks for a reply in twenty pieces.
const usualPrompt = "n=20"

// Prompted is the server's answer to a prompt.
type Prompted struct {
	Offset       string `json:"offset"`
	SubmissionID string `json:"submissionId"`
}

func instancePath(id string) string { return "/agents/" + talker + "/" + id }

// updatesPath is where what comes behind an offset is followed.
func updatesPath(id, offset string) string {
	return instancePath(id) + "?view=updates&live=sse&offset=" + offset
}

// prompt sends a message to an instance, and returns when it is admitted.
func (w *wire) prompt(id, text string) (p Prompted, err error) {
	_, body, err := w.ask(http.MethodPost, instancePath(id), fmt.Sprintf(`{"kind":"user","body":%q}`, text))
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(body, &p)
}

// updates is one SSE connection to an instance.
type updates struct {
	*reader
	lines *bufio.Reader
}

// openUpdates connects and reads the head of the answer.
func openUpdates(to, id, offset string) (*updates, error) {
	r, err := openReader(to, updatesPath(id, offset))
	if err != nil {
		return nil, err
	}
	if err := r.wire.conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		r.wire.close()
		return nil, err
	}
	return &updates{reader: r, lines: bufio.NewReaderSize(r.body, 4<<10)}, nil
}

func (u *updates) close() { u.wire.close() }

// until reads lines up to the first that holds a text. Those of data frames are shown to see, unless that is nil.
func (u *updates) until(text string, see func(line []byte)) error {
	for {
		line, err := u.lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		if see != nil && bytes.HasPrefix(line, []byte("data:[")) {
			see(line)
		}
		if bytes.Contains(line, []byte(text)) {
			return nil
		}
	}
}

// The texts that lines are awaited for.
const (
	saysControl = `"streamNextOffset"`
	saysSettled = `"type":"submission-settled"`
)

// settlements hears which submissions have settled.
type settlements struct {
	resp *http.Response
	done chan struct{}

	mu   sync.Mutex
	open map[string]chan struct{} // closed when the submission settles, whoever named it first
}

// hearSettlements listens to a server until it is closed. It may be the only one.
func hearSettlements(ctx context.Context, s *Server) (*settlements, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Control+"/settlements", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	h := &settlements{resp: resp, done: make(chan struct{}), open: map[string]chan struct{}{}}
	go func() {
		defer close(h.done)
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			close(h.of(lines.Text()))
		}
	}()
	return h, nil
}

func (h *settlements) close() {
	h.resp.Body.Close()
	<-h.done
}

func (h *settlements) of(submission string) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open[submission] == nil {
		h.open[submission] = make(chan struct{})
	}
	return h.open[submission]
}

var errUnsettled = errors.New("a submission does not settle")

// wait returns when the submission has settled.
func (h *settlements) wait(submission string) error {
	late := time.NewTimer(answerTimeout)
	defer late.Stop()
	select {
	case <-h.of(submission):
	case <-h.done:
		return errUnsettled
	case <-late.C:
		return errUnsettled
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, submission)
	return nil
}
