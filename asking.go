package svc

import (
	"context"
	"encoding/json"

	"svc.dev/svc/fault"
	"svc.dev/svc/model"
	"svc.dev/svc/stream"
)

// imageOmitted stands in events where a picture's bytes would.
const imageOmitted = "[image data omitted from event]"

// asking is one turn of a workflow's prompt.
type asking struct {
	o     *operation
	began int64

	reply   spoken
	shown   json.RawMessage
	started bool
	block   model.EventType // of the part that grows
}

// listen plays a turn into the run's events. Errors that may pass are waited out; what a failed try told stays told.
func (a *asking) listen() error {
	for retries := 0; ; {
		err := a.try()
		switch {
		case err == nil:
			return nil
		case a.o.w.ctx.Err() != nil:
			return context.Cause(a.o.w.ctx)
		case model.Retryable(err) && retries < maxModelRetries:
			retries++
			pauseErr := pause(a.o.w.ctx, a.o.w.rt.backoff(retries, model.RetryAfter(err)))
			if pauseErr != nil {
				return context.Cause(a.o.w.ctx)
			}
		default:
			return modelFault(err)
		}
	}
}

func (a *asking) try() error {
	a.reply, a.started, a.block = spoken{Role: model.RoleAssistant}, false, ""
	provider, request, err := a.request()
	if err != nil {
		return err
	}
	for event, err := range provider.Turn(a.o.w.ctx, request) {
		if err != nil {
			return err
		}
		if err := a.hear(event, request); err != nil {
			return err
		}
		if event.Type == model.Finished {
			return nil
		}
	}
	return &model.Error{Class: model.Network, Message: "the reply ended without its end"}
}

func (a *asking) request() (model.Provider, model.Request, error) {
	o := a.o
	name, id, err := model.Name(o.agent.Model)
	if err != nil {
		return nil, model.Request{}, err
	}
	if o.w.rt.config.Model == nil {
		return nil, model.Request{}, fault.New("operation_failed", "prompt failed: no model provider is configured", "")
	}
	provider, err := o.w.rt.config.Model(o.w.ctx, o.w.job.lease.Stream.Scope, o.agent.Model)
	if err != nil {
		return nil, model.Request{}, err
	}
	o.name.Provider, o.name.ID = name, id
	request := model.Request{
		Model: id, System: o.agent.Instructions, MaxTokens: o.agent.MaxTokens, Reasoning: o.agent.Reasoning, Affinity: o.w.conversation(),
	}
	for _, m := range append(o.w.messages[:len(o.w.messages):len(o.w.messages)], o.messages...) {
		request.Messages = append(request.Messages, model.Message(m))
	}
	for _, t := range o.agent.Tools {
		request.Tools = append(request.Tools, model.Tool{Name: t.Name, Description: t.Description, Input: t.schema})
	}
	if o.form != nil {
		request.Tools = append(request.Tools, model.Tool{Name: resultTool, Description: "Give your final result.", Input: o.form.source})
	}
	return provider, request, nil
}

// hear adds an event to the reply and tells it.
func (a *asking) hear(e model.Event, r model.Request) error {
	if !a.started {
		a.started = true
		if err := a.o.tell("message_start", map[string]any{"message": a.message(nil, "stop")}); err != nil {
			return err
		}
	}
	switch e.Type {
	case model.TextDelta:
		a.grow(e.Type, e.Text)
		return a.o.tell("text_delta", map[string]string{"text": e.Text})
	case model.ReasoningDelta:
		return a.think(e)
	case model.BlockEnd:
		return a.endBlock(e.Signature)
	case model.Called:
		if err := a.endBlock(""); err != nil {
			return err
		}
		call := *e.Call
		if len(call.Input) == 0 {
			call.Input = json.RawMessage("{}")
		}
		a.reply.Parts = append(a.reply.Parts, model.Part{Call: &call})
	case model.Finished:
		if err := a.endBlock(""); err != nil {
			return err
		}
		return a.finish(*e.Finish, r)
	}
	return nil
}

func (a *asking) grow(kind model.EventType, text string) {
	n := len(a.reply.Parts)
	if a.block != kind {
		a.block = kind
		if kind == model.TextDelta {
			a.reply.Parts = append(a.reply.Parts, model.Text(text))
		} else {
			a.reply.Parts = append(a.reply.Parts, model.Part{Reasoning: &model.Reasoning{Text: text, Provider: a.o.name.Provider, Model: a.o.name.ID}})
		}
		return
	}
	if p := &a.reply.Parts[n-1]; p.Text != nil {
		*p.Text += text
	} else {
		p.Reasoning.Text += text
	}
}

func (a *asking) think(e model.Event) error {
	if a.block != model.ReasoningDelta {
		if err := a.o.tell("thinking_start", struct{}{}); err != nil {
			return err
		}
	}
	a.grow(e.Type, e.Text)
	return a.o.tell("thinking_delta", map[string]string{"delta": e.Text})
}

func (a *asking) endBlock(signature string) error {
	block := a.block
	a.block = ""
	if block != model.ReasoningDelta {
		return nil
	}
	thought := a.reply.Parts[len(a.reply.Parts)-1].Reasoning
	thought.Signature = signature
	return a.o.tell("thinking_end", map[string]string{"content": thought.Text})
}

func (a *asking) finish(f model.Finish, r model.Request) error {
	addUsage(&a.o.usage, f.Usage)
	a.shown = a.message(&f.Usage, string(f.Reason))
	a.o.told = append(a.o.told, a.shown)
	turn := map[string]any{
		"purpose": "agent", "durationMs": millis(a.o.w.rt.now()) - a.began, "isError": false,
		"request": map[string]any{
			"providerId": a.o.name.Provider, "providerName": a.o.name.Provider, "requestedModel": r.Model, "api": a.o.name.Provider,
		},
		"response": map[string]any{
			"output": map[string]any{"role": "assistant", "content": a.content()}, "usage": f.Usage, "finishReason": f.Reason,
		},
	}
	if err := a.o.tell("turn", turn); err != nil {
		return err
	}
	return a.o.tell("message_end", map[string]any{"message": a.shown})
}

func (a *asking) calls() []model.ToolCall {
	var calls []model.ToolCall
	for _, p := range a.reply.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// message is the reply as events show it.
func (a *asking) message(usage *model.Usage, stop string) json.RawMessage {
	if usage == nil {
		usage = &model.Usage{}
	}
	data, _ := stream.Encode(map[string]any{
		"role": "assistant", "content": a.content(), "api": a.o.name.Provider, "provider": a.o.name.Provider, "model": a.o.name.ID,
		"usage": usage, "stopReason": stop, "timestamp": a.began,
	})
	return data
}

func (a *asking) content() []map[string]any {
	content := []map[string]any{}
	for _, p := range a.reply.Parts {
		switch {
		case p.Text != nil:
			content = append(content, map[string]any{"type": "text", "text": *p.Text})
		case p.Reasoning != nil:
			content = append(content, map[string]any{"type": "thinking", "thinking": p.Reasoning.Text})
		case p.Call != nil:
			content = append(content, map[string]any{"type": "toolCall", "id": p.Call.ID, "name": p.Call.Name, "arguments": p.Call.Input})
		}
	}
	return content
}

func addUsage(sum *model.Usage, u model.Usage) {
	sum.Input += u.Input
	sum.Output += u.Output
	sum.CacheRead += u.CacheRead
	sum.CacheWrite += u.CacheWrite
	sum.TotalTokens += u.TotalTokens
	sum.Cost.Input += u.Cost.Input
	sum.Cost.Output += u.Cost.Output
	sum.Cost.CacheRead += u.Cost.CacheRead
	sum.Cost.CacheWrite += u.Cost.CacheWrite
	sum.Cost.Total += u.Cost.Total
}

// userEvent is a user's message as events show it.
func userEvent(m spoken, at int64) json.RawMessage {
	data, _ := stream.Encode(map[string]any{"role": "user", "content": blocksOf(m.Parts), "timestamp": at})
	return data
}

// blocksOf are parts as events show them: the bytes of images are left out.
func blocksOf(parts []model.Part) []map[string]any {
	blocks := []map[string]any{}
	for _, p := range parts {
		switch {
		case p.Text != nil:
			blocks = append(blocks, map[string]any{"type": "text", "text": *p.Text})
		case p.Image != nil:
			blocks = append(blocks, map[string]any{"type": "image", "mimeType": p.Image.MimeType, "data": imageOmitted})
		}
	}
	return blocks
}

// resultOf is a tool's answer, or its failure, for the model and for readers.
func resultOf(c model.ToolCall, r ToolResult, err error, at int64) resulted {
	result := &model.ToolResult{ID: c.ID, Name: c.Name, IsError: r.IsError || err != nil}
	switch {
	case err != nil:
		result.Content = []model.Part{model.Text(toolError(err))}
	case len(r.Content) > 0:
		for _, b := range r.Content {
			if b.Data != nil {
				result.Content = append(result.Content, model.Part{Image: &model.Image{MimeType: b.MimeType, Data: b.Data}})
			} else {
				result.Content = append(result.Content, model.Text(b.Text))
			}
		}
	default:
		result.Content = []model.Part{model.Text(string(r.Output))}
	}
	shown, _ := stream.Encode(map[string]any{
		"role": "toolResult", "toolCallId": c.ID, "toolName": c.Name, "content": blocksOf(result.Content), "isError": result.IsError, "timestamp": at,
	})
	return resulted{part: model.Part{Result: result}, shown: shown}
}
