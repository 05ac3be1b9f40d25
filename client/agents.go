package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
)

// Agents are prompted, and their conversations read. An agent has a name; an instance is one conversation with it, by an id that
// those who prompt it choose.
type Agents struct{ c *Client }

// Admission says that a prompt was taken: it is durable, and will be answered. It can be stored and waited for by another process.
type Admission struct {
	Agent        string `json:"agent"`
	Instance     string `json:"instance"`
	SubmissionID string `json:"submissionId"`
	Offset       string `json:"offset"`             // everything that the prompt brings about comes after it
	StreamURL    string `json:"streamUrl"`          // where the server says that the conversation is
	Replayed     bool   `json:"replayed,omitempty"` // it had been admitted before, with the same key
}

// Send prompts an instance, which begins with its first prompt. A prompt whose answer was lost is sent again with the same
// key, and admitted once.
func (a *Agents) Send(ctx context.Context, agent, instance string, p Prompt) (Admission, error) {
	sent := Admission{Agent: agent, Instance: instance}
	asked, err := a.c.prepare(Request{Path: path("agents", agent, instance), JSON: p.delivery(), Key: p.Key})
	if err != nil {
		return sent, err
	}
	decode := a.c.decodes(&sent)
	err = a.c.ask(ctx, asked, a.c.config.Patience, func(answer *http.Response) *Error {
		sent.Replayed = answer.Header.Get("Idempotency-Replayed") != ""
		if err := decode(answer); err != nil {
			return err
		}
		if sent.SubmissionID == "" || sent.Offset == "" {
			return unexpected(answer, "It names no submission.")
		}
		return nil
	})
	if err != nil {
		return sent, err
	}
	return sent, nil
}

// Follow gives what a prompt brings about, as it comes, and what else happens to the conversation meanwhile. It ends after the
// prompt's settlement.
func (a *Agents) Follow(ctx context.Context, sent Admission) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		for u, err := range a.Updates(ctx, sent.Agent, sent.Instance, StreamOptions{After: sent.Offset}) {
			if !yield(u, err) || err != nil || u.Type == UpdateSettled && u.SubmissionID == sent.SubmissionID {
				return
			}
		}
	}
}

// Reply is what came of a prompt.
type Reply struct {
	Settlement Settlement
	Messages   []*Message // those of the prompt: itself, and what was answered
}

// Text is what the agent said last.
func (r Reply) Text() string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == RoleAssistant {
			return m.Text()
		}
	}
	return ""
}

// Wait returns when a prompt is settled. One that failed or was aborted is an *Error with Target TargetSubmission, beside the reply
// as far as it came.
func (a *Agents) Wait(ctx context.Context, sent Admission) (Reply, error) {
	var said Conversation
	for u, err := range a.Follow(ctx, sent) {
		if err != nil {
			return Reply{Messages: said.Messages}, err
		}
		switch {
		case u.Type == UpdateSettled && u.SubmissionID == sent.SubmissionID:
			reply := Reply{u.settlement(), said.Messages}
			return reply, reply.Settlement.failure()
		case u.beginsFor(sent.SubmissionID):
			said.Apply(u)
		}
	}
	return Reply{Messages: said.Messages}, unreachable(nil)
}

// beginsFor reports whether an update is about messages of a submission, as far as that is told: what happens to messages of others
// finds none to happen to.
func (u Update) beginsFor(submission string) bool {
	switch u.Type {
	case UpdateReset, UpdateSettled:
		return false
	case UpdateAppended:
		return u.Message != nil && u.Message.SubmissionID == submission
	case UpdateStarted:
		return u.SubmissionID == submission
	}
	return true
}

// failure is the error of a settlement, nil for one that is completed.
func (s Settlement) failure() error {
	if s.Outcome == Completed {
		return nil
	}
	e := &Error{Type: "submission_" + s.Outcome, Message: fmt.Sprintf("The submission was settled as %s.", s.Outcome), Target: TargetSubmission}
	if s.Error != nil {
		e.Message, e.Details, e.Meta = s.Error.Message, s.Error.Details, s.Error.Meta
		if s.Error.Type != "" {
			e.Type = s.Error.Type
		}
	}
	return e
}

// Abort stops the unsettled work of an instance: all of it, or the one submission that is named. It reports whether there was any;
// where the first answer was lost, what it stopped may be settled already and is none. To stop all is not asked for twice where the
// answer was lost, which is an error then: it would stop what was sent since.
func (a *Agents) Abort(ctx context.Context, agent, instance, submission string) (bool, error) {
	query := url.Values{}
	if submission != "" {
		query.Set("submission", submission)
	}
	var answer struct{ Aborted bool }
	p, err := a.c.prepare(Request{Method: http.MethodPost, Path: path("agents", agent, instance, "abort"), Query: query})
	if err != nil {
		return false, err
	}
	p.again = submission != ""
	if err := a.c.ask(ctx, p, a.c.config.Patience, a.c.decodes(&answer)); err != nil {
		return false, err
	}
	return answer.Aborted, nil
}

// History is a conversation as it is now. One that has not begun is an *Error of type stream_not_found.
func (a *Agents) History(ctx context.Context, agent, instance string) (*Conversation, error) {
	c := &Conversation{}
	if err := a.c.Call(ctx, historyOf(agent, instance), c); err != nil {
		return nil, err
	}
	return c, nil
}

func historyOf(agent, instance string) Request {
	return Request{Path: path("agents", agent, instance), Query: url.Values{"view": {"history"}}}
}

// Updates gives each update of a conversation behind an offset, until the context ends or the loop is left; with CatchUp, until
// there is none left. Defaults to all of them.
func (a *Agents) Updates(ctx context.Context, agent, instance string, o StreamOptions) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		var seen seenAt
		for p, err := range a.read(agent, instance, o).pages(ctx) {
			if err != nil {
				yield(Update{}, err)
				return
			}
			for u, err := range p.updates() {
				if err != nil {
					yield(u, err)
					return
				}
				if seen.passes(u.Position) && !yield(u, nil) {
					return
				}
			}
		}
	}
}

func (a *Agents) read(agent, instance string, o StreamOptions) *pursuit {
	o.Tail = 0
	return a.c.read(path("agents", agent, instance), url.Values{"view": {"updates"}}, o)
}

// Submission is unsettled work of an instance.
type Submission struct {
	SubmissionID string `json:"submissionId"`
	Kind         string `json:"kind"` // direct or dispatch
	Preview      string `json:"preview"`
	AdmittedAt   Time   `json:"admittedAt"`
	State        string `json:"state"` // queued, running, aborting or parked
	Reason       string `json:"reason,omitempty"`
}

// Submissions lists the unsettled work of an instance, in the order in which it is done.
func (a *Agents) Submissions(ctx context.Context, agent, instance string) ([]Submission, error) {
	var answer struct{ Submissions []Submission }
	err := a.c.Call(ctx, Request{Path: path("agents", agent, instance, "submissions")}, &answer)
	return answer.Submissions, err
}

// AttachmentURL is where an attachment can be downloaded: the ID of a file part. It needs the same credentials as everything else.
func (a *Agents) AttachmentURL(agent, instance, attachment string) string {
	return a.c.config.BaseURL + path("agents", agent, instance, "attachments", attachment)
}

// File is an attachment on its way.
type File struct {
	Body      io.ReadCloser // the caller's to close
	MediaType string
	Size      int64 // -1: unknown
}

// Attachment downloads an attachment.
func (a *Agents) Attachment(ctx context.Context, agent, instance, attachment string) (*File, error) {
	answer, err := a.c.Do(ctx, Request{Path: path("agents", agent, instance, "attachments", attachment), Header: http.Header{"Accept": {"*/*"}}})
	if err != nil {
		return nil, err
	}
	return &File{answer.Body, answer.Header.Get("Content-Type"), answer.ContentLength}, nil
}
