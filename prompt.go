package svc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
)

// Prompt is a message for an agent's instance.
type Prompt struct {
	Message conversation.Message
	Key     string // makes it happen once; empty: no such promise
	Body    []byte // what the key stands for. Defaults to the message
	// By names the person or program that asks; tools find it in the Call that they are made for. Defaults to nobody.
	By string
}

// Prompted is the durable answer to a prompt.
type Prompted struct {
	SubmissionID string
	Offset       stream.Offset // updates behind it hold everything that the prompt produces
	AdmittedAt   time.Time
	Replayed     bool // the key was seen before: nothing was admitted
}

// Prompt admits a message of a user to an agent's instance. It returns when that is durable, and never waits for the reply.
func (s Scoped) Prompt(ctx context.Context, agent, id string, p Prompt) (Prompted, error) {
	return s.deliver(ctx, agent, id, p, Direct)
}

// Dispatch admits a message that a channel or a program sends. It shares the instance's queue with prompts, but its
// settlement is shown only if it was aborted.
func (s Scoped) Dispatch(ctx context.Context, agent, id string, p Prompt) (Prompted, error) {
	return s.deliver(ctx, agent, id, p, Dispatched)
}

func (s Scoped) deliver(ctx context.Context, agent, id string, p Prompt, kind SubmissionKind) (Prompted, error) {
	if strings.TrimSpace(agent) == "" || strings.TrimSpace(id) == "" {
		return Prompted{}, fault.Invalid("An agent and an instance must be named.")
	}
	if err := p.Message.Check(); err != nil {
		return Prompted{}, err
	}
	found, err := s.Agent(ctx, agent)
	if err != nil {
		return Prompted{}, err
	}
	if found == nil || found.Retired {
		return Prompted{}, fault.New(fault.AgentNotFound, fmt.Sprintf("No agent named %q.", agent), "Check the name.")
	}
	key := p.key(kind, agent, id)
	// What would be refused or answered again must not leave bytes behind that nobody counts.
	if receipt, err := s.recall(ctx, key, p.Message, s.AgentStream(agent, id)); !errors.Is(err, ErrNotFound) {
		return prompted(receipt), admissionFault(err)
	}
	submission := newUUID()
	input, attachments, err := s.keep(ctx, p, kind, submission)
	if err != nil {
		return Prompted{}, err
	}
	created := s.created()
	opening, err := conversation.EncodeBatch(created)
	if err != nil {
		return Prompted{}, err
	}
	receipt, err := s.rt.admit(ctx, Admission{
		Stream: s.AgentStream(agent, id), Submission: submission, Kind: kind, Input: input, Opening: opening,
		Key: key, Blobs: attachments,
	}, func(l Lease) { s.rt.states.prime(l, created) })
	return prompted(receipt), err
}

func prompted(r Receipt) Prompted {
	return Prompted{SubmissionID: r.Submission, Offset: r.Offset, AdmittedAt: r.AdmittedAt, Replayed: r.Replayed}
}

// recall is the receipt of a key that was seen before, for a message with attachments: they are kept before it is admitted.
// Without either it is ErrNotFound.
func (s Scoped) recall(ctx context.Context, key *Key, m conversation.Message, of Stream) (Receipt, error) {
	if key == nil || len(m.Attachments) == 0 {
		return Receipt{}, ErrNotFound
	}
	ctx, cancel := s.rt.within(ctx)
	defer cancel()
	return s.rt.store.Admit(ctx, Admission{Stream: of, Key: key, Replay: true})
}

// AgentStream is the address of an instance's stream.
func (s Scoped) AgentStream(agent, id string) Stream {
	return Stream{Scope: s.scope, Kind: KindAgent, Name: agent, ID: id}
}

// key is unique per path for what comes over HTTP, and per instance for a dispatch.
func (p Prompt) key(kind SubmissionKind, agent, id string) *Key {
	if p.Key == "" {
		return nil
	}
	body := p.Body
	if body == nil {
		body, _ = json.Marshal(p.Message)
	}
	hash := sha256.Sum256(body)
	return &Key{Name: fmt.Sprintf("%s %d:%s/%s\n%s", kind, len(agent), agent, id, p.Key), Hash: hash[:]}
}

// input is a message as its submission keeps it: attachments are names. What lists show stands at its beginning, whatever was sent.
type input struct {
	Kind       string                   `json:"kind"`
	By         string                   `json:"by,omitempty"`
	Body       string                   `json:"body"`
	Files      []conversation.File      `json:"files,omitempty"`
	Type       string                   `json:"type,omitempty"`
	TagName    string                   `json:"tagName,omitempty"`
	Attributes *conversation.Attributes `json:"attributes,omitempty"`
}

// keep makes a message's attachments durable and names them.
func (s Scoped) keep(ctx context.Context, p Prompt, kind SubmissionKind, submission string) ([]byte, []Attachment, error) {
	m := p.Message
	in := input{Kind: m.Kind, Body: m.Body, Type: m.Type, TagName: m.TagName, By: conversation.Text(p.By)}
	if m.Attributes != nil {
		in.Attributes = &m.Attributes
	}
	var attachments []Attachment
	for i, a := range m.Attachments {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		blob, err := s.rt.put(ctx, s.scope, a.Data)
		if err != nil {
			return nil, nil, fmt.Errorf("keep attachment: %w", err)
		}
		id := fmt.Sprintf("att_%s_%s_%d", kind, submission, i)
		attachments = append(attachments, Attachment{ID: id, Blob: blob, MimeType: a.MimeType, Filename: a.Filename})
		in.Files = append(in.Files, fileOf(attachments[i]))
	}
	data, err := stream.Encode(in)
	return data, attachments, err
}

// put keeps bytes; few large ones are written at once.
func (rt *Runtime) put(ctx context.Context, scope string, data []byte) (b Blob, err error) {
	if len(data) < memory.Large {
		return rt.store.Put(ctx, scope, bytes.NewReader(data))
	}
	err = rt.puts.Take(ctx, "", func() (err error) {
		b, err = rt.store.Put(ctx, scope, bytes.NewReader(data))
		return err
	})
	return b, err
}

func fileOf(a Attachment) conversation.File {
	return conversation.File{ID: a.ID, MimeType: a.MimeType, Size: a.Blob.Size, Digest: "sha256:" + a.Blob.SHA256, Filename: a.Filename}
}

// created is the first batch of an instance: its conversation.
func (s Scoped) created() []conversation.Record {
	now := s.rt.now()
	return []conversation.Record{{
		Type: conversation.Created, Conversation: s.rt.ids.next("conv_", now), At: millis(now), Kind: conversation.KindRoot,
	}}
}

// Abort marks an instance's unsettled work, all of it or one submission, and reports whether there was any.
func (s Scoped) Abort(ctx context.Context, agent, id, submission string) (bool, error) {
	return s.rt.store.Abort(ctx, s.AgentStream(agent, id), submission)
}

// ListedSubmission is unsettled work with the beginning of its text.
type ListedSubmission struct {
	Submission
	Preview string // at most 280 characters
}

// Submissions lists an instance's unsettled work in order.
func (s Scoped) Submissions(ctx context.Context, agent, id string) ([]ListedSubmission, error) {
	found, err := s.rt.store.Submissions(ctx, s.AgentStream(agent, id))
	if err != nil && !errors.Is(err, ErrNoStream) {
		return nil, fmt.Errorf("list submissions: %w", err)
	}
	list := []ListedSubmission{}
	for _, b := range found {
		list = append(list, ListedSubmission{Submission: b, Preview: shortened(textBehind(b.Input, bodyMark), previewLength)})
	}
	return list, nil
}

// The marks stand before the body, and before the sender, in an input as its submission keeps it. Neither can stand inside a text.
var (
	bodyMark = []byte(`"body":"`)
	byMark   = []byte(`"by":"`)
)

// textBehind is the text behind a mark, or the beginning of it, in an input of which the beginning is known.
func textBehind(head, mark []byte) string {
	_, raw, ok := bytes.Cut(head, mark)
	if !ok {
		return ""
	}
	quoted := append([]byte{'"'}, raw[:textEnd(raw)]...)
	var text string
	if json.Unmarshal(append(quoted, '"'), &text) != nil {
		return ""
	}
	return text
}

// textEnd is where a JSON string ends, or where the last character of a beginning of one does.
func textEnd(raw []byte) int {
	for i := 0; i < len(raw); {
		n := 1
		switch {
		case raw[i] == '"':
			return i
		case raw[i] == '\\' && i+1 < len(raw) && raw[i+1] == 'u':
			n = 6
		case raw[i] == '\\':
			n = 2
		case raw[i] >= utf8.RuneSelf:
			if !utf8.FullRune(raw[i:]) {
				return i
			}
			_, n = utf8.DecodeRune(raw[i:])
		}
		if i+n > len(raw) {
			return i
		}
		i += n
	}
	return len(raw)
}

// Attachment opens an attachment of an instance's own conversation. Without the instance it is ErrNoStream, without the
// attachment ErrNotFound.
func (s Scoped) Attachment(ctx context.Context, agent, id, attachment string) (Attachment, io.ReadCloser, error) {
	address := s.AgentStream(agent, id)
	if _, err := s.rt.store.Tail(ctx, address); err != nil {
		return Attachment{}, nil, err
	}
	return s.rt.store.Get(ctx, address, attachment)
}

const previewLength = 280

// shortened is a text up to so many characters.
func shortened(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i]
		}
		n++
	}
	return text
}
