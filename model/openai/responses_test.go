package openai

import (
	"strings"
	"testing"

	"svc.dev/svc/model"
	"svc.dev/svc/model/modeltest"
)

// FuzzResponsesStream reads anything, and finds an end.
func FuzzResponsesStream(f *testing.F) {
	for _, seed := range seedsResponses {
		f.Add(seed)
	}
	f.Add(modeltest.Stream(modeltest.Responses, modeltest.Reply{}))
	f.Add(modeltest.Stream(modeltest.Responses, modeltest.Reply{
		Reasoning: []string{"Hm"}, Signature: "c2ln", Text: []string{"So"}, Calls: []model.ToolCall{{ID: "c", Name: "add", Input: []byte(`{"a":1}`)}},
	}))
	p := New(Config{Key: "k"})
	f.Fuzz(func(t *testing.T, body string) {
		modeltest.Listen(t, p.wire.Read(strings.NewReader(body), "test", responsesParser{}))
	})
}

var seedsResponses = []string{
	"event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"no\"}\n\n",
	"data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"rate_limit_exceeded\"}}}\n\n",
	"data: {\"type\":\"response.audio.delta\",\"delta\":{\"x\":1}}\n\ndata: {\"type\":\"response.completed\"}\n\n",
	"data: null\n\n",
}

func TestFailuresOfAResponse(t *testing.T) {
	for event, want := range map[string]model.Class{
		`{"type":"response.failed","response":{"error":{"code":"server_error","message":"no"}}}`:              model.ServerError,
		`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow"}}}`:     model.RateLimited,
		`{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"long"}}}`: model.ContextOverflow,
		`{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"no"}}}`:            model.Rejected,
		`{"type":"response.failed"}`: model.ServerError,
		`{"type":"error","error":{"type":"invalid_request_error","code":"insufficient_quota","message":"pay"}}`: model.Rejected,
		`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`:          model.Rejected,
	} {
		p := New(Config{Key: "k"})
		h := modeltest.Listen(t, p.wire.Read(strings.NewReader("data: "+event+"\n\n"), "test", responsesParser{}))
		if e, ok := h.Err.(*model.Error); !ok || e.Class != want {
			t.Errorf("%s: %v", event, h.Err)
		}
	}
}

func TestAPIFollowsTheAddress(t *testing.T) {
	for url, want := range map[string]API{
		"": Responses, "https://api.openai.com/v1/": Responses, "https://eu.api.openai.com/v1": Responses,
		"http://localhost:11434/v1": Chat, "https://api.openai.com.example.org/v1": Chat,
	} {
		if got := New(Config{URL: url}).api; got != want {
			t.Errorf("%q: %s", url, got)
		}
	}
}

func TestMissingKeyIsNamed(t *testing.T) {
	h := modeltest.Hear(t, New(Config{}), model.Request{})
	if h.Err == nil || !strings.Contains(h.Err.Error(), "OPENAI_API_KEY") {
		t.Error(h.Err)
	}
}
