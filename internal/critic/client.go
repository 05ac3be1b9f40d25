package critic

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// object is a chunk, a message or a part as a client decodes it.
type object map[string]any

func (o object) text(name string) string {
	s, _ := o[name].(string)
	return s
}

func (o object) object(name string) object {
	v, _ := o[name].(map[string]any)
	return v
}

func (o object) list(name string) (list []object) {
	all, _ := o[name].([]any)
	for _, v := range all {
		list = append(list, v.(map[string]any))
	}
	return list
}

// take copies the fields of these names that another has.
func (o object) take(from object, names ...string) {
	for _, name := range names {
		if v, ok := from[name]; ok {
			o[name] = v
		}
	}
}

// put replaces the object of the same key in a list, or appends it.
func put(list []object, o object, key string) []object {
	if i := slices.IndexFunc(list, func(other object) bool { return other[key] == o[key] }); i >= 0 {
		list[i] = o
		return list
	}
	return append(list, o)
}

func decodeObject(raw json.RawMessage) (o object) {
	if err := json.Unmarshal(raw, &o); err != nil {
		panic(fmt.Sprintf("%s: %v", raw, err))
	}
	return o
}

// client is the reducer of wire.md, section 4.
type client struct {
	messages    []object
	settlements []object
}

// clientOf begins with a snapshot.
func clientOf(snapshot object) *client {
	return &client{messages: snapshot.list("messages"), settlements: snapshot.list("settlements")}
}

func (c *client) find(id string) object {
	for _, m := range c.messages {
		if m.text("id") == id {
			return m
		}
	}
	return nil
}

func (c *client) apply(k object) {
	m := c.find(k.text("messageId"))
	switch k.text("type") {
	case "conversation-reset":
		*c = *clientOf(k.object("snapshot"))
	case "message-appended":
		c.messages = put(c.messages, k.object("message"), "id")
	case "message-started":
		if m != nil {
			return
		}
		message := object{
			"id": k["messageId"], "role": "assistant", "purpose": "assistant", "display": "visible", "parts": []any{}, "metadata": map[string]any{},
		}
		message.take(k, "submissionId", "turnId")
		message.object("metadata").take(k, "timestamp", "model")
		c.messages = append(c.messages, message)
	case "message-delta":
		if m != nil {
			m.grow(k.text("kind"), k.text("delta"))
		}
	case "tool-input":
		if m == nil || slices.ContainsFunc(m.list("parts"), func(p object) bool { return p.text("toolCallId") == k.text("toolCallId") }) {
			return
		}
		m.closeLast()
		m.push(map[string]any{
			"type": "dynamic-tool", "toolName": k["toolName"], "toolCallId": k["toolCallId"], "input": k["input"], "state": "input-available",
		})
	case "tool-output", "tool-output-error":
		c.answer(k)
	case "message-completed":
		if m == nil {
			return
		}
		for _, p := range m.list("parts") {
			if p.isText() {
				p["state"] = "done"
			}
		}
		m.object("metadata").take(k, "usage")
	case "submission-settled":
		settlement := object{"submissionId": k["submissionId"], "outcome": k["outcome"]}
		settlement.take(k, "error")
		c.settlements = put(c.settlements, settlement, "submissionId")
	}
}

func (o object) isText() bool { return o.text("type") == "text" || o.text("type") == "reasoning" }

func (o object) push(part map[string]any) { o["parts"] = append(o["parts"].([]any), part) }

func (o object) last() object {
	parts := o.list("parts")
	if len(parts) == 0 {
		return nil
	}
	return parts[len(parts)-1]
}

func (o object) closeLast() {
	if p := o.last(); p != nil && p.isText() && p.text("state") == "streaming" {
		p["state"] = "done"
	}
}

func (o object) grow(kind, delta string) {
	if p := o.last(); p != nil && p.text("type") == kind && p.text("state") == "streaming" {
		p["text"] = p.text("text") + delta
		return
	}
	o.closeLast()
	o.push(map[string]any{"type": kind, "text": delta, "state": "streaming"})
}

func (c *client) answer(k object) {
	for _, m := range slices.Backward(c.messages) {
		for _, p := range m.list("parts") {
			if p.text("toolCallId") != k.text("toolCallId") {
				continue
			}
			p["state"] = map[string]string{"tool-output": "output-available", "tool-output-error": "output-error"}[k.text("type")]
			p.take(k, "output", "errorText", "durationMs")
			return
		}
	}
}

// shown is the client's state modulo invariant 7.
func (c *client) shown(open string) string {
	var lines []string
	for _, m := range c.messages {
		m = maps.Clone(m)
		if m.text("role") == "assistant" {
			m["parts"] = merged(m.list("parts"))
		}
		if m.text("id") == open {
			metadata := maps.Clone(m.object("metadata"))
			delete(metadata, "model")
			m["metadata"] = metadata
			for _, p := range m["parts"].([]object) {
				if p.isText() {
					delete(p, "state")
				}
			}
		}
		lines = append(lines, Print(m))
	}
	for _, s := range c.settlements {
		lines = append(lines, Print(s))
	}
	return strings.Join(lines, "\n")
}

// merged joins adjacent blocks of one kind and leaves out empty ones.
func merged(parts []object) []object {
	list := []object{}
	for _, p := range parts {
		if p.isText() && p.text("text") == "" {
			continue
		}
		p = maps.Clone(p)
		if n := len(list); n > 0 && p.isText() && list[n-1].text("type") == p.text("type") {
			list[n-1]["text"], list[n-1]["state"] = list[n-1].text("text")+p.text("text"), p["state"]
			continue
		}
		list = append(list, p)
	}
	return list
}
