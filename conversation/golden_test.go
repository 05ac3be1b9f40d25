package conversation_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"svc.dev/svc/conversation"
	"svc.dev/svc/model"
	"svc.dev/svc/stream"
)

// log is batches of records, as an agent writes them.
type log [][]conversation.Record

const conv, sub = "conv_01K0WEZ7H3Q9V5B2C8D4F6G1JK", "5b0e4c1e-7c55-4c0e-9a51-3f2f6d0a1b01"

func rec(t conversation.Type, set func(*conversation.Record)) conversation.Record {
	r := conversation.Record{Type: t, Conversation: conv, At: 1782907200120, Submission: sub}
	if set != nil {
		set(&r)
	}
	return r
}

func of(message string) func(*conversation.Record) {
	return func(r *conversation.Record) { r.Message = message }
}

func delta(message, text string) conversation.Record {
	return rec(conversation.TextDelta, func(r *conversation.Record) { r.Message, r.Text = message, text })
}

func input(text string) conversation.Record {
	return rec(conversation.UserMessage, func(r *conversation.Record) { r.Message, r.Text = conversation.DirectID(sub), text })
}

func completed(message string, stop conversation.StopReason) conversation.Record {
	return rec(conversation.AssistantCompleted, func(r *conversation.Record) {
		r.Message, r.Stop, r.Usage = message, stop, &model.Usage{Input: 1, Output: 2, TotalTokens: 3}
	})
}

func called(message, id string) conversation.Record {
	return rec(conversation.ToolCalled, func(r *conversation.Record) {
		r.Message, r.Call = message, &conversation.Call{ID: id, Name: "add", Input: json.RawMessage(`{"a":2}`)}
	})
}

func outcome(id string, failed bool) conversation.Outcome {
	ms := int64(412)
	o := conversation.Outcome{Call: id, Name: "add", DurationMs: &ms, IsError: failed}
	if failed {
		o.Content = []conversation.Block{conversation.TextBlock("lookup failed")}
	} else {
		o.Output = json.RawMessage(`{"sum":5}`)
	}
	return o
}

func settled(outcome string) conversation.Record {
	return rec(conversation.Settled, func(r *conversation.Record) {
		r.Settlement = &conversation.Settlement{Submission: sub, Outcome: outcome}
	})
}

var created = rec(conversation.Created, func(r *conversation.Record) { r.Submission, r.Kind = "", conversation.KindRoot })

// goldens are the shapes that a conversation's log takes.
var goldens = map[string]log{
	"text": {
		{created}, {input("What is your refund policy?")}, {rec(conversation.AssistantStarted, of("entry_1"))},
		{rec(conversation.TextStarted, of("entry_1"))}, {delta("entry_1", "Refunds are "), delta("entry_1", "possible.")},
		{rec(conversation.TextCompleted, of("entry_1"))}, {completed("entry_1", conversation.StopEnd)}, {settled("completed")},
	},
	"tools": {
		{created}, {input("sum"), rec(conversation.AssistantStarted, of("entry_1"))}, {called("entry_1", "c1"), called("entry_1", "c2")},
		{completed("entry_1", conversation.StopTools)},
		{rec(conversation.ToolOutcome, func(r *conversation.Record) { o := outcome("c2", true); r.Outcome = &o })},
		{rec(conversation.ResultsCommitted, func(r *conversation.Record) {
			r.Message, r.Outcomes = "entry_1", []conversation.Outcome{outcome("c1", false), outcome("c2", true)}
		})},
		{rec(conversation.AssistantStarted, of("entry_2")), rec(conversation.TextStarted, of("entry_2")), delta("entry_2", "5")},
		{rec(conversation.TextCompleted, of("entry_2")), completed("entry_2", conversation.StopEnd), settled("completed")},
	},
	"broken": {
		{created}, {input("story")}, {rec(conversation.AssistantStarted, of("entry_1")), rec(conversation.TextStarted, of("entry_1")), delta("entry_1", "once ")},
		{completed("entry_1", conversation.StopAborted), rec(conversation.SignalMessage, func(r *conversation.Record) {
			r.Submission, r.Message, r.SignalType, r.Text, r.Advisory, r.Hidden = "", "entry_recovery_entry_1_stream_interrupted", "stream_interrupted", "It broke.", true, true
		})},
		{rec(conversation.AssistantStarted, of("entry_2")), rec(conversation.TextStarted, of("entry_2")), delta("entry_2", "upon a time"),
			rec(conversation.TextCompleted, of("entry_2")), completed("entry_2", conversation.StopLength), settled("completed")},
	},
	"versions": {
		{created}, {versioned(input("hello"), "7")}, {versioned(rec(conversation.AssistantStarted, of("entry_1")), "7")},
		{rec(conversation.TextStarted, of("entry_1")), delta("entry_1", "Hello."), rec(conversation.TextCompleted, of("entry_1"))},
		{completed("entry_1", conversation.StopEnd), settled("completed")},
	},
}

// versioned is a record of an agent that has a version.
func versioned(r conversation.Record, version string) conversation.Record {
	r.Version = version
	return r
}

// fold is a log as its history.
func fold(t *testing.T, l log) conversation.Snapshot {
	t.Helper()
	var rows []conversation.Row
	var tail conversation.Tail
	for _, batch := range l {
		finished, err := tail.Apply(batch)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, finished...)
	}
	s, err := conversation.History(conv, stream.Offset(len(l)-1), rows, &tail)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestChunksFoldToTheSnapshot plays the chunks of every prefix of every golden log into the reducer that clients have.
func TestChunksFoldToTheSnapshot(t *testing.T) {
	for name, l := range goldens {
		for n := 1; n <= len(l); n++ {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				r := reducer{versions: true}
				r.play(t, l[:n])
				snapshot := fold(t, l[:n])
				compare(t, "messages", r.messages, decode(t, snapshot.Messages))
				compare(t, "settlements", r.settlements, decode(t, snapshot.Settlements))
			})
		}
	}
}

// TestAClientThatKnowsNoVersionsMissesThemAlone plays a log into the reducer as published clients have it, which know nothing of the
// versions of agents: messages that come whole have theirs, and replies lack it and nothing else.
func TestAClientThatKnowsNoVersionsMissesThemAlone(t *testing.T) {
	l := goldens["versions"]
	for n := 1; n <= len(l); n++ {
		var r reducer
		r.play(t, l[:n])
		stored := decode(t, fold(t, l[:n]).Messages)
		for _, m := range stored {
			metadata := m["metadata"].(map[string]any)
			if metadata["agentVersion"] != "7" {
				t.Errorf("the snapshot has %v", m)
			}
			if m["role"] == "assistant" {
				delete(metadata, "agentVersion")
			}
		}
		compare(t, "messages", r.messages, stored)
	}
}

func decode(t *testing.T, list []json.RawMessage) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, raw := range list {
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// compare leaves out what wire.md section 4, invariant 7, lets differ: a text block without a delta has no live part, and a
// message in progress names its model only live.
func compare(t *testing.T, what string, live, stored []map[string]any) {
	t.Helper()
	for _, m := range stored {
		parts, _ := m["parts"].([]any)
		var kept []any
		for _, p := range parts {
			if text, ok := p.(map[string]any)["text"]; !ok || text != "" || p.(map[string]any)["type"] == "file" {
				kept = append(kept, p)
			}
		}
		if _, ok := m["parts"]; ok {
			m["parts"] = kept
		}
	}
	for _, m := range live {
		if parts, ok := m["parts"].([]any); ok && len(parts) == 0 {
			m["parts"] = []any(nil)
		}
	}
	if len(live) == 0 && len(stored) == 0 {
		return
	}
	if !reflect.DeepEqual(live, stored) {
		a, _ := json.MarshalIndent(live, "", " ")
		b, _ := json.MarshalIndent(stored, "", " ")
		t.Errorf("%s:\nlive %s\nstored %s", what, a, b)
	}
}

// reducer is the one of published clients (wire.md section 4).
type reducer struct {
	messages    []map[string]any
	settlements []map[string]any
	versions    bool // beside what they know, it takes the version of the agent that a reply is by
}

// play applies the chunks of a log.
func (r *reducer) play(t *testing.T, l log) {
	t.Helper()
	for i, batch := range l {
		data, err := conversation.EncodeBatch(batch)
		if err != nil {
			t.Fatal(err)
		}
		chunks, err := conversation.Chunks(stream.Offset(i), data)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chunks {
			r.apply(t, c)
		}
	}
}

func (r *reducer) apply(t *testing.T, raw []byte) {
	t.Helper()
	var c map[string]any
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	m := r.find(c["messageId"])
	switch c["type"] {
	case "conversation-reset":
		r.messages, r.settlements = nil, nil
	case "message-appended":
		r.messages = append(r.messages, c["message"].(map[string]any))
	case "message-started":
		m = map[string]any{"id": c["messageId"], "role": "assistant", "purpose": "assistant", "display": "visible",
			"parts": []any{}, "metadata": map[string]any{"timestamp": c["timestamp"]}}
		if c["submissionId"] != nil {
			m["submissionId"] = c["submissionId"]
		}
		if version := c["agentVersion"]; r.versions && version != nil {
			m["metadata"].(map[string]any)["agentVersion"] = version
		}
		r.messages = append(r.messages, m)
	case "message-delta":
		grow(m, c)
	case "tool-input":
		finish(m)
		m["parts"] = append(m["parts"].([]any), map[string]any{"type": "dynamic-tool", "toolName": c["toolName"],
			"toolCallId": c["toolCallId"], "input": c["input"], "state": "input-available"})
	case "tool-output", "tool-output-error":
		r.answer(c)
	case "message-completed":
		finish(m)
		m["metadata"].(map[string]any)["usage"] = c["usage"]
	case "submission-settled":
		s := map[string]any{"submissionId": c["submissionId"], "outcome": c["outcome"]}
		r.settlements = append(r.settlements, s)
	default:
		t.Fatalf("a chunk that clients refuse: %s", raw)
	}
}

func (r *reducer) find(id any) map[string]any {
	for _, m := range r.messages {
		if m["id"] == id {
			return m
		}
	}
	return nil
}

func (r *reducer) answer(c map[string]any) {
	for _, m := range r.messages {
		for _, p := range m["parts"].([]any) {
			part := p.(map[string]any)
			if part["toolCallId"] != c["toolCallId"] {
				continue
			}
			part["durationMs"] = c["durationMs"]
			if c["type"] == "tool-output" {
				part["state"], part["output"] = "output-available", c["output"]
			} else {
				part["state"], part["errorText"] = "output-error", c["errorText"]
			}
		}
	}
}

func grow(m, c map[string]any) {
	parts := m["parts"].([]any)
	if n := len(parts); n > 0 {
		last := parts[n-1].(map[string]any)
		if last["type"] == c["kind"] && last["state"] == "streaming" {
			last["text"] = last["text"].(string) + c["delta"].(string)
			return
		}
	}
	finish(m)
	m["parts"] = append(m["parts"].([]any), map[string]any{"type": c["kind"], "text": c["delta"], "state": "streaming"})
}

func finish(m map[string]any) {
	for _, p := range m["parts"].([]any) {
		if part := p.(map[string]any); part["state"] == "streaming" {
			part["state"] = "done"
		}
	}
}

// TestEveryPrefixOwesWhatLeadsToItsEnd asks every prefix of every golden log what is owed, and finds that the next batches
// bring it.
func TestEveryPrefixOwesWhatLeadsToItsEnd(t *testing.T) {
	want := map[string][]conversation.Owed{
		"text": {conversation.OwedInput, conversation.OwedReply, conversation.OwedClosing, conversation.OwedClosing,
			conversation.OwedClosing, conversation.OwedClosing, conversation.OwedSettlement, conversation.OwedNothing},
		"tools": {conversation.OwedInput, conversation.OwedClosing, conversation.OwedClosing, conversation.OwedResults,
			conversation.OwedResults, conversation.OwedReply, conversation.OwedClosing, conversation.OwedNothing},
		"broken":   {conversation.OwedInput, conversation.OwedReply, conversation.OwedClosing, conversation.OwedReply, conversation.OwedNothing},
		"versions": {conversation.OwedInput, conversation.OwedReply, conversation.OwedClosing, conversation.OwedClosing, conversation.OwedNothing},
	}
	for name, l := range goldens {
		state := conversation.NewState()
		for i, batch := range l {
			if err := state.Apply(batch); err != nil {
				t.Fatal(err)
			}
			if got := state.Root().Resume(sub); got != want[name][i] {
				t.Errorf("%s after batch %d owes %s, want %s", name, i, got, want[name][i])
			}
		}
	}
}

func TestModelIsGivenTheWordsOfTheContract(t *testing.T) {
	state := conversation.NewState()
	attributes := conversation.Attributes{{Name: "sender", Value: "U123"}, {Name: "channel", Value: "C9"}}
	err := state.Apply([]conversation.Record{created, rec(conversation.SignalMessage, func(r *conversation.Record) {
		r.Message, r.SignalType, r.TagName, r.Attributes, r.Text = "entry_1", "slack.message", "slack", &attributes, "Can someone look at <this>?"
	}), rec(conversation.UserMessage, func(r *conversation.Record) {
		r.Message, r.Text, r.Files = "entry_2", "See", []conversation.File{{ID: "att_1", MimeType: "image/png"}}
	})})
	if err != nil {
		t.Fatal(err)
	}
	messages := state.Root().Messages()
	if got, want := *messages[0].Parts[0].Text, "<slack type=\"slack.message\" sender=\"U123\" channel=\"C9\">\nCan someone look at &lt;this&gt;?\n</slack>"; got != want {
		t.Errorf("signal:\n%s\nwant\n%s", got, want)
	}
	if got, want := *messages[1].Parts[0].Text, "See\n\n<attachments>\n<image id=\"att_1\" mimeType=\"image/png\" />\n</attachments>"; got != want {
		t.Errorf("user:\n%s\nwant\n%s", got, want)
	}
	if messages[1].Parts[1].Image.Attachment != "att_1" {
		t.Error("the image is not named")
	}
}

func TestCompactionCarriesOn(t *testing.T) {
	state := conversation.NewState()
	for _, batch := range goldens["tools"][:6] {
		if err := state.Apply(batch); err != nil {
			t.Fatal(err)
		}
	}
	record, err := state.Root().Compacted("a summary", 1)
	if err != nil {
		t.Fatal(err)
	}
	fresh := conversation.NewState()
	if err := fresh.Apply([]conversation.Record{record}); err != nil {
		t.Fatal(err)
	}
	if got := fresh.Root().Resume(sub); got != conversation.OwedReply {
		t.Errorf("owed %s", got)
	}
	messages := fresh.Root().Messages()
	// The results stay with the reply that asked for them.
	if len(messages) != 3 || messages[2].Role != model.RoleTool || messages[1].Role != model.RoleAssistant {
		t.Errorf("%d messages: %+v", len(messages), messages)
	}
}
