package peers

import (
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"svc.dev/svc/model/modeltest"
)

func askAnthropic(t *testing.T, r modeltest.Reply, messages ...anthropic.MessageParam) (anthropic.Message, error) {
	s := modeltest.NewServer(t, modeltest.Anthropic, r)
	client := anthropic.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey(modeltest.Key), option.WithMaxRetries(0))
	messages = append([]anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Weather?"))}, messages...)
	stream := client.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{
		Model: anthropic.ModelClaudeOpus5_5, MaxTokens: 1024, Messages: messages,
		Tools: []anthropic.ToolUnionParam{anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: schema["properties"]}, "weather")},
	})
	defer stream.Close()
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			return m, err
		}
	}
	return m, stream.Err()
}

func TestAnthropicReadsAll(t *testing.T) {
	for _, split := range []bool{false, true} {
		r := said
		r.Split = split
		m, err := askAnthropic(t, r)
		if err != nil || len(m.Content) != 4 {
			t.Fatalf("%+v, %v", m, err)
		}
		if b := m.Content[0]; b.Thinking != "Let me see." || b.Signature != said.Signature {
			t.Errorf("thinking %+v", b)
		}
		if m.Content[1].Text != "Grüß Gott" || string(m.Content[2].Input) != arguments || m.Content[2].ID != "call_1" || string(m.Content[3].Input) != "{}" {
			t.Errorf("content %+v", m.Content[1:])
		}
		u := m.Usage
		if m.StopReason != anthropic.StopReasonToolUse || u.InputTokens != int64(usage.Input) || u.OutputTokens != int64(usage.Output) ||
			u.CacheReadInputTokens != int64(usage.CacheRead) || u.CacheCreationInputTokens != int64(usage.CacheWrite) {
			t.Errorf("%s, %+v", m.StopReason, u)
		}
	}
}

func TestAnthropicTakesAnAnswer(t *testing.T) {
	first, err := askAnthropic(t, said)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := askAnthropic(t, modeltest.Reply{}, first.ToParam(), anthropic.NewUserMessage(
		anthropic.NewToolResultBlock("call_1", "sunny", false), anthropic.NewToolResultBlock("call_2", "broken", true))); err != nil {
		t.Error(err)
	}
	_, err = askAnthropic(t, modeltest.Reply{}, first.ToParam(), anthropic.NewUserMessage(anthropic.NewTextBlock("Well?")))
	if e := (*anthropic.Error)(nil); !errors.As(err, &e) || e.StatusCode != 400 {
		t.Errorf("a call without a result: %v", err)
	}
}

func TestAnthropicSeesFaults(t *testing.T) {
	for kind, status := range map[modeltest.Kind]int{
		modeltest.RateLimit: 429, modeltest.Overload: 529, modeltest.Breakdown: 500, modeltest.WrongKey: 401, modeltest.TooLong: 400,
	} {
		_, err := askAnthropic(t, modeltest.Reply{Fault: &modeltest.Fault{Kind: kind}})
		if e := (*anthropic.Error)(nil); !errors.As(err, &e) || e.StatusCode != status {
			t.Errorf("%s: %v", kind, err)
		}
		if _, err := askAnthropic(t, modeltest.Reply{Fault: &modeltest.Fault{Kind: kind, Midway: true}}); err == nil {
			t.Errorf("%s midway is not seen", kind)
		}
	}
}
