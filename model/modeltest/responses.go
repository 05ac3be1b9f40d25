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

// responsesAPI is OpenAI's Responses.
var responsesAPI = dialect{
	base: "/v1", key: "Authorization", tail: 1,
	check: checkResponsesRequest, frames: responsesFrames,
	faults: openAIFaults,
	refuse: openAIRefusal,
	midway: func(w wording) string {
		return frame("error", object{"type": "error", "sequence_number": 99, "code": w.code, "message": w.message, "param": nil})
	},
}

func checkResponsesRequest(r *http.Request, q object) error {
	if r.URL.Path != "/v1/responses" {
		return fmt.Errorf("no route %s", r.URL.Path)
	}
	if text := q.text("input"); text != "" {
		q["input"] = []any{map[string]any{"type": "message", "role": "user", "content": text}}
	}
	return cmp.Or(
		q.needs("model", "input"),
		q.only("model", "instructions", "input", "tools", "tool_choice", "max_output_tokens", "temperature", "reasoning",
			"include", "prompt_cache_key", "store", "stream", "parallel_tool_calls", "metadata", "top_p", "text"),
		checkFunctions(q.objects("tools")),
		checkItems(q.objects("input")),
	)
}

func checkFunctions(tools []object) error {
	for i, t := range tools {
		if t.text("type") != "function" {
			return fmt.Errorf("tools[%d].type: invalid value", i)
		}
		if err := t.needs("name", "parameters"); err != nil {
			return fmt.Errorf("tools[%d].%w", i, err)
		}
	}
	return nil
}

func checkItems(items []object) error {
	if len(items) == 0 {
		return errors.New("input: one of input, previous_response_id or conversation is required")
	}
	var asked, answered []string
	for i, it := range items {
		if err := checkItem(it); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
		id := it.text("call_id")
		switch it.text("type") {
		case "function_call":
			asked = append(asked, id)
		case "function_call_output":
			if !slices.Contains(asked, id) {
				return fmt.Errorf("no tool call found for function call output with call_id %s", id)
			}
			answered = append(answered, id)
		case "reasoning":
			if i+1 == len(items) || items[i+1].text("role") == "user" {
				return fmt.Errorf("item '%s' of type 'reasoning' was provided without its required following item", it.text("id"))
			}
		}
	}
	for _, id := range asked {
		if !slices.Contains(answered, id) {
			return fmt.Errorf("no tool output found for function call %s", id)
		}
	}
	return nil
}

func checkItem(it object) error {
	switch it.text("type") {
	case "", "message":
		return checkItemMessage(it)
	case "reasoning":
		if _, ok := it["summary"].([]any); !ok {
			return errors.New("missing required parameter: summary")
		}
		return it.needs("id", "encrypted_content")
	case "function_call":
		if !isObject(it.text("arguments")) {
			return errors.New("arguments: not JSON")
		}
		return it.needs("call_id", "name")
	case "function_call_output":
		return cmp.Or(it.needs("call_id"), checkOutput(it))
	}
	return fmt.Errorf("invalid type %q", it.text("type"))
}

func checkItemMessage(it object) error {
	if it.text("content") != "" {
		return nil
	}
	texts := map[string]string{"user": "input_text", "assistant": "output_text", "system": "input_text", "developer": "input_text"}
	kind := texts[it.text("role")]
	if kind == "" || len(it.objects("content")) == 0 {
		return errors.New("role and content are required")
	}
	return checkParted(it.objects("content"), kind, it.text("role") == "user")
}

func checkParted(contents []object, text string, images bool) error {
	for _, c := range contents {
		switch {
		case c.text("type") == text:
			if _, ok := c["text"].(string); !ok {
				return errors.New("text: required")
			}
		case c.text("type") == "input_image" && images:
			if err := checkDataURL(c.text("image_url")); err != nil {
				return err
			}
		default:
			return fmt.Errorf("invalid value: %q", c.text("type"))
		}
	}
	return nil
}

func checkOutput(it object) error {
	if _, ok := it["output"].(string); ok {
		return nil
	}
	if len(it.objects("output")) == 0 {
		return errors.New("output: required")
	}
	return checkParted(it.objects("output"), "input_text", true)
}

func responsesFrames(r Reply, modelName string) []string {
	s := &sequence{response: object{"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress",
		"model": modelName, "output": []any{}, "error": nil, "incomplete_details": nil, "usage": nil}}
	s.add("response.created", object{"response": s.response})
	s.add("response.in_progress", object{"response": s.response})
	if r.Reasoning != nil || r.Signature != "" {
		s.reasoning(r)
	}
	if r.Text != nil {
		s.message(r.Text)
	}
	for _, c := range r.Calls {
		s.call(c)
	}
	s.end(r)
	return s.frames
}

// sequence is a stream of the Responses API as it grows.
type sequence struct {
	frames   []string
	response object
	output   []object
}

func (s *sequence) add(kind string, o object) {
	o["type"], o["sequence_number"] = kind, len(s.frames)
	s.frames = append(s.frames, frame(kind, o))
}

// item adds an item with the events between its start and its end. They name it, and of a part of it where that stands.
func (s *sequence) item(started, finished object, part string, between func(add func(kind string, o object))) {
	index := len(s.output)
	s.add("response.output_item.added", object{"output_index": index, "item": started})
	between(func(kind string, o object) {
		o["item_id"], o["output_index"] = started["id"], index
		if part != "" {
			o[part] = 0
		}
		s.add(kind, o)
	})
	s.add("response.output_item.done", object{"output_index": index, "item": finished})
	s.output = append(s.output, finished)
}

func (s *sequence) reasoning(r Reply) {
	text := strings.Join(r.Reasoning, "")
	summary := []object{}
	if text != "" {
		summary = append(summary, object{"type": "summary_text", "text": text})
	}
	s.item(object{"id": "rs_1", "type": "reasoning", "summary": []any{}},
		object{"id": "rs_1", "type": "reasoning", "summary": summary, "encrypted_content": r.Signature},
		"summary_index", func(add func(string, object)) {
			add("response.reasoning_summary_part.added", object{"part": object{"type": "summary_text", "text": ""}})
			for _, d := range r.Reasoning {
				add("response.reasoning_summary_text.delta", object{"delta": d})
			}
			add("response.reasoning_summary_text.done", object{"text": text})
			add("response.reasoning_summary_part.done", object{"part": object{"type": "summary_text", "text": text}})
		})
}

func (s *sequence) message(deltas []string) {
	text := strings.Join(deltas, "")
	part := object{"type": "output_text", "text": text, "annotations": []any{}}
	message := func(status string, content ...object) object {
		return object{"id": "msg_1", "type": "message", "status": status, "role": "assistant", "content": content}
	}
	s.item(message("in_progress"), message("completed", part), "content_index", func(add func(string, object)) {
		add("response.content_part.added", object{"part": object{"type": "output_text", "text": "", "annotations": []any{}}})
		for _, d := range deltas {
			add("response.output_text.delta", object{"delta": d, "logprobs": []any{}})
		}
		add("response.output_text.done", object{"text": text, "logprobs": []any{}})
		add("response.content_part.done", object{"part": part})
	})
}

func (s *sequence) call(c model.ToolCall) {
	id := fmt.Sprintf("fc_%d", len(s.output))
	call := func(status, arguments string) object {
		return object{"id": id, "type": "function_call", "status": status, "arguments": arguments, "call_id": c.ID, "name": c.Name}
	}
	s.item(call("in_progress", ""), call("completed", string(c.Input)), "", func(add func(string, object)) {
		for _, d := range pieces(c.Input) {
			add("response.function_call_arguments.delta", object{"delta": d})
		}
		add("response.function_call_arguments.done", object{"name": c.Name, "arguments": string(c.Input)})
	})
}

func (s *sequence) end(r Reply) {
	u := r.Usage
	input := u.Input + u.CacheRead + u.CacheWrite
	s.response["output"], s.response["status"] = s.output, "completed"
	s.response["usage"] = object{
		"input_tokens": input, "input_tokens_details": object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": 1}, "total_tokens": input + u.Output,
	}
	if r.Reason == model.Length {
		s.response["status"], s.response["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	}
	s.add("response."+s.response.text("status"), object{"response": s.response})
}
