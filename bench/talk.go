package main

import (
	"bufio"
	"bytes"
	"cmp"
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

func (d door) instancePath(id string) string { return "/agents/" + cmp.Or(d.Agent, talker) + "/" + id }

// prompt sends a message to an instance, and returns when it is admitted.
func (w *wire) prompt(id, text string) (p Prompted, err error) {
	_, body, err := w.ask(http.MethodPost, w.instancePath(id), fmt.Sprintf(`{"kind":"user","body":%q}`, text))
	if err == nil {
		err = json.Unmarshal(body, &p)
	}
	return p, err
}

// The texts that lines are awaited for.
const (
	saysControl = `"streamNextOffset"`
	saysSettled = `"type":"submission-settled"`
)

// readUpdates follows an instance behind an offset, on a connection of its own, up to the first line that holds a text. Lines
// are shown to see, unless that is nil.
func readUpdates(d door, id, offset, text string, see func(line []byte)) error {
	r, err := follow(d, d.instancePath(id)+"?view=updates&live=sse&offset="+offset)
	if err != nil {
		return err
	}
	defer r.close()
	return r.until(func(line []byte) bool {
		if see != nil {
			see(line)
		}
		return bytes.Contains(line, []byte(text))
	})
}

// settlements hears which submissions have settled.
type settlements struct {
	resp *http.Response
	done chan struct{}
	open sync.Map // by submission, a chan struct{} that is closed when it settles, whoever named it first
}

// hearSettlements listens to a server until it is closed. It may be the only one.
func hearSettlements(ctx context.Context, s *Server) (*settlements, error) {
	resp, err := s.ask(ctx, "/settlements")
	if err != nil {
		return nil, err
	}
	h := &settlements{resp: resp, done: make(chan struct{})}
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
	settled, _ := h.open.LoadOrStore(submission, make(chan struct{}))
	return settled.(chan struct{})
}

// wait returns when the submission has settled.
func (h *settlements) wait(submission string) error {
	select {
	case <-h.of(submission):
		h.open.Delete(submission)
		return nil
	case <-h.done:
	case <-time.After(answerTimeout):
	}
	return errors.New("a submission does not settle")
}
