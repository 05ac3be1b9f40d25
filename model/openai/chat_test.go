package openai

import (
	"strings"
	"testing"

	"svc.dev/svc/model"
	"svc.dev/svc/model/modeltest"
)

// FuzzChatStream reads anything, and finds an end.
func FuzzChatStream(f *testing.F) {
	for _, seed := range seedsChat {
		f.Add(seed)
	}
	f.Add(modeltest.Stream(modeltest.Chat, modeltest.Reply{}))
	f.Add(modeltest.Stream(modeltest.Chat, modeltest.Reply{
		Reasoning: []string{"Hm"}, Signature: "c2ln", Text: []string{"So"}, Calls: []model.ToolCall{{ID: "c", Name: "add", Input: []byte(`{"a":1}`)}},
	}))
	p := New(Config{Key: "k"})
	f.Fuzz(func(t *testing.T, body string) {
		modeltest.Listen(t, p.wire.Read(strings.NewReader(body), "test", &chatParser{}))
	})
}

var seedsChat = []string{
	"data: {\"error\":{\"message\":\"no\",\"code\":502}}\n\n",
	"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1},{\"index\":99999}]},\"finish_reason\":\"stop\"}]}\n\n",
	"data: [DONE]\n\n",
	"data: null\n\n",
}

func hearChat(t *testing.T, chunks ...string) modeltest.Heard {
	t.Helper()
	p := New(Config{Key: "k"})
	body := "data: " + strings.Join(chunks, "\n\ndata: ") + "\n\n"
	return modeltest.Listen(t, p.wire.Read(strings.NewReader(body), "gpt-5", &chatParser{}))
}

func TestCallsOfServersThatDoNotNumberThem(t *testing.T) {
	h := hearChat(t,
		`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"one","arguments":"{\"x\""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"two"}}]},"finish_reason":"stop"}]}`)
	if h.Err != nil || len(h.Calls) != 2 || string(h.Calls[0].Input) != `{"x":1}` || h.Calls[1].ID == "" || h.Finish.Reason != model.ToolUse {
		t.Errorf("heard %+v; want two calls, the first with its whole input", h)
	}
}

func TestCallsMixedByNumber(t *testing.T) {
	h := hearChat(t,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"one"}},{"index":1,"id":"b","function":{"name":"two"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\"y\":"}},{"index":0,"function":{"arguments":"{}"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"2}"}}]},"finish_reason":"tool_calls"}]}`, done)
	if h.Err != nil || len(h.Calls) != 2 || string(h.Calls[1].Input) != `{"y":2}` {
		t.Errorf("heard %+v; want two calls, the second with its own input", h)
	}
}

func TestOverflowInOtherWords(t *testing.T) {
	for _, sentence := range []string{
		"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
		"the request exceeds the available context size, try increasing it",
	} {
		h := hearChat(t, `{"error":{"message":"`+sentence+`","code":400}}`)
		if !model.IsOverflow(h.Err) {
			t.Errorf("%s: %v", sentence, h.Err)
		}
	}
}
