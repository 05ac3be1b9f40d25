package conversation_test

import (
	"strings"
	"testing"

	"svc.dev/svc/conversation"
)

// answering are the records of a conversation up to a reply that has begun.
func answering() []conversation.Record {
	return []conversation.Record{
		{Type: conversation.Created, Conversation: "conv_1", Kind: conversation.KindRoot, At: 1},
		{Type: conversation.UserMessage, Conversation: "conv_1", At: 2, Submission: "sub_1", Message: "entry_0", Text: "hello"},
		{Type: conversation.AssistantStarted, Conversation: "conv_1", At: 3, Submission: "sub_1", Turn: "turn_1", Message: "entry_1"},
	}
}

// saying is one record of the reply.
func saying(typ conversation.Type, text string) conversation.Record {
	return conversation.Record{Type: typ, Conversation: "conv_1", At: 4, Submission: "sub_1", Turn: "turn_1", Message: "entry_1", Text: text}
}

func TestACloneOfATailGoesItsOwnWay(t *testing.T) {
	var tail conversation.Tail
	if _, err := tail.Apply(append(answering(), saying(conversation.TextStarted, ""), saying(conversation.TextDelta, "one "))); err != nil {
		t.Fatal(err)
	}
	other := tail.Clone()
	for of, text := range map[*conversation.Tail]string{&tail: "mine", other: "another's"} {
		if _, err := of.Apply([]conversation.Record{saying(conversation.TextDelta, text)}); err != nil {
			t.Fatal(err)
		}
	}
	for of, want := range map[*conversation.Tail]string{&tail: `"one mine"`, other: `"one another's"`} {
		if got, err := of.Unfinished(); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	if none := (&conversation.Tail{}).Clone(); none.Open() {
		t.Error("the clone of nothing is in progress")
	}
}

func TestTheOpenBlockIsTheLastOneOfTheReply(t *testing.T) {
	state := conversation.NewState()
	if err := state.Apply(answering()[:2]); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		record conversation.Record
		want   string
	}{
		{answering()[2], ""}, {saying(conversation.ReasoningStarted, ""), "reasoning"}, {saying(conversation.TextStarted, ""), "text"},
		{saying(conversation.TextDelta, "one "), "text"}, {saying(conversation.AssistantCompleted, ""), ""},
	} {
		if err := state.Apply([]conversation.Record{c.record}); err != nil {
			t.Fatal(err)
		}
		if got := state.Root().OpenBlock(); got != c.want {
			t.Errorf("after %s: %q, want %q", c.record.Type, got, c.want)
		}
	}
}

// TestWhatReadersAreShownIsOfTheDefaultSession holds the name to the records of which it is: they leave it out.
func TestWhatReadersAreShownIsOfTheDefaultSession(t *testing.T) {
	if own := saying(conversation.TextDelta, "x"); !own.Public() || conversation.DefaultSession != "default" {
		t.Errorf("%q is not shown", conversation.DefaultSession)
	}
}

// TestMissesOfAResultAreCountedSinceTheInput reminds a model, refuses what it gives, and sums up in between.
func TestMissesOfAResultAreCountedSinceTheInput(t *testing.T) {
	state := conversation.NewState()
	gives := func(isError bool) conversation.Record {
		r := saying(conversation.ResultsCommitted, "")
		r.Outcomes = []conversation.Outcome{
			{Call: "call_1", Name: "other", IsError: true}, {Call: "call_2", Name: conversation.ResultTool, Output: []byte("5"), IsError: isError},
		}
		return r
	}
	reminder := saying(conversation.SignalMessage, "Give it.")
	reminder.Submission, reminder.Advisory, reminder.Hidden, reminder.SignalType = "", true, true, conversation.ResultMissing
	another := reminder
	another.Advisory = false // a signal that somebody sends
	final := saying(conversation.AssistantCompleted, "")
	final.Stop = conversation.StopEnd
	next := answering()[1]
	next.Submission = "sub_2"
	for i, c := range []struct {
		records []conversation.Record
		misses  int
		owed    conversation.Owed
		result  string
	}{
		{append(answering(), final), 0, conversation.OwedSettlement, ""}, {[]conversation.Record{reminder}, 1, conversation.OwedReply, ""},
		{[]conversation.Record{gives(true)}, 2, conversation.OwedReply, ""}, {nil, 2, conversation.OwedReply, ""},
		{[]conversation.Record{gives(false)}, 2, conversation.OwedReply, "5"}, {[]conversation.Record{next}, 0, conversation.OwedInput, ""},
		{[]conversation.Record{another}, 0, conversation.OwedInput, ""},
	} {
		if c.records == nil {
			compacted, err := state.Root().Compacted("so far", 1)
			if err != nil {
				t.Fatal(err)
			}
			c.records = []conversation.Record{compacted}
			state = conversation.NewState()
		}
		if err := state.Apply(c.records); err != nil {
			t.Fatal(err)
		}
		root := state.Root()
		if root.Misses() != c.misses || root.Resume("sub_1") != c.owed || string(root.Result()) != c.result {
			t.Errorf("%d: %d misses, owed %s, result %q; want %d, %s, %q", i, root.Misses(), root.Resume("sub_1"), root.Result(), c.misses, c.owed, c.result)
		}
	}
}
