package crash_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.dev/svc/conversation"
	"svc.dev/svc/stream"
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
		message := k.object("message")
		for i := range c.messages {
			if c.messages[i].text("id") == message.text("id") {
				c.messages[i] = message
				return
			}
		}
		c.messages = append(c.messages, message)
	case "message-started":
		if m != nil {
			return
		}
		metadata := map[string]any{}
		message := object{
			"id": k["messageId"], "role": "assistant", "purpose": "assistant", "display": "visible", "parts": []any{}, "metadata": metadata,
		}
		for _, name := range []string{"submissionId", "turnId"} {
			if v, ok := k[name]; ok {
				message[name] = v
			}
		}
		for _, name := range []string{"timestamp", "model"} {
			if v, ok := k[name]; ok {
				metadata[name] = v
			}
		}
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
		if usage, ok := k["usage"]; ok {
			m.object("metadata")["usage"] = usage
		}
	case "submission-settled":
		settlement := object{"submissionId": k["submissionId"], "outcome": k["outcome"]}
		if e, ok := k["error"]; ok {
			settlement["error"] = e
		}
		for i := range c.settlements {
			if c.settlements[i]["submissionId"] == settlement["submissionId"] {
				c.settlements[i] = settlement
				return
			}
		}
		c.settlements = append(c.settlements, settlement)
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
			for _, name := range []string{"output", "errorText", "durationMs"} {
				if v, ok := k[name]; ok {
					p[name] = v
				}
			}
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
		lines = append(lines, print(m))
	}
	for _, s := range c.settlements {
		lines = append(lines, print(s))
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

// critique is what is wrong with a conversation, by the laws that hold for all of them.
type critique struct {
	told     *chat
	raw      []json.RawMessage
	chunks   []object
	records  []conversation.Record
	settled  []string // submissions, in the order of their settlements, private ones too
	problems []string
}

func (c *critique) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// judge reads a conversation that is idle.
func judge(told *chat) *critique {
	c := &critique{told: told}
	for _, p := range told.Pages {
		c.raw = append(c.raw, p.Chunks...)
	}
	for _, raw := range c.raw {
		c.chunks = append(c.chunks, decodeObject(raw))
	}
	for _, b := range told.Batches {
		records, err := conversation.DecodeBatch(b.Data)
		if err != nil {
			c.problem("batch %s: %v", b.Last, err)
		}
		c.records = append(c.records, records...)
	}
	if len(told.Queue) > 0 {
		c.problem("not settled: %v", told.Queue)
	}
	checkPages(c.problem, told.Pages)
	c.checkOrder()
	c.checkSettlements()
	c.checkBroken()
	c.checkFold()
	if !bytes.Equal(told.History, told.Rebuilt) {
		c.problem("history is not what the log says: %s", differ(messagesOf(told.History), messagesOf(told.Rebuilt)))
	}
	return c
}

type place struct{ batch, index float64 }

func placeOf(k object) place {
	p := k.object("position")
	return place{p["batch"].(float64), p["index"].(float64)}
}

// checkPages demands growing positions, indexes without holes, and whole batches per page.
func checkPages(problem func(string, ...any), pages []page) {
	after := stream.Start
	for _, p := range pages {
		if p.After != after || p.Next <= p.After {
			problem("a page goes from %s to %s, the one before to %s", p.After, p.Next, after)
		}
		after = p.Next
		last := place{batch: float64(p.After)}
		for _, raw := range p.Chunks {
			at := placeOf(decodeObject(raw))
			next := place{last.batch, last.index + 1}
			if at != next && (at.batch <= last.batch || at.index != 0) || at.batch > float64(p.Next) {
				problem("position %v follows %v on the page to %s", at, last, p.Next)
			}
			last = at
		}
	}
}

// checkOrder demands invariants 2 to 6.
func (c *critique) checkOrder() {
	var open, current string
	var calls, owed []string
	settled := map[string]bool{}
	for i, k := range c.chunks {
		kind, submission := k.text("type"), k.text("submissionId")
		wrong := func(why string) { c.problem("chunk %d, %s: %s\n%s", i, kind, why, c.raw[i]) }
		if (kind == "conversation-reset") != (i == 0) {
			wrong("a reset is the first chunk and no other")
		}
		if open != "" && (kind == "message-appended" || kind == "message-started" || strings.HasPrefix(kind, "tool-output") || kind == "submission-settled") {
			wrong("while " + open + " is in progress")
		}
		if kind == "message-appended" {
			submission = k.object("message").text("submissionId")
		}
		if submission != "" && settled[submission] {
			wrong("after the settlement of " + submission)
		}
		switch kind {
		case "conversation-reset":
			if s := k.object("snapshot"); len(s.list("messages")) > 0 || s["messages"] == nil || s.text("offset") != stream.Offset(0).String() {
				wrong("not an empty snapshot")
			}
		case "message-appended":
			if submission != "" {
				if current != "" && !settled[current] && !c.isPrivate(current) {
					wrong("before the settlement of " + current)
				}
				current = submission
			}
		case "message-started":
			if len(owed) > 0 {
				wrong(fmt.Sprintf("without results of %v", owed))
			}
			if submission != current {
				wrong("of submission " + submission + " in " + current)
			}
			open, calls = k.text("messageId"), nil
		case "message-delta", "tool-input", "message-completed":
			if k.text("messageId") != open {
				wrong("in progress is " + open)
			}
			if kind == "tool-input" {
				calls = append(calls, k.text("toolCallId"))
			}
			if kind == "message-completed" {
				open, owed = "", calls
			}
		case "tool-output", "tool-output-error":
			if len(owed) == 0 || owed[0] != k.text("toolCallId") {
				wrong(fmt.Sprintf("owed are results of %v", owed))
			} else {
				owed = owed[1:]
			}
		case "submission-settled":
			if settled[submission] || len(owed) > 0 {
				wrong(fmt.Sprintf("settled before, or results are owed: %v", owed))
			}
			settled[submission] = true
		default:
			wrong("unknown")
		}
	}
	if open != "" || len(owed) > 0 {
		c.problem("at the end %q is in progress, owed are results of %v", open, owed)
	}
}

func (c *critique) isPrivate(submission string) bool {
	return slices.ContainsFunc(c.records, func(r conversation.Record) bool {
		return r.Type == conversation.Settled && r.Settlement.Submission == submission && r.Settlement.Private
	})
}

// checkSettlements demands one settlement per submission, shown for direct ones only.
func (c *critique) checkSettlements() {
	seen := map[string]bool{}
	shown := []string{}
	for _, r := range c.records {
		if r.Type != conversation.Settled {
			continue
		}
		if seen[r.Settlement.Submission] {
			c.problem("%s settled twice", r.Settlement.Submission)
		}
		seen[r.Settlement.Submission] = true
		c.settled = append(c.settled, r.Settlement.Submission)
		if !r.Settlement.Private {
			shown = append(shown, r.Settlement.Submission)
		}
	}
	got := []string{}
	for _, s := range decodeObject(c.told.History).list("settlements") {
		got = append(got, s.text("submissionId"))
	}
	if !slices.Equal(got, shown) {
		c.problem("settlements shown are %v, recorded %v", got, shown)
	}
}

// checkBroken demands that a reply that broke off, and was gone on with, is followed by the two hidden advisories.
func (c *critique) checkBroken() {
	threads := map[string][]conversation.Record{}
	for _, r := range c.records {
		threads[r.Conversation] = append(threads[r.Conversation], r)
	}
	for _, records := range threads {
		var broken string
		var advisories []string
		for _, r := range records {
			switch r.Type {
			case conversation.AssistantCompleted:
				broken, advisories = "", nil
				if r.Stop == conversation.StopAborted {
					broken = r.Message
				}
			case conversation.SignalMessage:
				if r.Hidden {
					advisories = append(advisories, r.Message)
					if !r.Advisory || r.Submission != "" {
						c.problem("%s is an advisory of nobody: %+v", r.Message, r)
					}
				}
			case conversation.AssistantStarted:
				first, second := conversation.RecoveryIDs(broken)
				if want := []string{first, second}; broken != "" && !slices.Equal(advisories, want) || broken == "" && len(advisories) > 0 {
					c.problem("%s broke off and was followed by %v", broken, advisories)
				}
				broken, advisories = "", nil
			case conversation.Settled:
				broken, advisories = "", nil
			}
		}
	}
}

func messagesOf(history json.RawMessage) string { return clientOf(decodeObject(history)).shown("") }

// differ is the first line in which two texts differ.
func differ(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(b)) {
		x, y := "nothing", "nothing"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("message %d of %d and %d\n  is   %s\n  want %s", i, len(a), len(b), x, y)
		}
	}
	return "in their bytes"
}

// checkFold demands that a client that has all updates sees what history shows.
func (c *critique) checkFold() {
	var live client
	for _, raw := range c.raw {
		live.apply(decodeObject(raw))
	}
	got, want := live.shown(""), clientOf(decodeObject(c.told.History)).shown("")
	if got != want {
		c.problem("updates do not fold to history: %s", differ(got, want))
	}
	if at := decodeObject(c.told.History).text("offset"); len(c.told.Pages) > 0 && at != c.told.Pages[len(c.told.Pages)-1].Next.String() {
		c.problem("history is at %s, updates end at %s", at, c.told.Pages[len(c.told.Pages)-1].Next)
	}
}

// checkFound demands that what a process found is still there: the same bytes at the same places. A client that began with
// the history of then and took the updates since sees what one sees that comes now.
func (c *critique) checkFound(then *chat) {
	if then == nil {
		return
	}
	snapshot := decodeObject(then.History)
	at, err := stream.Parse(snapshot.text("offset"))
	if err != nil {
		c.problem("history at %v", err)
		return
	}
	var found []json.RawMessage
	var live client
	for _, p := range then.Pages {
		found = append(found, p.Chunks...)
	}
	open := ""
	for i, raw := range found {
		if i >= len(c.raw) || !bytes.Equal(raw, c.raw[i]) {
			c.problem("chunk %d was %s and is gone or changed", i, raw)
			return
		}
		k := decodeObject(raw)
		live.apply(k)
		switch k.text("type") {
		case "message-started":
			open = k.text("messageId")
		case "message-completed":
			open = ""
		}
	}
	if !bytes.Equal(then.History, then.Rebuilt) {
		c.problem("history was not what the log said: %s", differ(messagesOf(then.History), messagesOf(then.Rebuilt)))
	}
	if got, want := live.shown(open), clientOf(snapshot).shown(open); got != want {
		c.problem("updates did not fold to what history was at %s: %s", at, differ(got, want))
	}
	if open != "" && clientOf(snapshot).find(open) == nil {
		c.problem("history had nothing of %s, which was in progress", open)
	}
	late := clientOf(snapshot)
	for i := range c.raw {
		if k := decodeObject(c.raw[i]); placeOf(k).batch > float64(at) {
			late.apply(k)
		}
	}
	// Metadata of a reply that was in progress in the snapshot never gets its model, by the reducer.
	got, want := late.shown(open), clientOf(decodeObject(c.told.History)).shown(open)
	if got != want {
		c.problem("with updates since %s the history of then is not that of now: %s", at, differ(got, want))
	}
}

// checkTools demands that every call on record came to one result, that what ran was on record before and ran once, and that
// a recorded result is that of the execution.
func (c *critique) checkTools(effects map[string][]effect, deaths int) {
	called, recorded := map[string]string{}, map[string]conversation.Outcome{}
	child, prompts := map[string]string{}, map[string]string{}
	committed := map[string]bool{}
	for _, r := range c.records {
		switch r.Type {
		case conversation.Created:
			prompts[r.Conversation] = r.Text
		case conversation.ChildRetained:
			child[r.Call.ID] = r.Child
		case conversation.ToolCalled:
			called[r.Call.ID] = r.Call.Name
		case conversation.ToolOutcome:
			if _, twice := recorded[r.Outcome.Call]; twice {
				c.problem("two outcomes of %s", r.Outcome.Call)
			}
			recorded[r.Outcome.Call] = *r.Outcome
		case conversation.ResultsCommitted:
			for _, o := range r.Outcomes {
				if committed[o.Call] {
					c.problem("two results of %s", o.Call)
				}
				committed[o.Call] = true
				if was, ok := recorded[o.Call]; ok && print(was) != print(o) {
					c.problem("%s: recorded was %s, committed %s", o.Call, print(was), print(o))
				}
				prompt := strings.TrimPrefix(prompts[child[o.Call]], "play ")
				c.checkOutcome(o, called[o.Call], prompt, effects[o.Call], deaths)
			}
		}
	}
	for call, name := range called {
		// What a sub-agent had in progress stays so when its task is given up.
		if !committed[call] && len(prompts) < 2 {
			c.problem("%s, a call of %s, has no result", call, name)
		}
	}
	if deaths == 0 {
		return
	}
	for call := range recorded {
		if len(effects[call]) == 0 && child[call] == "" && !isInterrupted(recorded[call]) {
			c.problem("%s has an outcome and never ran", call)
		}
	}
}

func isInterrupted(o conversation.Outcome) bool {
	var said struct{ Type, Message string }
	if !o.IsError || len(o.Content) != 1 {
		return false
	}
	return json.Unmarshal([]byte(o.Content[0].Text), &said) == nil && said.Type == "interrupted" && said.Message != ""
}

func (c *critique) checkOutcome(o conversation.Outcome, name, childPlay string, ran []effect, deaths int) {
	if name == "" {
		c.problem("result of %s, which nobody called", o.Call)
	}
	if len(ran) > 1 {
		c.problem("%s ran %d times", o.Call, len(ran))
	}
	switch {
	case o.IsError:
		if isInterrupted(o) && deaths == 0 {
			c.problem("%s was interrupted, and nothing died", o.Call)
		}
	case name == "task":
		if want := plays[childPlay].lastText(); len(o.Content) != 1 || o.Content[0].Text != want {
			c.problem("task %s answered %s, want %q", o.Call, print(o.Content), want)
		}
	case len(ran) != 1 || !strings.Contains(string(o.Output), ran[0].token):
		c.problem("%s gave %s, but ran as %v", o.Call, o.Output, ran)
	}
}

// told is the conversation as a person reads it.
func (c *critique) retold() string {
	var lines []string
	for _, b := range c.told.Batches {
		records, _ := conversation.DecodeBatch(b.Data)
		var parts []string
		for _, r := range records {
			text := string(r.Type)
			if r.Session != "" {
				text = "(" + r.Session[len(r.Session)-4:] + ") " + text
			}
			switch {
			case r.Settlement != nil:
				text += " " + print(r.Settlement)
			case r.Call != nil:
				text += " " + r.Call.Name + " " + r.Call.ID
			case r.Stop != "":
				text += " " + string(r.Stop)
			case r.Outcome != nil:
				text += " " + print(r.Outcome)
			case r.Outcomes != nil:
				text += " " + print(r.Outcomes)
			case r.Type == conversation.SignalMessage:
				text += " " + r.Message
			case r.Text != "":
				text += fmt.Sprintf(" %.30q", r.Text)
			}
			parts = append(parts, text)
		}
		lines = append(lines, fmt.Sprintf("%d: %s", b.Last, strings.Join(parts, " | ")))
	}
	return strings.Join(lines, "\n  ")
}
