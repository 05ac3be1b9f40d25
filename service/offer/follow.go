package offer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/service/access"
	"svc.dev/svc/workflow"
)

const (
	// maxText is how much of a reply is told. The whole of it is in the conversation.
	maxText = 1 << 20
	// maxProgress is how much of the news is told at once.
	maxProgress = 8 << 10
	// recent is how old a judgement may be that an answer is told by.
	recent = time.Second
)

// errGone is the end of a wait whose client is not there any more. The work goes on.
var errGone = errors.New("the client has gone")

// await follows work until it is done, the client's patience ends, or this process stops, and tells how far it has come. Those who
// ask must still have what they needed.
func (o *Offer) await(ctx context.Context, v visit, t task, need access.Need) (*mcp.CallToolResult, error) {
	v.m.room.Release()
	began := time.Now()
	f := &follower{Offer: o, visit: v, task: t}
	if err := f.follow(ctx); err != nil {
		return nil, err
	}
	if v.m.gone.Err() != nil {
		return nil, errGone
	}
	if time.Since(began) > recent {
		if err := o.May(ctx, v.claims, need); err != nil {
			return nil, err
		}
	}
	if t.kind == svc.KindRun {
		return f.ran()
	}
	return f.replied()
}

// follower gathers what a client is told of work.
type follower struct {
	*Offer
	visit
	task

	// Of an agent: the message of the submission that is being written, and the text of the reply so far. One that was interrupted goes on
	// in another message.
	message string
	text    strings.Builder
	called  bool   // it called a tool: the next one answers anew, instead of going on with it
	giving  string // the call by which it gives its result, and that result, if the agent answers in a form
	result  json.RawMessage
	outcome string // empty: it is not settled
	failure *conversation.Error

	end *ending // of a run; nil: it has not ended

	steps float64 // how much was told
}

// update is what of a conversation's updates matters here.
type update struct {
	Type       string              `json:"type"`
	Message    string              `json:"messageId"`
	Kind       string              `json:"kind"`
	Delta      string              `json:"delta"`
	Call       string              `json:"toolCallId"`
	Tool       string              `json:"toolName"`
	Output     json.RawMessage     `json:"output"`
	Submission string              `json:"submissionId"`
	Outcome    string              `json:"outcome"`
	Error      *conversation.Error `json:"error"`
}

// ending is what of a run's events matters here.
type ending struct {
	Type    string          `json:"type"`
	Text    string          `json:"message"`
	Result  json.RawMessage `json:"result"`
	IsError bool            `json:"isError"`
	Error   *runFault       `json:"error"`
}

type runFault struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// stream is where the work is recorded.
func (f *follower) stream() svc.Stream {
	in := f.Runtime.In(f.claims.Scope)
	if f.kind == svc.KindRun {
		return in.RunStream(workflow.Run{Workflow: f.name, ID: f.id})
	}
	return in.AgentStream(f.name, f.instance)
}

func (f *follower) done() bool { return f.outcome != "" || f.end != nil }

// follow reads on until the work is done or nobody waits any longer.
func (f *follower) follow(ctx context.Context) error {
	waiting, stop := context.WithTimeout(ctx, f.wishes.waiting)
	defer stop()
	defer context.AfterFunc(f.m.gone, stop)()
	if err := f.skip(ctx); err != nil {
		return err
	}
	f.begun(ctx)
	reader := f.Runtime.Follow(f.stream())
	defer reader.Close()
	for {
		wake, err := f.read(ctx, reader)
		switch {
		case err != nil || f.done():
			return err
		case !f.wait(waiting, wake):
			return f.stands(ctx, reader)
		}
	}
}

// read takes all that there is until now. The wake is closed when there may be more.
func (f *follower) read(ctx context.Context, reader *svc.Follower) (wake <-chan struct{}, err error) {
	for more := true; more && !f.done(); {
		wake = reader.Wake()
		page, err := reader.Page(ctx, f.start)
		if err != nil {
			return nil, lost(err)
		}
		err = f.take(ctx, page.JSON())
		reader.Free()
		if err != nil {
			return nil, err
		}
		f.start, more = page.Next, !page.Tail
	}
	return wake, nil
}

// stands refuses work that will never be done: its conversation was erased, and others talk in one of its name.
func (f *follower) stands(ctx context.Context, reader *svc.Follower) error {
	if f.kind == svc.KindRun {
		return nil // a run that is erased has no stream
	}
	const most = 1000 // of those that are listed
	waiting, err := f.Runtime.In(f.claims.Scope).Submissions(ctx, f.name, f.instance)
	if err != nil || len(waiting) >= most || slices.ContainsFunc(waiting, func(s svc.ListedSubmission) bool { return s.ID == f.id }) {
		return err
	}
	if _, err := f.read(ctx, reader); err != nil || f.done() { // it was done in this moment
		return err
	}
	return nothing()
}

// lost is what became of work whose stream cannot be read.
func lost(err error) error {
	if errors.Is(err, svc.ErrNoStream) || errors.Is(err, svc.ErrNotFound) {
		return nothing()
	}
	return err
}

// skip leaves out what a run that has ended told before: its last event says all.
func (f *follower) skip(ctx context.Context) error {
	if f.kind != svc.KindRun {
		return nil
	}
	tail, err := f.Runtime.Tail(ctx, f.stream())
	if err != nil {
		return lost(err)
	}
	if tail.Closed {
		f.start = tail.Head - 1
	}
	return nil
}

// begun tells at once by which id the result can be fetched, should the connection not last.
func (f *follower) begun(ctx context.Context) {
	f.m.out.pulse()
	id, key := f.id, "submissionId"
	if f.kind == svc.KindRun {
		key = "runId"
	}
	told := mcp.Meta{key: id}
	if f.kind != svc.KindRun {
		told["conversation"] = f.instance
	}
	f.tell(ctx, 1, "Begun: "+toolResult+" fetches what comes of "+id+".", told)
}

// wait returns when there may be news, and reports whether anybody still waits for them.
func (f *follower) wait(waiting context.Context, wake <-chan struct{}) bool {
	beat := time.NewTicker(f.Beat)
	defer beat.Stop()
	for {
		select {
		case <-wake:
			return true
		case <-waiting.Done():
			return false
		case <-f.Runtime.Stopping():
			return false
		case <-beat.C:
			f.m.out.pulse()
		}
	}
}

// take adds a page of news.
func (f *follower) take(ctx context.Context, page []byte) error {
	if f.kind == svc.KindRun {
		return f.takeEvents(ctx, page)
	}
	var all []update
	if err := json.Unmarshal(page, &all); err != nil {
		return fmt.Errorf("read updates: %w", err)
	}
	var said strings.Builder
	for _, u := range all {
		f.add(u, &said)
	}
	f.tell(ctx, float64(len(all)), said.String(), nil)
	return nil
}

// add takes what belongs to the submission; others may stand before it in the conversation's queue.
func (f *follower) add(u update, said *strings.Builder) {
	switch {
	case u.Type == "message-started" && u.Submission == f.id:
		if f.called {
			f.text.Reset()
		}
		f.message, f.called = u.Message, false
	case u.Type == "message-delta" && u.Message == f.message && u.Kind == "text":
		if f.text.Len() < maxText {
			f.text.WriteString(u.Delta)
		}
		said.WriteString(u.Delta)
	case u.Type == "tool-input" && u.Message == f.message && u.Tool == conversation.ResultTool:
		f.called, f.giving = true, u.Call
	case u.Type == "tool-input" && u.Message == f.message:
		f.called = true
		said.WriteString("\n[" + u.Tool + "]\n")
	case u.Type == "tool-output" && u.Call != "" && u.Call == f.giving:
		f.result = u.Output
	case u.Type == "submission-settled" && u.Submission == f.id:
		f.outcome, f.failure = u.Outcome, u.Error
	}
}

func (f *follower) takeEvents(ctx context.Context, page []byte) error {
	var all []json.RawMessage
	if err := json.Unmarshal(page, &all); err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	var lines []string
	for _, raw := range all {
		// An event of a model's turn may have fields of these names and another form.
		var head struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &head) != nil || head.Type != workflow.Log && head.Type != workflow.RunEnd {
			continue
		}
		var e ending
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		if e.Type == workflow.RunEnd {
			f.end = &e
		} else {
			lines = append(lines, e.Text)
		}
	}
	f.tell(ctx, float64(len(all)), strings.Join(lines, "\n"), nil)
	return nil
}

// tell sends progress to a client that asked for it.
func (f *follower) tell(ctx context.Context, steps float64, text string, meta mcp.Meta) {
	token := f.req.Params.GetProgressToken()
	f.steps += steps
	if text == "" || !isToken(token) {
		return
	}
	// What is not taken is told again by the answer.
	_ = f.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{Meta: meta, ProgressToken: token, Progress: f.steps, Message: cut(text, maxProgress)})
}

// isToken reports whether progress can be told by a token: it goes out with every piece.
func isToken(token any) bool {
	switch token := token.(type) {
	case string:
		return len(token) <= maxName
	case float64, int64, int:
		return true
	}
	return false
}

// agentReply is how an agent's answer is told.
type agentReply struct {
	SubmissionID string              `json:"submissionId"`
	Agent        string              `json:"agent"`
	Conversation string              `json:"conversation"`
	State        string              `json:"state"`
	Text         string              `json:"text,omitempty"`
	Result       json.RawMessage     `json:"result,omitempty"`
	Error        *conversation.Error `json:"error,omitempty"`
}

func (f *follower) replied() (*mcp.CallToolResult, error) {
	told := agentReply{SubmissionID: f.id, Agent: f.name, Conversation: f.instance, State: f.outcome, Text: cut(f.text.String(), maxText), Error: f.failure}
	switch svc.Outcome(f.outcome) {
	case "":
		told.State = "running"
		return structured(f.later(told.Text), told, false)
	case svc.OutcomeCompleted:
		text := told.Text
		if told.Result = f.result; told.Result != nil {
			text = plain(told.Result)
		}
		return structured(text, told, false)
	case svc.OutcomeAborted:
		return structured(strings.TrimSpace("It was stopped before it was done.\n"+told.Text), told, true)
	default:
		text := "The agent could not answer."
		if f.failure != nil {
			text = strings.TrimSpace(f.failure.Message + " " + f.failure.Details)
		}
		return structured(text, told, true)
	}
}

// later says how to wait for what is not done yet.
func (f *follower) later(text string) string {
	return strings.TrimSpace("It is not done yet and goes on by itself. Call " + toolResult + ` with {"id":"` + f.id + `"} to wait for it.` + "\n" + text)
}

// runReply is how what came of a run is told.
type runReply struct {
	RunID    string          `json:"runId"`
	Workflow string          `json:"workflow"`
	Status   workflow.Status `json:"status"`
	Result   json.RawMessage `json:"result,omitempty"`
	Error    *runFault       `json:"error,omitempty"`
}

func (f *follower) ran() (*mcp.CallToolResult, error) {
	told := runReply{RunID: f.id, Workflow: f.name, Status: workflow.Active}
	if f.end == nil {
		return structured(f.later(""), told, false)
	}
	if f.end.IsError {
		told.Status, told.Error = workflow.Errored, f.end.Error
		text := "The run failed."
		if told.Error != nil {
			text = strings.TrimSpace(told.Error.Name + ": " + told.Error.Message)
		}
		return structured(text, told, true)
	}
	told.Status, told.Result = workflow.Completed, f.end.Result
	return structured(plain(told.Result), told, false)
}

// plain is a result as text: one that is a text is that.
func plain(result json.RawMessage) string {
	var text string
	if json.Unmarshal(result, &text) == nil && len(result) > 0 && result[0] == '"' {
		return text
	}
	return string(result)
}

// cut is the beginning of a text that ends with a whole character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
