package svc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/stream"
)

// interruptedTool is a tool call as errors and advisories name it.
type interruptedTool struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// settled writes records and the submission's end in one append, and gives the lease back if nothing waits behind it.
func (w *agentWork) settled(th *thread, records []conversation.Record, s conversation.Settlement) error {
	s.Submission, s.Private = th.submission.ID, th.submission.Kind == Dispatched && s.Outcome != string(OutcomeAborted)
	r := th.record(conversation.Settled)
	r.Settlement = &s
	return w.leaveWith(Commit{Settle: Outcome(s.Outcome), Release: true}, append(records, r)...)
}

// leaveWith commits what may give the lease back. Whoever is given it next may be told so before we are, and waits for the
// state that is left here.
func (w *agentWork) leaveWith(c Commit, records ...conversation.Record) error {
	left := w.rt.states.leaving(w.job.lease.Stream)
	defer left()
	err := w.commitWith(c, records...)
	if err == nil && w.writer.next == nil {
		w.rt.states.put(w.job.lease.Stream, w.writer.head, w.state, w.layout.tail)
	}
	return err
}

// unresolved ends what a reply left open: the reply itself, and its tool calls with an error each.
func (th *thread) unresolved(why string) (records []conversation.Record, tools []interruptedTool) {
	if closing := th.closed(); closing != nil {
		// Folded at once: the calls of a reply are known when it has ended.
		if err := th.w.write(closing...); err != nil {
			return nil, nil
		}
	}
	records = th.unanswered(func(call conversation.Call, _ string) conversation.Outcome {
		tools = append(tools, interruptedTool{call.Name, call.ID})
		return refusedCall(call, why)
	})
	return records, tools
}

func refusedCall(call conversation.Call, why string) conversation.Outcome {
	return conversation.Outcome{Call: call.ID, Name: call.Name, IsError: true, Content: []conversation.Block{conversation.TextBlock(why)}}
}

// aborted settles a submission that was asked to stop.
func (w *agentWork) aborted(th *thread) error {
	records, tools := th.unresolved("The call was aborted.")
	const message = "The submission was aborted."
	notice := th.notice(conversation.AbortedID(th.submission.ID), "submission_aborted", message, "aborted", tools)
	return w.settled(th, append(records, notice), conversation.Settlement{
		Outcome: string(OutcomeAborted),
		Error: &conversation.Error{
			Name: "SvcError", Message: message, Type: "submission_aborted", Details: "It was stopped before a complete answer existed.",
		},
	})
}

// notice is the advisory on a submission that did not complete.
func (th *thread) notice(id, kind, text, reason string, tools []interruptedTool) conversation.Record {
	attributes := conversation.Attributes{
		{Name: "submissionId", Value: th.submission.ID}, {Name: "kind", Value: string(th.submission.Kind)}, {Name: "reason", Value: reason},
	}
	if len(tools) > 0 {
		list, _ := stream.Encode(tools)
		attributes = append(attributes, conversation.Attribute{Name: "interruptedTools", Value: string(list)})
		var names []string
		for _, t := range tools {
			names = append(names, t.Name)
		}
		text += " Interrupted tools: " + strings.Join(names, ", ") + "."
	}
	return th.advisory(id, kind, text, attributes)
}

// gaveUp is why recovery gives up a submission.
type gaveUp struct {
	fault  *fault.Error
	reason string
}

func (g *gaveUp) Error() string { return g.fault.Error() }

// submissionInterrupted is the fault of a submission that was not begun, and the notice of one that was.
const submissionInterrupted = "submission_interrupted"

// exhausted is a submission that was interrupted too often.
func (th *thread) exhausted(attempts int) error {
	limit := th.agent.maxAttempts(th.w.rt)
	f := fault.New("submission_retry_exhausted", fmt.Sprintf("The submission was interrupted %d times.", attempts), "")
	if th.t.Resume(th.submission.ID) == conversation.OwedInput {
		f = fault.New(submissionInterrupted, "The submission was interrupted before it began.", "").With("phase", "retry_exhausted_before_input")
	}
	return &gaveUp{f.With("attemptCount", attempts).With("maxAttempts", limit), "exhausted_retry_budget"}
}

// fail settles a submission as failed.
func (w *agentWork) fail(th *thread, err error) error {
	records, tools := th.unresolved("The call was ended with its submission.")
	f, reason := failure(err)
	if reason != "" {
		if len(tools) > 0 && reason == "exhausted_retry_budget" {
			f.With("interruptedTools", tools)
		}
		records = append(records, th.notice(conversation.InterruptedID(th.submission.ID), submissionInterrupted, "The submission was interrupted.", reason, tools))
	}
	if f.Cause != nil {
		th.log().Error("submission failed", "error", f.Cause)
	}
	return w.settled(th, records, conversation.Settlement{Outcome: string(OutcomeFailed), Error: publicFailure(f)})
}

// giveUp settles the submission whose log cannot be read, and lets the conversation begin anew behind it: those that wait go
// on, without what was said before.
func (w *agentWork) giveUp(b Submission, unreadable error) error {
	th := &thread{w: w.dialogue, t: w.state.Root(), submission: b}
	forgotten := th.record(conversation.Compaction)
	forgotten.Submission, forgotten.Text, forgotten.Kept = "", "What was said before can no longer be read.", []byte("{}")
	th.log().Error("submission given up", "error", unreadable)
	return w.settled(th, []conversation.Record{forgotten}, conversation.Settlement{
		Outcome: string(OutcomeFailed), Error: publicFailure(fault.Unexpected(unreadable)),
	})
}

// failure is the fault of an error, and the reason to give in an advisory where recovery gave up.
func failure(err error) (*fault.Error, string) {
	if g, ok := errors.AsType[*gaveUp](err); ok {
		return g.fault, g.reason
	}
	if errors.Is(err, errTimeout) {
		return fault.New("submission_timeout", "The submission took too long.", ""), "exceeded_timeout"
	}
	return fault.From(err), ""
}

func publicFailure(f *fault.Error) *conversation.Error {
	if f.Type == fault.Internal {
		return &conversation.Error{
			Name: "Error", Message: "The submission failed inside the server.", Type: fault.Internal,
			Details: "Unexpected error while working on the submission.",
		}
	}
	told := bounded(*f)
	return &conversation.Error{Name: "SvcError", Message: conversation.Text(told.Message), Type: told.Type, Details: conversation.Text(told.Details), Meta: plain(told.Meta)}
}

// plain is a value as the log gives it back: what is shown at once and what is read later are the same bytes.
func plain(meta map[string]any) (same map[string]any) {
	data, err := stream.Encode(meta)
	if err != nil || json.Unmarshal(data, &same) != nil {
		return nil
	}
	return same
}
