package modeltest

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"svc.dev/svc/model"
)

// messagesAPI is Anthropic's.
var messagesAPI = dialect{
	key: "X-Api-Key", tail: 2,
	check: checkMessagesRequest, frames: messagesFrames,
	faults: map[Kind]wording{
		RateLimit:  {429, "rate_limit_error", "This request would exceed your organization's rate limit", nil},
		Overload:   {529, "overloaded_error", "Overloaded", nil},
		Breakdown:  {500, "api_error", "Internal server error", nil},
		WrongKey:   {401, "authentication_error", "invalid x-api-key", nil},
		TooLong:    {400, "invalid_request_error", "prompt is too long: 1207791 tokens > 1000000 maximum", nil},
		BadRequest: {400, "invalid_request_error", "messages: Field required", nil},
	},
	refuse: messagesRefusal,
	midway: func(w wording) string { return frame("error", messagesRefusal(w)) },
}

func messagesRefusal(w wording) object {
	return object{"type": "error", "error": object{"type": w.code, "message": w.message}, "request_id": "req_1"}
}

func checkMessagesRequest(r *http.Request, q object) error {
	if r.URL.Path != "/v1/messages" {
		return fmt.Errorf("no route %s", r.URL.Path)
	}
	if r.Header.Get("Anthropic-Version") != "2023-06-01" {
		return errors.New("anthropic-version: header is required")
	}
	return cmp.Or(
		q.needs("model", "max_tokens", "messages"),
		q.only("model", "max_tokens", "messages", "system", "tools", "tool_choice", "temperature", "thinking",
			"output_config", "stream", "cache_control", "metadata", "stop_sequences", "top_p", "top_k", "service_tier"),
		checkThinking(q),
		checkTools(q.objects("tools")),
		checkMessages(q.objects("messages")),
	)
}

func checkThinking(q object) error {
	t := q.object("thinking")
	switch budget := t.number("budget_tokens"); t.text("type") {
	case "":
		return nil
	case "enabled":
		if budget < 1024 || budget >= q.number("max_tokens") {
			return errors.New("thinking.budget_tokens: must be at least 1024 and below max_tokens")
		}
	case "adaptive":
		if _, ok := t["budget_tokens"]; ok {
			return errors.New("thinking.adaptive.budget_tokens: Extra inputs are not permitted")
		}
	}
	if temperature, ok := q["temperature"]; ok && temperature != 1.0 {
		return errors.New("`temperature` may only be set to 1 when thinking is enabled")
	}
	return nil
}

func checkTools(tools []object) error {
	for i, t := range tools {
		if err := t.needs("name", "input_schema"); err != nil {
			return fmt.Errorf("tools.%d.%w", i, err)
		}
		if t.object("input_schema").text("type") != "object" {
			return fmt.Errorf("tools.%d.input_schema.type: Input should be 'object'", i)
		}
	}
	return nil
}

func checkMessages(messages []object) error {
	if len(messages) == 0 {
		return errors.New("messages: at least one message is required")
	}
	var owed []string // calls that the next message has to answer
	for i, m := range messages {
		if want := []string{"user", "assistant"}[i%2]; m.text("role") != want {
			return fmt.Errorf("messages.%d: roles must alternate between \"user\" and \"assistant\"", i)
		}
		blocks := m.objects("content")
		if text := m.text("content"); text != "" {
			blocks = []object{{"type": "text", "text": text}}
		}
		if len(blocks) == 0 {
			return fmt.Errorf("messages.%d: all messages must have non-empty content", i)
		}
		next, err := checkBlocks(m.text("role"), blocks, owed)
		if err != nil {
			return fmt.Errorf("messages.%d.content.%w", i, err)
		}
		owed = next
	}
	if len(owed) > 0 {
		return fmt.Errorf("`tool_use` ids were found without `tool_result` blocks immediately after: %s", strings.Join(owed, ", "))
	}
	return nil
}

// checkBlocks returns the calls that the blocks make.
func checkBlocks(role string, blocks []object, owed []string) (calls []string, err error) {
	answered := 0
	for i, b := range blocks {
		if err := checkBlock(role, b); err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
		switch b.text("type") {
		case "tool_use":
			if slices.Contains(calls, b.text("id")) {
				return nil, fmt.Errorf("%d: `tool_use` ids must be unique", i)
			}
			calls = append(calls, b.text("id"))
		case "tool_result":
			if !slices.Contains(owed, b.text("tool_use_id")) {
				return nil, fmt.Errorf("%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", i, b.text("tool_use_id"))
			}
			if i != answered {
				return nil, fmt.Errorf("%d: `tool_result` blocks must come first", i)
			}
			answered++
		}
	}
	if answered < len(owed) {
		return nil, fmt.Errorf("0: `tool_use` ids were found without `tool_result` blocks immediately after: %s", strings.Join(owed, ", "))
	}
	if last := blocks[len(blocks)-1].text("type"); role == "assistant" && strings.HasSuffix(last, "thinking") {
		return nil, errors.New("the final block in an assistant message cannot be `thinking`")
	}
	return calls, nil
}

var toolID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func checkBlock(role string, b object) error {
	switch kind := b.text("type"); {
	case kind == "text":
		if strings.TrimSpace(b.text("text")) == "" {
			return errors.New("text content blocks must be non-empty")
		}
	case kind == "image" && role == "user":
		return checkImage(b.object("source"))
	case kind == "thinking" && role == "assistant":
		if _, ok := b["thinking"]; !ok || b.text("signature") == "" {
			return errors.New("thinking.signature: field required")
		}
	case kind == "redacted_thinking" && role == "assistant":
		return b.needs("data")
	case kind == "tool_use" && role == "assistant":
		if b.object("input") == nil || b.text("name") == "" || !toolID.MatchString(b.text("id")) {
			return errors.New("tool_use: id, name and input are required")
		}
	case kind == "tool_result" && role == "user":
		for _, inner := range b.objects("content") {
			if err := checkBlock("user", inner); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("block of type %q is not allowed for role %s", kind, role)
	}
	return nil
}

func checkImage(s object) error {
	kinds := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	if s.text("type") != "base64" || !slices.Contains(kinds, s.text("media_type")) {
		return errors.New("image.source: unknown type")
	}
	if data, err := base64.StdEncoding.DecodeString(s.text("data")); err != nil || len(data) == 0 {
		return errors.New("image.source.base64: invalid base64 data")
	}
	return nil
}

func messagesFrames(r Reply, modelName string) []string {
	u := r.Usage
	all := []string{
		frame("message_start", object{"type": "message_start", "message": object{
			"id": "msg_1", "type": "message", "role": "assistant", "content": []any{}, "model": modelName,
			"stop_reason": nil, "stop_sequence": nil, "usage": object{
				"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite, "cache_read_input_tokens": u.CacheRead, "output_tokens": 1,
			}}}),
		frame("ping", object{"type": "ping"}),
	}
	index := 0
	add := func(start object, deltas ...object) {
		all = append(all, block(index, start, deltas)...)
		index++
	}
	if r.Reasoning != nil || r.Signature != "" {
		add(object{"type": "thinking", "thinking": "", "signature": ""}, thoughts(r)...)
	}
	if r.Text != nil {
		add(object{"type": "text", "text": ""}, each(r.Text, "text_delta", "text")...)
	}
	for _, c := range r.Calls {
		add(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}},
			each(append([]string{""}, pieces(c.Input)...), "input_json_delta", "partial_json")...)
	}
	reason := map[model.StopReason]string{model.Stop: "end_turn", model.Length: "max_tokens", model.ToolUse: "tool_use"}[r.Reason]
	return append(all,
		frame("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil},
			"usage": object{"output_tokens": u.Output}}),
		frame("message_stop", object{"type": "message_stop"}))
}

func thoughts(r Reply) []object {
	return append(each(r.Reasoning, "thinking_delta", "thinking"), object{"type": "signature_delta", "signature": r.Signature})
}

func each(texts []string, kind, field string) []object {
	var all []object
	for _, text := range texts {
		all = append(all, object{"type": kind, field: text})
	}
	return all
}

func block(index int, start object, deltas []object) []string {
	all := []string{frame("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})}
	for _, d := range deltas {
		all = append(all, frame("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d}))
	}
	return append(all, frame("content_block_stop", object{"type": "content_block_stop", "index": index}))
}
