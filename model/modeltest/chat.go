package modeltest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"svc.dev/svc/model"
)

// chatAPI is OpenAI's Chat Completions.
var chatAPI = dialect{
	base: "/v1", key: "Authorization", tail: 3,
	check: checkChatRequest, frames: chatFrames,
	faults: openAIFaults,
	refuse: openAIRefusal,
	midway: func(w wording) string { return frame("", openAIRefusal(w)) },
}

func checkChatRequest(r *http.Request, q object) error {
	if r.URL.Path != "/v1/chat/completions" {
		return fmt.Errorf("no route %s", r.URL.Path)
	}
	if q["stream"] != true && q["stream_options"] != nil {
		return errors.New("the 'stream_options' parameter is only allowed when 'stream' is enabled")
	}
	return cmp.Or(
		q.needs("model", "messages"),
		q.only("model", "messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens", "temperature",
			"reasoning_effort", "prompt_cache_key", "stream", "stream_options", "store", "metadata", "top_p", "stop"),
		checkChatTools(q.objects("tools")),
		checkChat(q.objects("messages")),
	)
}

func checkChatTools(tools []object) error {
	for i, t := range tools {
		if t.text("type") != "function" || t.object("function").text("name") == "" {
			return fmt.Errorf("tools[%d].function.name: required", i)
		}
	}
	return nil
}

func checkChat(messages []object) error {
	if len(messages) == 0 {
		return errors.New("messages: must not be empty")
	}
	var owed []string
	for i, m := range messages {
		if m.text("role") != "tool" && len(owed) > 0 {
			return fmt.Errorf("an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(owed, ", "))
		}
		var err error
		if owed, err = checkChatMessage(m, owed); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	if len(owed) > 0 {
		return fmt.Errorf("tool_call_ids without response messages: %s", strings.Join(owed, ", "))
	}
	return nil
}

// checkChatMessage returns the calls that still wait for their results.
func checkChatMessage(m object, owed []string) ([]string, error) {
	switch m.text("role") {
	case "system", "developer", "user":
		return nil, checkChatContent(m, m.text("role") == "user")
	case "assistant":
		return checkChatCalls(m)
	case "tool":
		at := slices.Index(owed, m.text("tool_call_id"))
		if at < 0 {
			return nil, errors.New("messages with role 'tool' must be a response to a preceeding message with 'tool_calls'")
		}
		return slices.Delete(owed, at, at+1), checkChatContent(m, false)
	}
	return nil, fmt.Errorf("invalid role %q", m.text("role"))
}

func checkChatCalls(m object) (ids []string, err error) {
	calls := m.objects("tool_calls")
	if len(calls) == 0 {
		return nil, checkChatContent(m, false)
	}
	for _, c := range calls {
		f := c.object("function")
		if c.text("id") == "" || c.text("type") != "function" || f.text("name") == "" || !isObject(f.text("arguments")) {
			return nil, errors.New("tool_calls: id, type, name and arguments are required")
		}
		ids = append(ids, c.text("id"))
	}
	return ids, nil
}

func checkChatContent(m object, images bool) error {
	if _, ok := m["content"].(string); ok {
		return nil
	}
	if len(m.objects("content")) == 0 {
		return errors.New("content: expected a string or a list")
	}
	for _, c := range m.objects("content") {
		switch {
		case c.text("type") == "text":
		case c.text("type") == "image_url" && images:
			if err := checkDataURL(c.object("image_url").text("url")); err != nil {
				return err
			}
		default:
			return fmt.Errorf("content of type %q is not allowed", c.text("type"))
		}
	}
	return nil
}

func chatFrames(r Reply, modelName string) []string {
	var all []string
	chunk := func(choices []object, usage any) {
		all = append(all, frame("", object{"id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 1,
			"model": modelName, "choices": choices, "usage": usage}))
	}
	delta := func(d object, reason any) {
		chunk([]object{{"index": 0, "delta": d, "logprobs": nil, "finish_reason": reason}}, nil)
	}
	delta(object{"role": "assistant", "content": ""}, nil)
	for _, text := range r.Reasoning {
		delta(object{"reasoning_content": text}, nil)
	}
	for _, text := range r.Text {
		delta(object{"content": text}, nil)
	}
	for i, c := range r.Calls {
		delta(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}}, nil)
		for _, piece := range pieces(c.Input) {
			delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}}, nil)
		}
	}
	delta(object{}, map[model.StopReason]string{model.Stop: "stop", model.Length: "length", model.ToolUse: "tool_calls"}[r.Reason])
	u := r.Usage
	input := u.Input + u.CacheRead + u.CacheWrite
	chunk([]object{}, object{"prompt_tokens": input, "completion_tokens": u.Output, "total_tokens": input + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite}})
	return append(all, "data: [DONE]\n\n")
}
