package conversation

import (
	"encoding/json"
	"slices"

	"svc.dev/svc/stream"
)

// SnapshotVersion is the version that every snapshot carries.
const SnapshotVersion = 1

// Snapshot is a conversation as its history shows it.
type Snapshot struct {
	V            int               `json:"v"`
	Conversation string            `json:"conversationId"`
	Offset       string            `json:"offset"`
	Messages     []json.RawMessage `json:"messages"`
	Settlements  []json.RawMessage `json:"settlements"`
}

// Encode prints the snapshot. A long one is better written row by row as it is read.
func (s Snapshot) Encode() ([]byte, error) { return stream.Encode(s) }

// Row is a finished piece of history, encoded once and never changed: a message, or a settlement.
type Row struct {
	Kind string
	ID   string
	Data []byte
}

// The kinds of rows.
const (
	RowMessage    = "message"
	RowSettlement = "settlement"
)

// Tail is the part of a conversation that can still change: at most one reply, and what has not become a row yet.
type Tail struct {
	open *reply // nil: nothing is in progress
}

// reply is an assistant message on its way.
type reply struct {
	view    View
	started Record
	grown   []byte // the text of the last part, while it grows
	done    int    // so many parts grow no more
}

// Apply folds public records in order and returns the rows that they finish. The log from its beginning, or from where
// Open was last false, gives all of them.
func (t *Tail) Apply(records []Record) ([]Row, error) {
	var rows []Row
	for _, r := range records {
		if !r.Public() {
			continue
		}
		finished, err := t.apply(r)
		if err != nil {
			return nil, err
		}
		rows = append(rows, finished...)
	}
	return rows, nil
}

// Open reports whether something is in progress.
func (t *Tail) Open() bool { return t.open != nil }

// Clone is a tail that goes its own way.
func (t *Tail) Clone() *Tail {
	c := &Tail{}
	if t.open != nil {
		o := *t.open
		o.view.Parts, o.grown = slices.Clone(o.view.Parts), slices.Clone(o.grown)
		c.open = &o
	}
	return c
}

// Unfinished is the message in progress, encoded as a snapshot shows it; nil if there is none.
func (t *Tail) Unfinished() (json.RawMessage, error) {
	if t.open == nil {
		return nil, nil
	}
	t.open.ripen()
	return stream.Encode(t.open.view)
}

func (t *Tail) apply(r Record) ([]Row, error) {
	switch r.Type {
	case UserMessage, SignalMessage:
		return rowOf(viewOf(r))
	case Settled:
		if r.Settlement.Private {
			return nil, nil
		}
		data, err := stream.Encode(r.Settlement)
		return []Row{{Kind: RowSettlement, ID: r.Settlement.Submission, Data: data}}, err
	case AssistantStarted:
		t.open = &reply{started: r, view: View{
			ID: r.Message, Role: "assistant", Purpose: "assistant", Display: "visible", Submission: r.Submission, Turn: r.Turn,
			Parts: []Part{}, Metadata: Metadata{Timestamp: r.time(), AgentVersion: r.version()},
		}}
	case ResultsCommitted:
		return t.results(r)
	case AssistantCompleted:
		return t.complete(r)
	default:
		if t.open != nil && r.Message == t.open.view.ID {
			t.open.grow(r)
		}
	}
	return nil, nil
}

// grow adds to the message in progress. A part is done when a reader who follows can know it: at the first word of the next
// part, at a tool call, at the message's end.
func (o *reply) grow(r Record) {
	parts := o.view.Parts
	switch r.Type {
	case TextStarted:
		o.ripen()
		o.view.Parts, o.grown = append(parts, textPart(partText, "", stateStreaming)), nil
	case ReasoningStarted:
		o.ripen()
		o.view.Parts, o.grown = append(parts, textPart(partReasoning, "", stateStreaming)), nil
	case TextDelta, ReasoningDelta:
		if n := len(parts); n > 0 && parts[n-1].Text != nil {
			o.end(n - 1)
			o.grown = append(o.grown, r.Text...)
		}
	case ToolCalled:
		o.ripen()
		o.end(len(parts))
		o.view.Parts = append(o.view.Parts, Part{
			Type: partTool, ToolName: r.Call.Name, ToolCallID: r.Call.ID, Input: r.Call.Input, State: stateInputAvailable,
		})
	}
}

// ripen gives the last part the text that has grown.
func (o *reply) ripen() {
	if n := len(o.view.Parts); n > 0 && len(o.grown) > 0 && o.view.Parts[n-1].Text != nil {
		text := string(o.grown)
		o.view.Parts[n-1].Text = &text
	}
}

// end says of the first n parts that they are done.
func (o *reply) end(n int) {
	for ; o.done < n; o.done++ {
		if p := &o.view.Parts[o.done]; p.State == stateStreaming {
			p.State = stateDone
		}
	}
}

// complete ends the message; one that called tools stays open for their results.
func (t *Tail) complete(r Record) ([]Row, error) {
	if t.open == nil || t.open.view.ID != r.Message {
		return nil, nil
	}
	o := t.open
	o.ripen()
	o.end(len(o.view.Parts))
	calls := slices.ContainsFunc(o.view.Parts, func(p Part) bool { return p.Type == partTool })
	o.view.Metadata.Usage, o.view.Metadata.Model = r.Usage, o.started.Model
	if calls {
		return nil, nil
	}
	t.open = nil
	return rowOf(o.view)
}

func (t *Tail) results(r Record) ([]Row, error) {
	if t.open == nil {
		return nil, nil
	}
	o := t.open
	of := make(map[string]Outcome, len(r.Outcomes))
	for _, outcome := range r.Outcomes {
		of[outcome.Call] = outcome
	}
	for i := range o.view.Parts {
		p := &o.view.Parts[i]
		if outcome, ok := of[p.ToolCallID]; ok {
			if err := p.answer(outcome); err != nil {
				return nil, err
			}
		}
	}
	t.open = nil
	return rowOf(o.view)
}

func (p *Part) answer(o Outcome) error {
	p.DurationMs = o.DurationMs
	if o.IsError {
		text := o.errorText()
		p.State, p.ErrorText = stateOutputError, &text
		return nil
	}
	output, err := o.shown()
	p.State, p.Output = stateOutputAvailable, output
	return err
}

func rowOf(v View) ([]Row, error) {
	data, err := stream.Encode(v)
	return []Row{{Kind: RowMessage, ID: v.ID, Data: data}}, err
}

// History joins finished rows and the tail into a snapshot at an offset.
func History(conversation string, at stream.Offset, rows []Row, tail *Tail) (Snapshot, error) {
	s := Snapshot{V: SnapshotVersion, Conversation: conversation, Offset: at.String(), Messages: []json.RawMessage{}, Settlements: []json.RawMessage{}}
	for _, r := range rows {
		if r.Kind == RowSettlement {
			s.Settlements = append(s.Settlements, r.Data)
		} else {
			s.Messages = append(s.Messages, r.Data)
		}
	}
	unfinished, err := tail.Unfinished()
	if err != nil {
		return Snapshot{}, err
	}
	if unfinished != nil {
		s.Messages = append(s.Messages, unfinished)
	}
	return s, nil
}
