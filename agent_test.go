package svc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/stream"
)

// talking declares an agent named a on a model that plays a script.
func talking(p model.Provider, change ...func(*svc.Agent)) (func(*svc.Runtime), func(*svc.Config)) {
	declare := func(rt *svc.Runtime) {
		a := &svc.Agent{Name: "a", Instructions: "Be brief.", Model: "scripted/test"}
		for _, f := range change {
			f(a)
		}
		rt.AddAgent(a)
	}
	return declare, func(c *svc.Config) {
		c.Model = model.Providers{"scripted": p}.Find
		c.ModelRetry = time.Millisecond
		c.Gather = time.Millisecond
	}
}

func startAgent(t *testing.T, address string, p model.Provider, change ...func(*svc.Agent)) *node {
	t.Helper()
	declare, config := talking(p, change...)
	return start(t, address, declare, config)
}

func (n *node) prompt(t *testing.T, id, text string) svc.Prompted {
	t.Helper()
	p, err := n.Prompt(t.Context(), "a", id, svc.Prompt{Message: conversation.Message{Kind: "user", Body: text}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// chunk is an update as a client reads it.
type chunk struct {
	Type         string
	Conversation string `json:"conversationId"`
	Message      *conversation.View
	MessageID    string
	Kind, Delta  string
	ToolCallID   string
	ToolName     string
	Output       json.RawMessage
	ErrorText    string
	SubmissionID string
	Outcome      string
	Error        *conversation.Error
	Position     struct {
		Batch int64
		Index int
	}
}

// updates follows an instance until so many submissions have settled.
func (n *node) updates(t *testing.T, id string, after stream.Offset, settlements int) []chunk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f := n.Follow(n.AgentStream("a", id))
	defer f.Close()
	var all []chunk
	for {
		wake := f.Wake()
		page, err := f.Page(ctx, after)
		if err != nil {
			t.Fatal(err)
		}
		var chunks []chunk
		if err := json.Unmarshal(page.JSON(), &chunks); err != nil {
			t.Fatal(err)
		}
		all = append(all, chunks...)
		for _, c := range chunks {
			if c.Type == "submission-settled" {
				settlements--
			}
		}
		after = page.Next
		if settlements <= 0 {
			return all
		}
		if !page.Tail {
			continue
		}
		select {
		case <-wake:
		case <-ctx.Done():
			t.Fatalf("no settlement: %s", retold(all))
		}
	}
}

// retold is updates in short.
func retold(chunks []chunk) string {
	var parts []string
	for _, c := range chunks {
		switch c.Type {
		case "conversation-reset":
			parts = append(parts, "reset")
		case "message-appended":
			parts = append(parts, fmt.Sprintf("%s(%s)", c.Message.Purpose, *c.Message.Parts[0].Text))
		case "message-started":
			parts = append(parts, "started")
		case "message-delta":
			parts = append(parts, c.Delta)
		case "tool-input":
			parts = append(parts, "call "+c.ToolName)
		case "tool-output":
			parts = append(parts, "output "+string(c.Output))
		case "tool-output-error":
			parts = append(parts, "error "+c.ErrorText)
		case "message-completed":
			parts = append(parts, "completed")
		case "submission-settled":
			parts = append(parts, "settled "+c.Outcome)
		default:
			parts = append(parts, "?"+c.Type)
		}
	}
	return strings.Join(parts, " | ")
}

func (n *node) history(t *testing.T, id string) string {
	t.Helper()
	snapshot, _, err := n.Conversation(t.Context(), "a", id)
	if err != nil {
		t.Fatal(err)
	}
	data, err := snapshot.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := stream.Encode(snapshot); err != nil || string(plain) != string(data) {
		t.Errorf("joined:\n%s\nencoded:\n%s\n%v", data, plain, err)
	}
	return string(data)
}

func TestPromptIsAnswered(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := startAgent(t, address, scripted.New(scripted.Turn{scripted.Say("Refunds are ", "possible.")}))
		p := n.prompt(t, "42", "What is your policy?")
		expect(t, "offset", p.Offset, 0)
		expect(t, "updates", retold(n.updates(t, "42", stream.Start, 1)),
			"reset | user(What is your policy?) | started | Refunds are  | possible. | completed | settled completed")
		var s struct {
			Messages    []conversation.View
			Settlements []conversation.Settlement
		}
		if err := json.Unmarshal([]byte(n.history(t, "42")), &s); err != nil {
			t.Fatal(err)
		}
		expect(t, "messages", len(s.Messages), 2)
		expect(t, "reply", *s.Messages[1].Parts[0].Text, "Refunds are possible.")
		expect(t, "state", s.Messages[1].Parts[0].State, "done")
		expect(t, "settlement", s.Settlements[0].Submission, p.SubmissionID)
	})
}

type sumIn struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sumOut struct {
	Sum int `json:"sum"`
}

func adder(calls *atomic.Int32) svc.Tool {
	return svc.NewTool("add", "Adds two numbers.", func(_ context.Context, in sumIn) (sumOut, error) {
		calls.Add(1)
		if in.A < 0 {
			return sumOut{}, errors.New("no negative numbers")
		}
		return sumOut{in.A + in.B}, nil
	})
}

func TestToolsAreCalledSideBySideAndCommittedTogether(t *testing.T) {
	var calls atomic.Int32
	n := startAgent(t, sqlite(t), scripted.New(
		scripted.Turn{scripted.Call("add", sumIn{2, 3}), scripted.Call("add", sumIn{-1, 3}), scripted.Call("nope", sumIn{})},
		scripted.Turn{scripted.Say("5")},
	), func(a *svc.Agent) { a.Tools = []svc.Tool{adder(&calls)} })
	n.prompt(t, "1", "sum")
	expect(t, "updates", retold(n.updates(t, "1", 0, 1)), `user(sum) | started | call add | call add | call nope | completed | `+
		`output {"sum":5} | error no negative numbers | error there is no tool named "nope" | started | 5 | completed | settled completed`)
	expect(t, "calls", calls.Load(), 2)
}

func TestModelErrorThatMayPassIsRetried(t *testing.T) {
	n := startAgent(t, sqlite(t), scripted.New(
		scripted.Turn{scripted.Fail(&model.Error{Class: model.Overloaded, Message: "busy"})},
		scripted.Turn{scripted.Say("hal"), scripted.Fail(&model.Error{Class: model.Network, Message: "cut"})},
		scripted.Turn{scripted.Say("hello")},
	))
	n.prompt(t, "1", "hi")
	expect(t, "updates", retold(n.updates(t, "1", 0, 1)),
		"user(hi) | started | hal | completed | started | hello | completed | settled completed")
}

func TestModelErrorThatStaysFailsTheSubmission(t *testing.T) {
	n := startAgent(t, sqlite(t), scripted.New(
		scripted.Turn{scripted.Fail(&model.Error{Class: model.Rejected, Message: "provider rejected the request"})},
		scripted.Turn{scripted.Say("next")},
	))
	n.prompt(t, "1", "hi")
	n.prompt(t, "1", "again")
	all := n.updates(t, "1", 0, 2)
	expect(t, "updates", retold(all), "user(hi) | settled failed | user(again) | started | next | completed | settled completed")
	expect(t, "error", all[1].Error.Type, "operation_failed")
}

// full is a finder of models that refuses after so many turns, as a workspace does that has no room for more.
func full(p model.Provider, after int32) func(*svc.Config) {
	var turns atomic.Int32
	return func(c *svc.Config) {
		c.Model = func(ctx context.Context, scope, name string) (model.Provider, error) {
			if turns.Add(1) > after {
				return nil, fault.New("storage_quota_exceeded", "The workspace has no room for this.", "").With("limitBytes", 7)
			}
			return model.Providers{"scripted": p}.Find(ctx, scope, name)
		}
	}
}

// TestAFaultInsteadOfAModelEndsTheSubmissionBetweenTurns keeps what the turn before has said and done.
func TestAFaultInsteadOfAModelEndsTheSubmissionBetweenTurns(t *testing.T) {
	var calls atomic.Int32
	p := scripted.New(scripted.Turn{scripted.Say("let me see"), scripted.Call("add", sumIn{2, 3})}, scripted.Turn{scripted.Say("never said")})
	declare, config := talking(p, func(a *svc.Agent) { a.Tools = []svc.Tool{adder(&calls)} })
	n := start(t, sqlite(t), declare, func(c *svc.Config) {
		config(c)
		full(p, 1)(c)
	})
	n.prompt(t, "1", "2 and 3")
	all := n.updates(t, "1", 0, 1)
	got := retold(all)
	if !strings.Contains(got, "let me see") || !strings.Contains(got, `output {"sum":5}`) || strings.Contains(got, "never") || !strings.HasSuffix(got, "settled failed") {
		t.Errorf("updates %s; want what was said and the sum, and then a failure", got)
	}
	failure := all[len(all)-1].Error
	expect(t, "type", failure.Type, "storage_quota_exceeded")
	expect(t, "meta", fmt.Sprint(failure.Meta["limitBytes"]), "7")
	expect(t, "calls", calls.Load(), 1)
}

func TestAbortStopsARunningReplyAndTheNextGoesOn(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := startAgent(t, address, scripted.New(
			scripted.Turn{scripted.Say("once "), scripted.Hang()},
			scripted.Turn{scripted.Say("fine")},
		))
		first := n.prompt(t, "1", "story")
		second := n.prompt(t, "1", "queued")
		third := n.prompt(t, "1", "after")
		eventually(t, "the reply begins", func() bool { return strings.Contains(n.history(t, "1"), "once") })
		for _, id := range []string{second.SubmissionID, first.SubmissionID} {
			if ok, err := n.Abort(t.Context(), "a", "1", id); err != nil || !ok {
				t.Fatalf("abort: %v, %v", ok, err)
			}
		}
		all := n.updates(t, "1", 0, 3)
		expect(t, "updates", retold(all), "user(story) | started | once  | completed | advisory(The submission was aborted.) | settled aborted | "+
			"advisory(The submission was aborted.) | settled aborted | user(after) | started | fine | completed | settled completed")
		expect(t, "last", all[len(all)-1].SubmissionID, third.SubmissionID)
		if ok, _ := n.Abort(t.Context(), "a", "1", ""); ok {
			t.Error("an idle instance was aborted")
		}
	})
}

func TestDeadlineCancelsTheModel(t *testing.T) {
	n := startAgent(t, sqlite(t), scripted.New(scripted.Turn{scripted.Say("slow "), scripted.Hang()}), func(a *svc.Agent) {
		a.Timeout = 2 * time.Second
	})
	n.prompt(t, "1", "hi")
	all := n.updates(t, "1", 0, 1)
	expect(t, "updates", retold(all), "user(hi) | started | slow  | completed | advisory(The submission was interrupted.) | settled failed")
	expect(t, "error", all[len(all)-1].Error.Type, "submission_timeout")
}

func TestSubAgentAnswersATask(t *testing.T) {
	n := startAgent(t, sqlite(t), scripted.Choose(func(r model.Request) scripted.Turn {
		switch {
		case r.System == "You find things.":
			return scripted.Turn{scripted.Say("found it")}
		case len(r.Messages) == 1:
			return scripted.Turn{scripted.Call("task", map[string]string{"agent": "finder", "prompt": "find it"})}
		}
		return scripted.Turn{scripted.Say("done")}
	}), func(a *svc.Agent) {
		a.Agents = []*svc.Agent{{Name: "finder", Description: "Finds.", Instructions: "You find things.", Model: "scripted/test"}}
	})
	n.prompt(t, "1", "go")
	expect(t, "updates", retold(n.updates(t, "1", 0, 1)),
		`user(go) | started | call task | completed | output "found it" | started | done | completed | settled completed`)
}

func TestStoppedConversationGoesOnElsewhere(t *testing.T) {
	address := sqlite(t)
	declare, config := talking(scripted.New(scripted.Turn{scripted.Say("once "), scripted.Hang()}))
	first := start(t, address, declare, config, func(c *svc.Config) { c.StopTimeout = 50 * time.Millisecond })
	first.prompt(t, "1", "story")
	eventually(t, "the reply begins", func() bool { return strings.Contains(first.history(t, "1"), "once") })
	first.stop()
	n := startAgent(t, address, scripted.New(scripted.Turn{scripted.Say("upon a time")}))
	expect(t, "updates", retold(n.updates(t, "1", 0, 1)), "user(story) | started | once  | completed | "+
		"advisory(The reply above was interrupted before its end.) | advisory(Go on where the reply above ends. Do not repeat it.) | "+
		"started | upon a time | completed | settled completed")
}

func TestHistoryIsTheFoldOfTheLog(t *testing.T) {
	var calls atomic.Int32
	n := startAgent(t, sqlite(t), scripted.Choose(func(r model.Request) scripted.Turn {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == model.RoleUser && strings.Contains(*last.Parts[0].Text, "sum") {
			return scripted.Turn{scripted.Think("sig", "hmm"), scripted.Say("adding"), scripted.Call("add", sumIn{2, 3})}
		}
		return scripted.Turn{scripted.Say("ok")}
	}), func(a *svc.Agent) { a.Tools = []svc.Tool{adder(&calls)} })
	for i := range 5 {
		n.prompt(t, "1", []string{"sum", "hello"}[i%2])
	}
	n.updates(t, "1", 0, 5)
	want := n.history(t, "1")
	var rows []conversation.Row
	var tail conversation.Tail
	after := svc.Position{Offset: stream.Start}
	for {
		page, err := n.store.Read(t.Context(), n.AgentStream("a", "1"), svc.Range{After: after, Through: stream.Tail, Items: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page.Batches {
			records, err := conversation.DecodeBatch(b.Data)
			if err != nil {
				t.Fatal(err)
			}
			more, err := tail.Apply(records)
			if err != nil {
				t.Fatal(err)
			}
			rows, after = append(rows, more...), b.Position()
		}
		if !page.More {
			break
		}
	}
	var head struct{ ConversationID, Offset string }
	_ = json.Unmarshal([]byte(want), &head)
	at, err := stream.Parse(head.Offset)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := conversation.History(head.ConversationID, at, rows, &tail)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := stream.Encode(snapshot)
	expect(t, "rebuilt history", string(got), want)
}

func TestLongBackoffIsParkedAndCounted(t *testing.T) {
	overloaded := func(after time.Duration) scripted.Turn {
		return scripted.Turn{scripted.Fail(&model.Error{Class: model.RateLimited, Message: "slow down", RetryAfter: after})}
	}
	soon := overloaded(50 * time.Millisecond)
	declare, config := talking(scripted.New(overloaded(3*time.Second), soon, soon, soon))
	n := start(t, sqlite(t), declare, config, func(c *svc.Config) { c.Park = 10 * time.Millisecond })
	p := n.prompt(t, "1", "hi")
	var list []svc.ListedSubmission
	eventually(t, "the prompt is parked", func() bool {
		var err error
		if list, err = n.Submissions(t.Context(), "a", "1"); err != nil {
			t.Fatal(err)
		}
		return len(list) == 1 && list[0].State == svc.StateParked
	})
	expect(t, "reason", list[0].Reason, "model_backoff")
	expect(t, "preview", list[0].Preview, "hi")
	expect(t, "id", list[0].ID, p.SubmissionID)
	all := n.updates(t, "1", 0, 1)
	expect(t, "updates", retold(all), "user(hi) | settled failed")
}

func TestReplyThatBreaksOffBehindACallIsAnsweredAnew(t *testing.T) {
	var calls atomic.Int32
	n := startAgent(t, sqlite(t), scripted.New(
		scripted.Turn{scripted.Call("add", sumIn{2, 3}), scripted.Fail(&model.Error{Class: model.Network, Message: "cut"})},
		scripted.Turn{scripted.Say("fine")},
	), func(a *svc.Agent) { a.Tools = []svc.Tool{adder(&calls)} })
	n.prompt(t, "1", "sum")
	expect(t, "updates", retold(n.updates(t, "1", 0, 1)), "user(sum) | started | call add | completed | "+
		"error The call was not made: the reply broke off. | started | fine | completed | settled completed")
	expect(t, "calls", calls.Load(), 0)
}

func TestLongConversationIsSummedUp(t *testing.T) {
	var summaries atomic.Int32
	n := startAgent(t, sqlite(t), scripted.Choose(func(r model.Request) scripted.Turn {
		last := r.Messages[len(r.Messages)-1]
		if strings.HasPrefix(*last.Parts[0].Text, "Sum up") {
			summaries.Add(1)
			return scripted.Turn{scripted.Say("they talked")}
		}
		return scripted.Turn{scripted.Say("heard"), scripted.Finish(model.Finish{
			Reason: model.Stop, Usage: model.Usage{TotalTokens: 30 * len(r.Messages)},
		})}
	}), func(a *svc.Agent) { a.Context = 300 })
	for i := range 12 {
		n.prompt(t, "1", fmt.Sprintf("%d %s", i, strings.Repeat("x", 100)))
		n.updates(t, "1", 0, i+1)
	}
	if summaries.Load() == 0 {
		t.Fatal("nothing was summed up")
	}
	history := n.history(t, "1")
	expect(t, "messages", strings.Count(history, `"role":"user"`), 12)
	expect(t, "summary shown", strings.Contains(history, "they talked"), false)
	n.stop()
}

func TestHistoryInTheMiddleOfAReplyShowsEveryMessageOnce(t *testing.T) {
	declare, config := talking(scripted.New(scripted.Turn{scripted.Say("once "), scripted.Hang()}))
	n := start(t, sqlite(t), declare, config, func(c *svc.Config) { c.Gather, c.StopTimeout = 40*time.Millisecond, 50*time.Millisecond })
	n.prompt(t, "1", "story")
	var history string
	eventually(t, "the reply begins", func() bool {
		history = n.history(t, "1")
		return strings.Contains(history, "once")
	})
	expect(t, "prompts", strings.Count(history, `"role":"user"`), 1)
	expect(t, "replies", strings.Count(history, `"role":"assistant"`), 1)
}

// putting counts the blobs that are kept.
type putting struct {
	*sqlstore.Store
	puts atomic.Int32
}

func (p *putting) Put(ctx context.Context, scope string, r io.Reader) (svc.Blob, error) {
	p.puts.Add(1)
	return p.Store.Put(ctx, scope, r)
}

// TestAKeyThatWasSeenBeforeKeepsNoAttachment sends a key again, with the same image and with another.
func TestAKeyThatWasSeenBeforeKeepsNoAttachment(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		var kept *putting
		declare, config := talking(scripted.New(scripted.Turn{scripted.Say("fine")}))
		n := start(t, address, declare, config, func(c *svc.Config) {
			kept = &putting{Store: c.Store.(*sqlstore.Store)}
			c.Store = kept
		})
		send := func(key, data string) (svc.Prompted, error) {
			m := conversation.Message{Kind: "user", Body: "x", Attachments: []conversation.Attachment{{MimeType: "image/png", Data: []byte(data)}}}
			return n.Prompt(t.Context(), "a", "1", svc.Prompt{Message: m, Key: key, Body: []byte(data)})
		}
		first, err := send("k", "one")
		if err != nil {
			t.Fatal(err)
		}
		again, err := send("k", "one")
		if err != nil || !again.Replayed || again.SubmissionID != first.SubmissionID || again.Offset != first.Offset {
			t.Errorf("again: %+v, first %+v, %v", again, first, err)
		}
		if _, err := send("k", "another"); !fault.Is(err, fault.IdempotencyConflict) {
			t.Errorf("another: %v", err)
		}
		expect(t, "kept", kept.puts.Load(), 1)
	})
}

// TestConversationsAreListedByTheirFirstLine begins conversations in ways that could mislead a reader of beginnings.
func TestConversationsAreListedByTheirFirstLine(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := startAgent(t, address, scripted.Choose(func(model.Request) scripted.Turn { return scripted.Turn{scripted.Say("ok")} }))
		long := strings.Repeat("é", 5000)
		for id, c := range map[string]struct{ body, by, title string }{
			"plain":  {"Hello", "ada", "Hello"},
			"lines":  {"\n \r\n  Two lines: \"a\"\t\nand more", "ada customer acc_1 key_1", `Two lines: "a"`},
			"long":   {long, "bo", long[:200]},
			"empty":  {"", "ada", ""},
			"nobody": {`,"by":"eve"`, "", `,"by":"eve"`},
			"forged": {`x`, `a","body":"y`, `x`},
		} {
			for _, body := range []string{c.body, "and then"} {
				if _, err := n.Prompt(t.Context(), "a", id, svc.Prompt{Message: conversation.Message{Kind: "user", Body: body}, By: c.by}); err != nil {
					t.Fatal(err)
				}
			}
			n.updates(t, id, 0, 2)
			list, err := n.Conversations(t.Context(), "a", nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			got := list.Conversations[0]
			expect(t, "id", got.ID, id)
			expect(t, id, got.Title, c.title)
			expect(t, "by", got.StartedBy, c.by)
			expect(t, "state", got.State, svc.StateIdle)
			expect(t, "input", got.First == nil, true)
		}
	})
}
