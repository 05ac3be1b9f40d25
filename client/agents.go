package client

import (
	"context"
	"io"
	"iter"
)

// Agents are prompted, and their conversations read. An agent has a name; an instance is one conversation with it, by an id that
// those who prompt it choose.
type Agents struct{ c *Client }

// Admission says that a prompt was taken: it is durable, and will be answered. It can be stored and waited for by another process.
type Admission struct {
	Agent        string `json:"agent"`
	Instance     string `json:"instance"`
	SubmissionID string `json:"submissionId"`
	Offset       string `json:"offset"` // everything that the prompt brings about comes after it
	StreamURL    string `json:"streamUrl"`
	Replayed     bool   `json:"replayed,omitempty"` // it had been admitted before, with the same key
}

// Send prompts an instance, which begins with its first prompt. A prompt whose answer was lost is sent again with the same
// key, and admitted once.
func (a *Agents) Send(ctx context.Context, agent, instance string, p Prompt) (Admission, error) {
	panic("not yet")
}

// Follow gives what a prompt brings about, as it comes, and what else happens to the conversation meanwhile. It ends after the
// prompt's settlement.
func (a *Agents) Follow(ctx context.Context, sent Admission) iter.Seq2[Update, error] {
	panic("not yet")
}

// Reply is what came of a prompt.
type Reply struct {
	Settlement Settlement
	Messages   []*Message // those of the prompt: itself, and what was answered
}

// Text is what the agent said last.
func (r Reply) Text() string { panic("not yet") }

// Wait returns when a prompt is settled. One that failed or was aborted is an *Error with Target TargetSubmission, beside the reply
// as far as it came.
func (a *Agents) Wait(ctx context.Context, sent Admission) (Reply, error) { panic("not yet") }

// Abort stops the unsettled work of an instance: all of it, or the one submission that is named. It reports whether there was any.
func (a *Agents) Abort(ctx context.Context, agent, instance, submission string) (bool, error) {
	panic("not yet")
}

// History is a conversation as it is now. One that has not begun is an *Error of type stream_not_found.
func (a *Agents) History(ctx context.Context, agent, instance string) (*Conversation, error) {
	panic("not yet")
}

// Observation is a conversation at a moment, and what has changed since the one before.
type Observation struct {
	// Conversation is the observer's own, and changes with the next observation: Clone keeps it. Its Offset is the checkpoint: it
	// stands behind all that is in Updates.
	Conversation *Conversation
	// Updates are what happened since the last observation, in order; none when the conversation was read anew, as it is first.
	Updates []Update
	// Live says that nothing lay behind it.
	Live bool
}

// Observe gives a conversation, and then the conversation whenever it has changed, until the context ends or the loop is left.
// It begins with From where that is given, else with history, and reads history again where the server no longer knows the offset.
func (a *Agents) Observe(ctx context.Context, agent, instance string, o ObserveOptions) iter.Seq2[Observation, error] {
	panic("not yet")
}

// ObserveOptions is how a conversation is observed. The zero value will do.
type ObserveOptions struct {
	Live Live          // defaults to Auto
	From *Conversation // as it was observed before. Defaults to history
}

// Updates gives each update of a conversation behind an offset, until the context ends or the loop is left; with CatchUp, until
// there is none left. Defaults to all of them.
func (a *Agents) Updates(ctx context.Context, agent, instance string, o StreamOptions) iter.Seq2[Update, error] {
	panic("not yet")
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
	panic("not yet")
}

// AttachmentURL is where an attachment can be downloaded: the ID of a file part. It needs the same credentials as everything else.
func (a *Agents) AttachmentURL(agent, instance, attachment string) string { panic("not yet") }

// File is an attachment on its way.
type File struct {
	Body      io.ReadCloser // the caller's to close
	MediaType string
	Size      int64 // -1: unknown
}

// Attachment downloads an attachment.
func (a *Agents) Attachment(ctx context.Context, agent, instance, attachment string) (*File, error) {
	panic("not yet")
}
