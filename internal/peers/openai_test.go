package peers

import (
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"svc.dev/svc/model/modeltest"
)

func openAI(t *testing.T, api modeltest.API, r modeltest.Reply) openai.Client {
	s := modeltest.NewServer(t, api, r)
	return openai.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey(modeltest.Key), option.WithMaxRetries(0))
}

func askResponses(t *testing.T, r modeltest.Reply) (final responses.Response, text string, err error) {
	client := openAI(t, modeltest.Responses, r)
	stream := client.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{
		Model: "gpt-6.1-sol", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Weather?")},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("weather", schema, false)},
	})
	defer stream.Close()
	for stream.Next() {
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
		case responses.ResponseCompletedEvent:
			final = e.Response
		case responses.ResponseErrorEvent:
			return final, text, errors.New(e.Code)
		}
	}
	return final, text, stream.Err()
}

func TestResponsesReadsAll(t *testing.T) {
	for _, split := range []bool{false, true} {
		r := said
		r.Split = split
		final, text, err := askResponses(t, r)
		if err != nil || text != "Grüß Gott" || final.OutputText() != text || len(final.Output) != 4 {
			t.Fatalf("%q, %+v, %v", text, final, err)
		}
		thought, call := final.Output[0].AsReasoning(), final.Output[2].AsFunctionCall()
		if thought.EncryptedContent != said.Signature || thought.Summary[0].Text != "Let me see." {
			t.Errorf("reasoning %+v", thought)
		}
		if call.CallID != "call_1" || call.Name != "weather" || call.Arguments != arguments {
			t.Errorf("call %+v", call)
		}
		u := final.Usage
		if u.InputTokens != int64(usage.Input+usage.CacheRead+usage.CacheWrite) || u.OutputTokens != int64(usage.Output) ||
			u.InputTokensDetails.CachedTokens != int64(usage.CacheRead) || u.InputTokensDetails.CacheWriteTokens != int64(usage.CacheWrite) {
			t.Errorf("usage %+v", u)
		}
	}
}

func askChat(t *testing.T, r modeltest.Reply, more ...openai.ChatCompletionMessageParamUnion) (openai.ChatCompletion, error) {
	client := openAI(t, modeltest.Chat, r)
	stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
		Model:         "gpt-6.1-sol",
		Messages:      append([]openai.ChatCompletionMessageParamUnion{openai.UserMessage("Weather?")}, more...),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	})
	defer stream.Close()
	acc := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			return acc.ChatCompletion, errors.New("a chunk does not fit")
		}
	}
	return acc.ChatCompletion, stream.Err()
}

func TestChatReadsAll(t *testing.T) {
	for _, split := range []bool{false, true} {
		r := said
		r.Split = split
		c, err := askChat(t, r)
		if err != nil || len(c.Choices) != 1 {
			t.Fatalf("%+v, %v", c, err)
		}
		m := c.Choices[0].Message
		if m.Content != "Grüß Gott" || len(m.ToolCalls) != 2 || c.Choices[0].FinishReason != "tool_calls" {
			t.Fatalf("%+v", m)
		}
		if call := m.ToolCalls[0]; call.ID != "call_1" || call.Function.Name != "weather" || call.Function.Arguments != arguments {
			t.Errorf("call %+v", call)
		}
		u := c.Usage
		if u.PromptTokens != int64(usage.Input+usage.CacheRead+usage.CacheWrite) || u.CompletionTokens != int64(usage.Output) ||
			u.PromptTokensDetails.CachedTokens != int64(usage.CacheRead) {
			t.Errorf("usage %+v", u)
		}
	}
}

func TestChatTakesAnAnswer(t *testing.T) {
	first, err := askChat(t, said)
	if err != nil {
		t.Fatal(err)
	}
	answer := first.Choices[0].Message.ToParam()
	if _, err := askChat(t, modeltest.Reply{}, answer, openai.ToolMessage("sunny", "call_1"), openai.ToolMessage("noon", "call_2")); err != nil {
		t.Error(err)
	}
	_, err = askChat(t, modeltest.Reply{}, answer, openai.ToolMessage("sunny", "call_1"))
	if e := (*openai.Error)(nil); !errors.As(err, &e) || e.StatusCode != 400 {
		t.Errorf("a call without a result: %v", err)
	}
}

func TestOpenAISeesFaults(t *testing.T) {
	for kind, status := range map[modeltest.Kind]int{
		modeltest.RateLimit: 429, modeltest.Overload: 503, modeltest.Breakdown: 500, modeltest.WrongKey: 401, modeltest.TooLong: 400,
	} {
		fault := modeltest.Reply{Fault: &modeltest.Fault{Kind: kind}}
		_, _, errResponses := askResponses(t, fault)
		_, errChat := askChat(t, fault)
		for _, err := range []error{errResponses, errChat} {
			if e := (*openai.Error)(nil); !errors.As(err, &e) || e.StatusCode != status || e.Code == "" {
				t.Errorf("%s: %v", kind, err)
			}
		}
		fault.Fault.Midway = true
		if _, _, err := askResponses(t, fault); err == nil {
			t.Errorf("%s midway is not seen by responses", kind)
		}
		if _, err := askChat(t, fault); err == nil {
			t.Errorf("%s midway is not seen by chat", kind)
		}
	}
}
