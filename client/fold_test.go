package client_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/client"
	"svc.dev/svc/conversation"
	"svc.dev/svc/model"
	"svc.dev/svc/stream"
)

// author writes the log of a conversation at random, as a runtime could: what follows what is held to, and what shares a batch is not.
type author struct {
	*rand.Rand
	batches [][]conversation.Record
	ids     int
	now     string // the submission that is worked on
}

const theConversation = "conv_01K0WEZ7H3Q9V5B2C8D4F6G1JK"

// write makes a log of a number of submissions.
func write(seed uint64, submissions int) [][]conversation.Record {
	a := &author{Rand: rand.New(rand.NewPCG(seed, 1))}
	a.add(conversation.Record{Type: conversation.Created, Kind: conversation.KindRoot})
	a.batches = append(a.batches, nil) // creation is a batch of its own
	for range submissions {
		a.submission()
	}
	return slices.DeleteFunc(a.batches, func(b []conversation.Record) bool { return len(b) == 0 })
}

// add appends a record, to the last batch or to one of its own.
func (a *author) add(r conversation.Record) {
	r.Conversation, r.At = theConversation, 1782907200000+int64(len(a.batches))*7
	if r.Submission == "" && r.Type != conversation.Created && !r.Advisory {
		r.Submission = a.now
	}
	if len(a.batches) == 0 || a.IntN(2) == 0 {
		a.batches = append(a.batches, nil)
	}
	last := len(a.batches) - 1
	a.batches[last] = append(a.batches[last], r)
}

func (a *author) id(kind string) string {
	a.ids++
	return fmt.Sprintf("%s_%d", kind, a.ids)
}

func (a *author) submission() {
	a.now = a.id("submission")
	outcome := []string{"completed", "failed", "aborted"}[a.IntN(3)]
	if a.IntN(5) > 0 {
		a.input()
		for turns := a.IntN(3); turns >= 0; turns-- {
			if calls := a.reply(); len(calls) > 0 {
				a.results(calls)
			}
		}
	}
	settled := &conversation.Settlement{Submission: a.now, Outcome: outcome, Private: a.IntN(6) == 0}
	if outcome != "completed" {
		settled.Error = &conversation.Error{Name: "Error", Message: "It is over.", Type: "submission_" + outcome, Details: "", Meta: map[string]any{"attemptCount": 3}}
		a.add(conversation.Record{Type: conversation.SignalMessage, Message: a.id("entry"), Text: "over", SignalType: "submission_" + outcome, Advisory: true, Hidden: a.IntN(2) == 0,
			Attributes: &conversation.Attributes{{Name: "submissionId", Value: a.now}, {Name: "reason", Value: outcome}}})
	}
	a.add(conversation.Record{Type: conversation.Settled, Settlement: settled})
}

func (a *author) input() {
	r := conversation.Record{Type: conversation.UserMessage, Message: a.id("entry"), Text: a.text(), Version: []string{"", "7"}[a.IntN(2)]}
	switch a.IntN(4) {
	case 0:
		r.Type, r.SignalType, r.TagName = conversation.SignalMessage, "webhook", "event"
		if a.IntN(2) == 0 {
			r.TagName, r.Attributes = "", &conversation.Attributes{{Name: "z", Value: "<1>"}, {Name: "a", Value: ""}}
		}
	case 1:
		r.Files = []conversation.File{{ID: a.id("att"), MimeType: "image/png", Size: 3, Digest: "sha256:00", Filename: []string{"", "a.png"}[a.IntN(2)]}}
	}
	a.add(r)
}

func (a *author) text() string {
	return []string{"", "a", "hello ", "<b> & \"c\"\n", "é\u2028 "}[a.IntN(5)]
}

// reply is one message of the assistant; it returns the ids of the tools that it calls.
func (a *author) reply() (calls []string) {
	message, turn := a.id("entry"), a.id("turn")
	record := func(r conversation.Record) {
		r.Message, r.Turn = message, turn
		a.add(r)
	}
	record(conversation.Record{Type: conversation.AssistantStarted, Model: &conversation.ModelName{Provider: "acme", ID: "large"}, Version: []string{"", "7"}[a.IntN(2)]})
	for blocks := a.IntN(4); blocks > 0; blocks-- {
		switch kind := a.IntN(3); kind {
		case 2:
			calls = append(calls, a.id("call"))
			record(conversation.Record{Type: conversation.ToolCalled, Call: &conversation.Call{ID: calls[len(calls)-1], Name: "add", Input: json.RawMessage(`{"a":2.50,"b":[]}`)}})
		default:
			types := [][3]conversation.Type{
				{conversation.TextStarted, conversation.TextDelta, conversation.TextCompleted},
				{conversation.ReasoningStarted, conversation.ReasoningDelta, conversation.ReasoningCompleted},
			}[kind]
			record(conversation.Record{Type: types[0]})
			for deltas := a.IntN(5); deltas > 0; deltas-- {
				record(conversation.Record{Type: types[1], Text: "x" + a.text()})
			}
			record(conversation.Record{Type: types[2]})
		}
	}
	record(conversation.Record{Type: conversation.AssistantCompleted, Usage: &model.Usage{Input: 1, Output: 2, TotalTokens: 3, Cost: model.Cost{Total: 0.5}}})
	return calls
}

// results are those of all calls of a message at once.
func (a *author) results(calls []string) {
	var outcomes []conversation.Outcome
	for _, id := range calls {
		o := conversation.Outcome{Call: id, Name: "add"}
		if ms := int64(a.IntN(2)); ms > 0 {
			o.DurationMs = &ms
		}
		switch a.IntN(4) {
		case 0:
			o.IsError, o.Content = true, []conversation.Block{conversation.TextBlock("no"), conversation.TextBlock("way")}
		case 1:
			o.Output = json.RawMessage(`{"sum":5}`)
		case 2:
			o.Content = []conversation.Block{conversation.TextBlock("5")}
		default:
			o.Output = json.RawMessage(`null`)
		}
		outcomes = append(outcomes, o)
	}
	a.add(conversation.Record{Type: conversation.ToolOutcome, Outcome: &outcomes[0]})
	a.add(conversation.Record{Type: conversation.ResultsCommitted, Outcomes: outcomes})
}

// snapshots are the histories of all prefixes of a log, as the server tells them.
func snapshots(t *testing.T, log [][]conversation.Record) (all []*client.Conversation) {
	t.Helper()
	var rows []conversation.Row
	var tail conversation.Tail
	for i, batch := range log {
		finished, err := tail.Apply(batch)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, finished...)
		s, err := conversation.History(theConversation, stream.Offset(i), rows, &tail)
		if err != nil {
			t.Fatal(err)
		}
		text, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, read[*client.Conversation](t, text))
	}
	return all
}

func read[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// chunks are the updates of a batch.
func chunks(t *testing.T, at int, batch []conversation.Record) (all []client.Update) {
	t.Helper()
	list, err := conversation.ChunksOf(stream.Offset(at), batch)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range list {
		all = append(all, read[client.Update](t, text))
	}
	return all
}

// TestUpdatesFoldToHistory plays random logs: from every snapshot the updates lead to every later one, each of them given twice.
func TestUpdatesFoldToHistory(t *testing.T) {
	logs := 30
	if soak {
		logs = 2000
	}
	for seed := range uint64(logs) {
		log := write(seed, 1+int(seed%5))
		stored := snapshots(t, log)
		for from := range stored {
			c := stored[from].Clone()
			for i := from + 1; i < len(log); i++ {
				for _, u := range chunks(t, i, log[i]) {
					if !c.Apply(u) || c.Apply(u) {
						t.Fatalf("seed %d: %+v is not news, or twice", seed, u)
					}
				}
				if diff := differ(c, stored[i], unfinished(stored[from])...); diff != "" {
					t.Fatalf("seed %d, from %d to %d: %s", seed, from, i, diff)
				}
			}
		}
	}
}

// unfinished are messages whose model a snapshot does not tell.
func unfinished(c *client.Conversation) (open []*client.Message) {
	for _, m := range c.Messages {
		if m.Role == client.RoleAssistant && m.Metadata.Usage == nil {
			open = append(open, m)
		}
	}
	return open
}

// TestTheWholeStreamFoldsToHistory begins with nothing, as a reader from the start does.
func TestTheWholeStreamFoldsToHistory(t *testing.T) {
	for seed := range uint64(100) {
		log := write(seed, 4)
		stored := snapshots(t, log)
		var c client.Conversation
		for i, batch := range log {
			for _, u := range chunks(t, i, batch) {
				c.Apply(u)
			}
			if diff := differ(&c, stored[i]); diff != "" {
				t.Fatalf("seed %d, to %d: %s", seed, i, diff)
			}
		}
	}
}

// TestAConversationIsWrittenAsItIsRead compares the JSON of a conversation with the server's.
func TestAConversationIsWrittenAsItIsRead(t *testing.T) {
	for seed := range uint64(50) {
		for _, c := range snapshots(t, write(seed, 3)) {
			text, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			if diff := differ(read[*client.Conversation](t, text), c); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}

// TestALongReplyIsNotCopiedWithEachWord folds a reply of a million words, and keeps what was seen of it.
func TestALongReplyIsNotCopiedWithEachWord(t *testing.T) {
	var c client.Conversation
	c.Apply(client.Update{Type: client.UpdateStarted, MessageID: "m"})
	early := ""
	const words = 1_000_000
	for i := range words {
		c.Apply(client.Update{Type: client.UpdateDelta, MessageID: "m", Kind: client.PartText, Delta: "word ", Position: client.Position{Batch: int64(i + 1)}})
		if i == 999 {
			early = c.Messages[0].Text()
		}
	}
	c.Apply(client.Update{Type: client.UpdateCompleted, MessageID: "m", Position: client.Position{Batch: words + 1}})
	if got := c.Messages[0].Text(); got != strings.Repeat("word ", words) || early != got[:5000] || c.Messages[0].Parts[0].State != client.StateDone {
		t.Errorf("%d bytes", len(got))
	}
}
