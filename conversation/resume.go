package conversation

import (
	"encoding/json"

	"svc.dev/svc/model"
)

// Owed is what a thread needs next to answer its input.
type Owed int

// What can be owed. An interruption changes nothing of it: whoever claims the stream next asks the same question.
const (
	OwedInput      Owed = iota // nothing is recorded: the input
	OwedReply                  // a turn of the model
	OwedClosing                // a reply broke off: its end, and that it did
	OwedResults                // results of the tools that the last reply called
	OwedSettlement             // the final reply is recorded: the submission's end
	OwedNothing                // the submission has settled
)

func (o Owed) String() string {
	return [...]string{"input", "reply", "closing", "results", "settlement", "nothing"}[o]
}

// Resume says what is owed to a submission: the one place that knows, in the normal course and after an interruption alike.
func (t *Thread) Resume(submission string) Owed {
	switch {
	case t.settled == submission && submission != "":
		return OwedNothing
	case t.reply != nil:
		return OwedClosing
	case len(t.calls) > 0:
		return OwedResults
	case t.submission != submission || len(t.entries) == 0: // a sub-agent's thread has no submission to tell it by
		return OwedInput
	case t.final:
		return OwedSettlement
	}
	return OwedReply
}

// Broken is the reply in progress.
func (t *Thread) Broken() (message string, ok bool) {
	if t.reply == nil {
		return "", false
	}
	return t.reply.Message, true
}

// OpenBlock is the kind of block that the reply in progress has not ended, empty if none.
func (t *Thread) OpenBlock() string {
	if t.reply == nil || len(t.reply.Parts) == 0 {
		return ""
	}
	return t.reply.Parts[len(t.reply.Parts)-1].Kind
}

// Last is the last message as the model is given it.
func (t *Thread) Last() (m model.Message) {
	if n := len(t.entries); n > 0 {
		m = t.entries[n-1].message()
	}
	return m
}

// ResultTool is the tool by which a model gives a result in the form that is asked for. Its output is the result.
const ResultTool = "give_result"

// ResultMissing is the type of the advisory that reminds a model of the result which it did not give.
const ResultMissing = "result_missing"

// Result is what the model gave in the form that is asked for, if that is the last that was said; nil if it did not, or if it did
// not fit.
func (t *Thread) Result() json.RawMessage { return t.Output(ResultTool) }

// Output is what a tool gave whose results are the last that was said; nil if it was not called there, or failed.
func (t *Thread) Output(tool string) json.RawMessage {
	if n := len(t.entries); n > 0 {
		for _, o := range t.entries[n-1].Results {
			if o.Name == tool && !o.IsError {
				return o.Output
			}
		}
	}
	return nil
}

// Misses is how often the model was told, since the input, that it gave no result or one that does not fit.
func (t *Thread) Misses() int { return t.misses }

// Calls are the tool calls of the last reply whose results are not committed, and the reply that made them.
func (t *Thread) Calls() (calls []Call, caller string) { return t.calls, t.caller }

// Outcome is the recorded outcome of a call.
func (t *Thread) Outcome(call string) (Outcome, bool) {
	o, ok := t.outcomes[call]
	return o, ok
}

// Child is the conversation of the sub-agent that a call began.
func (t *Thread) Child(call string) (string, bool) {
	id, ok := t.children[call]
	return id, ok
}
