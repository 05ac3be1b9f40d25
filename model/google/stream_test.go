package google

import (
	"strings"
	"testing"

	"svc.dev/svc/model"
	"svc.dev/svc/model/modeltest"
)

// FuzzStream reads anything, and finds an end.
func FuzzStream(f *testing.F) {
	for _, seed := range seedsGoogle {
		f.Add(seed)
	}
	f.Add(modeltest.Stream(modeltest.Google, modeltest.Reply{}))
	f.Add(modeltest.Stream(modeltest.Google, modeltest.Reply{
		Reasoning: []string{"Hm"}, Signature: "c2ln", Text: []string{"So"}, Calls: []model.ToolCall{{ID: "c", Name: "add", Input: []byte(`{"a":1}`)}},
	}))
	p := New(Config{Key: "k"})
	f.Fuzz(func(t *testing.T, body string) {
		modeltest.Listen(t, p.wire.Read(strings.NewReader(body), "test", &parser{}))
	})
}

var seedsGoogle = []string{
	"data: {\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\"}}\n\n",
	"data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n",
	"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{}}]},\"finishReason\":\"STOP\"}]}\n\n",
	"data: null\n\n",
}

func hear(t *testing.T, chunk string) modeltest.Heard {
	t.Helper()
	p := New(Config{Key: "k"})
	return modeltest.Listen(t, p.wire.Read(strings.NewReader("data: "+chunk+"\n\n"), "gemini-3.8-flash", &parser{}))
}

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]model.StopReason{"STOP": model.Stop, "MAX_TOKENS": model.Length, "OTHER": model.Stop} {
		if h := hear(t, `{"candidates":[{"finishReason":"`+reason+`"}]}`); h.Err != nil || h.Finish.Reason != want {
			t.Errorf("%s: %+v", reason, h)
		}
	}
	for reason, want := range map[string]model.Class{"SAFETY": model.Rejected, "MALFORMED_FUNCTION_CALL": model.ServerError} {
		h := hear(t, `{"candidates":[{"finishReason":"`+reason+`"}]}`)
		if e, ok := h.Err.(*model.Error); !ok || e.Class != want {
			t.Errorf("%s: %v", reason, h.Err)
		}
	}
	h := hear(t, `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`)
	if e, ok := h.Err.(*model.Error); !ok || e.Class != model.Rejected {
		t.Errorf("blocked: %v", h.Err)
	}
}

func TestCallsWithoutIDGetOne(t *testing.T) {
	h := hear(t, `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a"}},{"functionCall":{"name":"b"}}]},"finishReason":"STOP"}]}`)
	if h.Err != nil || len(h.Calls) != 2 || h.Calls[0].ID == "" || h.Calls[0].ID == h.Calls[1].ID || h.Finish.Reason != model.ToolUse {
		t.Errorf("heard %+v; want two calls with ids of their own", h)
	}
}

func TestRetryDelayIsRead(t *testing.T) {
	p := New(Config{Key: modeltest.Key, URL: modeltest.NewServer(t, modeltest.Google, modeltest.Reply{Fault: &modeltest.Fault{Kind: modeltest.RateLimit}}).URL})
	h := modeltest.Hear(t, p, model.Request{Model: "gemini-3.8-flash", Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{model.Text("Hi")}}}})
	if model.RetryAfter(h.Err).Seconds() != 34 {
		t.Errorf("%v asks to wait %s, want 34s", h.Err, model.RetryAfter(h.Err))
	}
}

func TestModelsStandWhereTheirNameSays(t *testing.T) {
	for name, want := range map[string]string{"gemini-3.8-flash": "models/gemini-3.8-flash", "tunedModels/x": "tunedModels/x", "a?b": "models/a%3Fb"} {
		if got := path(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
