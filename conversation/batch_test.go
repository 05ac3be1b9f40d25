package conversation_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"svc.dev/svc/conversation"
)

// deltas are as a model streams them, with another thread's and another kind's among them.
func deltas() []conversation.Record {
	text := conversation.Record{
		Type: conversation.TextDelta, Conversation: "conv_1", At: 1000, Submission: "sub_1", Turn: "turn_1", Message: "entry_1", Text: "one ",
	}
	list := []conversation.Record{{Type: conversation.TextStarted, Conversation: "conv_1", At: 999, Message: "entry_1"}, text}
	for i, change := range []func(*conversation.Record){
		func(r *conversation.Record) { r.Text = "two " },
		func(r *conversation.Record) { r.Text, r.At = "", 990 }, // a clock was set back
		func(r *conversation.Record) { r.Session = "task:1" },
		func(r *conversation.Record) { r.Message = "entry_2" },
		func(r *conversation.Record) { r.Turn = "turn_2" },
		func(r *conversation.Record) { r.Submission = "sub_2" },
		func(r *conversation.Record) { r.Conversation = "conv_2" },
		func(r *conversation.Record) { r.Type = conversation.ReasoningDelta },
	} {
		other := text
		other.At += int64(i)
		change(&other)
		list = append(list, other, text)
	}
	return append(list, conversation.Record{Type: conversation.TextCompleted, Conversation: "conv_1", At: 1001, Message: "entry_1"})
}

func TestABatchReadsBackAsItWasWritten(t *testing.T) {
	all := deltas()
	for n := range len(all) {
		want := all[:n+1]
		data, err := conversation.EncodeBatch(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := conversation.DecodeBatch(data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v\n got %+v\nwant %+v\nfrom %s", err, got, want, data)
		}
	}
}

func TestADeltaThatFollowsIsItsText(t *testing.T) {
	list := deltas()[1:3]
	data, err := conversation.EncodeBatch(list)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(data), `},[0,"two "]]`) {
		t.Errorf("encoded as %s", data)
	}
}

// TestABatchOfWholeRecordsIsRead is for logs that were written before.
func TestABatchOfWholeRecordsIsRead(t *testing.T) {
	got, err := conversation.DecodeBatch([]byte(`[{"type":"assistant_text_delta","conversationId":"c","at":1,"text":"a"},` +
		`{"type":"assistant_text_delta","conversationId":"c","at":2,"text":"b"}]`))
	if err != nil || len(got) != 2 || got[1].Text != "b" || got[1].At != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzDecodeBatch(f *testing.F) {
	data, err := conversation.EncodeBatch(deltas())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, bad := range []string{`[[1,"a"]]`, `[{},[1]]`, `[{},["a",1]]`, `[{},[1,"a",2]]`, `[null,[0,"a"]]`, `{}`, `[`, ``} {
		f.Add([]byte(bad))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := conversation.DecodeBatch(data)
		if err != nil {
			if !errors.Is(err, conversation.ErrCorrupt) {
				t.Errorf("%q is refused with %v", data, err)
			}
			return
		}
		again, err := conversation.EncodeBatch(records)
		if err != nil {
			return // a number that JSON cannot hold twice
		}
		same, err := conversation.DecodeBatch(again)
		if err != nil || len(same) != len(records) {
			t.Errorf("%q reads as %d records, and %q as %d: %v", data, len(records), again, len(same), err)
		}
	})
}
