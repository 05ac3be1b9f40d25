package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"svc.dev/svc/model"
)

// State is what an agent's log adds up to, for whoever works on it: its threads, the instance's own conversation and those of
// its sub-agents.
type State struct {
	root    string
	threads map[string]*Thread
}

// NewState is the state of a log without records.
func NewState() *State { return &State{threads: map[string]*Thread{}} }

// Root is the instance's own conversation; nil while the log does not hold its creation.
func (s *State) Root() *Thread { return s.threads[s.root] }

// Thread finds a conversation by its id, nil if there is none.
func (s *State) Thread(id string) *Thread { return s.threads[id] }

// Thread is one conversation: what its model has been told and has said, and how far its last input has come.
type Thread struct {
	ID     string
	Agent  string // of a sub-agent's
	Prompt string // of a sub-agent's: what it was asked

	entries    []entry
	reply      *entry             // in progress
	calls      []Call             // of the last reply, while their results are not committed
	caller     string             // the reply that made them
	outcomes   map[string]Outcome // that are recorded
	children   map[string]string  // conversations of sub-agents, by the call that began them
	submission string             // whose input is the last one
	deadline   int64              // of that submission
	version    string             // of the agent, for that submission; of a sub-agent's for all of it
	final      bool               // the last reply to it ended by itself
	settled    string             // the last submission that settled
	retries    int                // of the model, since it last answered
	misses     int                // of the result that is asked for, since that input
}

// entry is one message as the model is given it.
type entry struct {
	Role       string      `json:"role"` // user, signal, assistant, results or summary
	Message    string      `json:"messageId,omitempty"`
	Text       string      `json:"text,omitempty"`
	Files      []File      `json:"files,omitempty"`
	SignalType string      `json:"signalType,omitempty"`
	TagName    string      `json:"tagName,omitempty"`
	Attributes *Attributes `json:"attributes,omitempty"`
	Model      *ModelName  `json:"model,omitempty"`
	Parts      []said      `json:"parts,omitempty"`
	Results    []Outcome   `json:"results,omitempty"`
	Tokens     int         `json:"tokens,omitempty"` // that the provider counted up to here

	rendered *model.Message // in the model's words, once they were asked for; they never change
}

// said is a piece of a reply.
type said struct {
	Kind      string `json:"kind"` // text, reasoning or call
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Call      *Call  `json:"call,omitempty"`

	grown []byte // the text, while it grows
}

// The roles of entries.
const (
	roleUser      = "user"
	roleSignal    = "signal"
	roleAssistant = "assistant"
	roleResults   = "results"
	roleSummary   = "summary"
	saidCall      = "call"
)

// Apply folds the records of a batch into the state.
func (s *State) Apply(records []Record) error {
	for _, r := range records {
		if r.Type == Created {
			s.create(r)
			continue
		}
		t := s.threads[r.Conversation]
		if t == nil {
			if r.Type != Compaction {
				return fmt.Errorf("%w: record %s of an unknown conversation", ErrCorrupt, r.Type)
			}
			// A log that is read from its compaction on begins with it.
			t = s.create(r)
		}
		if err := t.apply(r); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) create(r Record) *Thread {
	t := &Thread{ID: r.Conversation, Agent: r.Agent, Prompt: r.Text, version: r.Version, outcomes: map[string]Outcome{}, children: map[string]string{}}
	s.threads[r.Conversation] = t
	if r.Public() {
		s.root = r.Conversation
	}
	return t
}

func (t *Thread) apply(r Record) error {
	switch r.Type {
	case UserMessage, SignalMessage:
		t.hear(r)
	case AssistantStarted:
		t.reply = &entry{Role: roleAssistant, Message: r.Message, Model: r.Model}
		t.final = false
	case TextStarted, ReasoningStarted, TextDelta, ReasoningDelta, TextCompleted, ReasoningCompleted, ToolCalled:
		if t.reply != nil {
			t.reply.say(r)
		}
	case AssistantCompleted:
		t.complete(r)
	case ToolOutcome:
		t.outcomes[r.Outcome.Call] = *r.Outcome
	case ResultsCommitted:
		t.entries = append(t.entries, entry{Role: roleResults, Results: r.Outcomes})
		t.miss(r.Outcomes)
		t.calls, t.caller, t.outcomes, t.children = nil, "", map[string]Outcome{}, map[string]string{}
	case ChildRetained:
		t.children[r.Call.ID] = r.Child
	case Settled:
		t.settled = r.Settlement.Submission
	case Retried:
		t.retries++
	case Compaction:
		return t.compact(r)
	}
	return nil
}

// hear adds an input. What the runtime itself says is no input of a submission.
func (t *Thread) hear(r Record) {
	e := entry{
		Role: roleUser, Message: r.Message, Text: r.Text, Files: r.Files,
		SignalType: r.SignalType, TagName: r.TagName, Attributes: r.Attributes,
	}
	if r.Type == SignalMessage {
		e.Role = roleSignal
	}
	t.entries = append(t.entries, e)
	switch {
	case !r.Advisory:
		t.submission, t.final = r.Submission, false
		t.deadline, t.version = r.Deadline, r.Version
		t.retries, t.misses = 0, 0
	case r.SignalType == ResultMissing:
		t.final = false
		t.misses++
	}
}

// miss counts results that were given and did not fit.
func (t *Thread) miss(outcomes []Outcome) {
	for _, o := range outcomes {
		if o.Name == ResultTool && o.IsError {
			t.misses++
		}
	}
}

func (e *entry) say(r Record) {
	n := len(e.Parts)
	switch r.Type {
	case TextStarted:
		e.Parts = append(e.Parts, said{Kind: partText})
	case ReasoningStarted:
		e.Parts = append(e.Parts, said{Kind: partReasoning})
	case TextDelta, ReasoningDelta:
		if n > 0 {
			e.Parts[n-1].grown = append(e.Parts[n-1].grown, r.Text...)
		}
	case ReasoningCompleted:
		if n > 0 {
			e.Parts[n-1].Signature = r.Signature
		}
	case ToolCalled:
		e.Parts = append(e.Parts, said{Kind: saidCall, Call: r.Call})
	}
}

func (t *Thread) complete(r Record) {
	if t.reply == nil {
		return
	}
	e := *t.reply
	t.reply = nil
	for i := range e.Parts {
		e.Parts[i].Text, e.Parts[i].grown = string(e.Parts[i].grown), nil
	}
	if r.Usage != nil {
		e.Tokens = r.Usage.TotalTokens
	}
	t.entries = append(t.entries, e)
	t.calls, t.caller = nil, ""
	for _, p := range e.Parts {
		if p.Kind == saidCall {
			t.calls, t.caller = append(t.calls, *p.Call), e.Message
		}
	}
	if r.Stop != StopError && r.Stop != StopAborted {
		t.retries = 0
	}
	t.final = len(t.calls) == 0 && (r.Stop == StopEnd || r.Stop == StopLength)
}

// kept is what a compaction carries on.
type kept struct {
	Entries    []entry `json:"entries"`
	Submission string  `json:"submissionId,omitempty"`
	Deadline   int64   `json:"deadline,omitempty"`
	Version    string  `json:"version,omitempty"`
	Settled    string  `json:"settled,omitempty"`
	Agent      string  `json:"agent,omitempty"`
	Prompt     string  `json:"prompt,omitempty"`
	Misses     int     `json:"misses,omitempty"`
}

func (t *Thread) compact(r Record) error {
	var k kept
	if err := json.Unmarshal(r.Kept, &k); err != nil {
		return fmt.Errorf("%w: compaction: %w", ErrCorrupt, err)
	}
	t.entries = append([]entry{{Role: roleSummary, Text: r.Text}}, k.Entries...)
	t.submission, t.settled, t.final = k.Submission, k.Settled, false
	t.deadline, t.version, t.misses = k.Deadline, k.Version, k.Misses
	if k.Agent != "" {
		t.Agent, t.Prompt = k.Agent, k.Prompt
	}
	return nil
}

// Compacted is the record that replaces what the model was told by a summary of it, and keeps the last entries as they are.
func (t *Thread) Compacted(summary string, keep int) (Record, error) {
	keep = min(keep, len(t.entries))
	// Results stay with the reply that asked for them.
	for keep < len(t.entries) && t.entries[len(t.entries)-keep:][0].Role == roleResults {
		keep++
	}
	last := slices.Clone(t.entries[len(t.entries)-keep:])
	for i := range last {
		last[i].Tokens = 0 // they were counted with what is summed up now
	}
	data, err := json.Marshal(kept{
		Entries: last, Submission: t.submission, Deadline: t.deadline, Version: t.version, Settled: t.settled, Agent: t.Agent, Prompt: t.Prompt, Misses: t.misses,
	})
	return Record{Type: Compaction, Conversation: t.ID, Text: summary, Kept: data}, err
}

// Terms are what was fixed when work on a submission first began: the agent's version, and the deadline in unix
// milliseconds; zero values where it has not begun.
func (t *Thread) Terms(submission string) (version string, deadline int64) {
	if t.submission != submission {
		return "", 0
	}
	return t.version, t.deadline
}

// Retries is how often the model was asked again since it last answered, as far as that is recorded.
func (t *Thread) Retries() int { return t.retries }

// Len is how many entries the model is given.
func (t *Thread) Len() int { return len(t.entries) }

// Final is the text of the last reply; of one that was interrupted and gone on with, all of its pieces.
func (t *Thread) Final() string {
	var pieces []string // the last first
	for i := len(t.entries) - 1; i >= 0 && t.entries[i].Role != roleUser; i-- {
		e := t.entries[i]
		if e.Role != roleAssistant && e.Role != roleSignal {
			break
		}
		if e.Role != roleAssistant {
			continue
		}
		pieces = append(pieces, e.text())
		// The advisories on an interruption stand between two pieces of one reply.
		if i < 3 || t.entries[i-3].Role != roleAssistant || !t.entries[i-1].recovers() || !t.entries[i-2].recovers() {
			break
		}
	}
	slices.Reverse(pieces)
	return strings.Join(pieces, "")
}

func (e entry) recovers() bool {
	return e.Role == roleSignal && strings.HasPrefix(e.Message, recoveryPrefix)
}

func (e entry) text() string {
	var b strings.Builder
	for _, p := range e.Parts {
		if p.Kind == partText {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// entryBytes is what an entry takes beside its texts.
const entryBytes = 512

// Bytes is about how much text the state holds, and what is built around it.
func (s *State) Bytes() int64 {
	var n int64
	for _, t := range s.threads {
		for _, e := range t.entries {
			n += int64(e.size()) + entryBytes
		}
		if t.reply != nil {
			n += int64(t.reply.size()) + entryBytes
			for _, p := range t.reply.Parts {
				n += int64(cap(p.grown))
			}
		}
	}
	return n
}

// Tokens is how many tokens the model's context holds, as the provider counted last and bytes divided by four since.
func (t *Thread) Tokens() int {
	total := 0
	for i := len(t.entries) - 1; i >= 0; i-- {
		if t.entries[i].Tokens > 0 {
			return total + t.entries[i].Tokens
		}
		total += t.entries[i].size() / 4
	}
	return total
}

func (e entry) size() int {
	n := len(e.Text)
	for _, p := range e.Parts {
		n += len(p.Text)
		if p.Call != nil {
			n += len(p.Call.Input)
		}
	}
	for _, o := range e.Results {
		n += len(o.Output)
		for _, b := range o.Content {
			n += len(b.Text)
		}
	}
	return n
}
