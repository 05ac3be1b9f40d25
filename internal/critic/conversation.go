package critic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/stream"
)

// Chat is an instance's conversation, told in every way there is.
type Chat struct {
	Pages   []Page
	History json.RawMessage // as it is served
	Rebuilt json.RawMessage // from the log alone
	Batches []svc.Batch
	Queue   []string // submissions that have not settled
}

// Page is what a reader is shown at once.
type Page struct {
	Instance    string
	After, Next stream.Offset
	Chunks      []json.RawMessage
}

// PageOf is a frame as its reader decodes it.
func PageOf(s svc.Stream, f stream.Frame) *Page {
	p := &Page{Instance: s.ID, After: f.After, Next: f.Next}
	if err := json.Unmarshal(f.JSON(), &p.Chunks); err != nil {
		panic(err)
	}
	return p
}

// ChatOf reads a conversation through its runtime, and its log through the store.
func ChatOf(ctx context.Context, rt *svc.Runtime, store svc.Store, agent, id string) (*Chat, error) {
	s := rt.AgentStream(agent, id)
	c := &Chat{}
	history, head, err := rt.Conversation(ctx, agent, id)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	if c.History, err = stream.Encode(history); err != nil {
		return nil, err
	}
	after := stream.Start
	for after < head {
		frame, err := rt.Page(ctx, s, after)
		if err != nil {
			return nil, err
		}
		c.Pages = append(c.Pages, *PageOf(s, frame))
		after = frame.Next
	}
	if after > head {
		// PostgreSQL may still commit what a process had sent when it was killed: history and updates are of two moments.
		return ChatOf(ctx, rt, store, agent, id)
	}
	var rows []conversation.Row
	var tail conversation.Tail
	from := svc.Position{Offset: stream.Start}
	for more := true; more; {
		log, err := store.Read(ctx, s, svc.Range{After: from, Through: head, Items: 7})
		if err != nil {
			return nil, err
		}
		for _, b := range log.Batches {
			records, err := conversation.DecodeBatch(b.Data)
			if err != nil {
				return nil, err
			}
			finished, err := tail.Apply(records)
			if err != nil {
				return nil, err
			}
			rows, from = append(rows, finished...), b.Position()
		}
		c.Batches = append(c.Batches, log.Batches...)
		more = log.More
	}
	rebuilt, err := conversation.History(history.Conversation, head, rows, &tail)
	if err != nil {
		return nil, err
	}
	if c.Rebuilt, err = stream.Encode(rebuilt); err != nil {
		return nil, err
	}
	queue, err := rt.Submissions(ctx, agent, id)
	for _, b := range queue {
		c.Queue = append(c.Queue, b.ID)
	}
	return c, err
}

// Critique is what is wrong with a conversation, by the laws that hold for all of them.
type Critique struct {
	findings
	Told    *Chat
	Records []conversation.Record
	Settled []string // submissions, in the order of their settlements, private ones too

	raw    []json.RawMessage
	chunks []object
}

// Judge reads a conversation that is idle.
func Judge(told *Chat) *Critique {
	c := &Critique{Told: told, raw: chunksOf(told.Pages)}
	for _, raw := range c.raw {
		c.chunks = append(c.chunks, decodeObject(raw))
	}
	for _, b := range told.Batches {
		records, err := conversation.DecodeBatch(b.Data)
		if err != nil {
			c.Problem("batch %s: %v", b.Last, err)
		}
		c.Records = append(c.Records, records...)
	}
	if len(told.Queue) > 0 {
		c.Problem("not settled: %v", told.Queue)
	}
	CheckPages(c.Problem, told.Pages)
	c.checkOrder()
	c.checkSettlements()
	c.checkBroken()
	c.checkFold()
	if !bytes.Equal(told.History, told.Rebuilt) {
		c.Problem("history is not what the log says: %s", differ(messagesOf(told.History), messagesOf(told.Rebuilt)))
	}
	return c
}

func chunksOf(pages []Page) (all []json.RawMessage) {
	for _, p := range pages {
		all = append(all, p.Chunks...)
	}
	return all
}

// position is where a record stands in a stream.
type position struct{ batch, index float64 }

func positionOf(k object) position {
	p := k.object("position")
	return position{p["batch"].(float64), p["index"].(float64)}
}

// CheckPages demands growing positions, indexes without holes, and whole batches per page.
func CheckPages(problem func(string, ...any), pages []Page) {
	after := stream.Start
	for _, p := range pages {
		if p.After != after || p.Next <= p.After {
			problem("a page goes from %s to %s, the one before to %s", p.After, p.Next, after)
		}
		after = p.Next
		last := position{batch: float64(p.After)}
		for _, raw := range p.Chunks {
			at := positionOf(decodeObject(raw))
			next := position{last.batch, last.index + 1}
			if at != next && (at.batch <= last.batch || at.index != 0) || at.batch > float64(p.Next) {
				problem("position %v follows %v on the page to %s", at, last, p.Next)
			}
			last = at
		}
	}
}

// checkOrder demands invariants 2 to 6.
func (c *Critique) checkOrder() {
	var open, current string
	var calls, owed []string
	settled := map[string]bool{}
	for i, k := range c.chunks {
		kind, submission := k.text("type"), k.text("submissionId")
		wrong := func(why string) { c.Problem("chunk %d, %s: %s\n%s", i, kind, why, c.raw[i]) }
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
		c.Problem("at the end %q is in progress, owed are results of %v", open, owed)
	}
}

func (c *Critique) isPrivate(submission string) bool {
	return slices.ContainsFunc(c.Records, func(r conversation.Record) bool {
		return r.Type == conversation.Settled && r.Settlement.Submission == submission && r.Settlement.Private
	})
}

// checkSettlements demands one settlement per submission, shown for direct ones only.
func (c *Critique) checkSettlements() {
	seen := map[string]bool{}
	shown := []string{}
	for _, r := range c.Records {
		if r.Type != conversation.Settled {
			continue
		}
		if seen[r.Settlement.Submission] {
			c.Problem("%s settled twice", r.Settlement.Submission)
		}
		seen[r.Settlement.Submission] = true
		c.Settled = append(c.Settled, r.Settlement.Submission)
		if !r.Settlement.Private {
			shown = append(shown, r.Settlement.Submission)
		}
	}
	got := []string{}
	for _, s := range decodeObject(c.Told.History).list("settlements") {
		got = append(got, s.text("submissionId"))
	}
	if !slices.Equal(got, shown) {
		c.Problem("settlements shown are %v, recorded %v", got, shown)
	}
}

// checkBroken demands that a reply that broke off, and was gone on with, is followed by the two hidden advisories.
func (c *Critique) checkBroken() {
	threads := map[string][]conversation.Record{}
	for _, r := range c.Records {
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
				if r.Hidden && r.SignalType != conversation.ResultMissing {
					advisories = append(advisories, r.Message)
					if !r.Advisory || r.Submission != "" {
						c.Problem("%s is an advisory of nobody: %+v", r.Message, r)
					}
				}
			case conversation.AssistantStarted:
				first, second := conversation.RecoveryIDs(broken)
				if want := []string{first, second}; broken != "" && !slices.Equal(advisories, want) || broken == "" && len(advisories) > 0 {
					c.Problem("%s broke off and was followed by %v", broken, advisories)
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
	line := func(all []string, i int) string {
		if i < len(all) {
			return all[i]
		}
		return "nothing"
	}
	for i := range max(len(a), len(b)) {
		if x, y := line(a, i), line(b, i); x != y {
			return fmt.Sprintf("message %d of %d and %d\n  is   %s\n  want %s", i, len(a), len(b), x, y)
		}
	}
	return "in their bytes"
}

// checkFold demands that a client that has all updates sees what history shows.
func (c *Critique) checkFold() {
	var live client
	for _, raw := range c.raw {
		live.apply(decodeObject(raw))
	}
	if got, want := live.shown(""), messagesOf(c.Told.History); got != want {
		c.Problem("updates do not fold to history: %s", differ(got, want))
	}
	if at := decodeObject(c.Told.History).text("offset"); len(c.Told.Pages) > 0 && at != c.Told.Pages[len(c.Told.Pages)-1].Next.String() {
		c.Problem("history is at %s, updates end at %s", at, c.Told.Pages[len(c.Told.Pages)-1].Next)
	}
}

// CheckFound demands that what a process found is still there: the same bytes at the same places. A client that began with
// the history of then and took the updates since sees what one sees that comes now.
func (c *Critique) CheckFound(then *Chat) {
	if then == nil {
		return
	}
	snapshot := decodeObject(then.History)
	at, err := stream.Parse(snapshot.text("offset"))
	if err != nil {
		c.Problem("history at %v", err)
		return
	}
	var live client
	open := ""
	for i, raw := range chunksOf(then.Pages) {
		if i >= len(c.raw) || !bytes.Equal(raw, c.raw[i]) {
			c.Problem("chunk %d was %s and is gone or changed", i, raw)
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
		c.Problem("history was not what the log said: %s", differ(messagesOf(then.History), messagesOf(then.Rebuilt)))
	}
	if got, want := live.shown(open), clientOf(snapshot).shown(open); got != want {
		c.Problem("updates did not fold to what history was at %s: %s", at, differ(got, want))
	}
	if open != "" && clientOf(snapshot).find(open) == nil {
		c.Problem("history had nothing of %s, which was in progress", open)
	}
	late := clientOf(snapshot)
	for i := range c.raw {
		if k := decodeObject(c.raw[i]); positionOf(k).batch > float64(at) {
			late.apply(k)
		}
	}
	// Metadata of a reply that was in progress in the snapshot never gets its model, by the reducer.
	got, want := late.shown(open), clientOf(decodeObject(c.Told.History)).shown(open)
	if got != want {
		c.Problem("with updates since %s the history of then is not that of now: %s", at, differ(got, want))
	}
}

// CheckAudience demands that whoever went on from offset to offset saw each chunk once, whole batches at a time.
func (c *Critique) CheckAudience(pages []Page) {
	CheckPages(c.Problem, pages)
	seen := chunksOf(pages)
	if len(seen) != len(c.raw) {
		c.Problem("a follower saw %d chunks of %d", len(seen), len(c.raw))
	}
	for i := range min(len(seen), len(c.raw)) {
		if !bytes.Equal(seen[i], c.raw[i]) {
			c.Problem("a follower saw %s, now it is %s", seen[i], c.raw[i])
			return
		}
	}
}

// Retold is the conversation as a person reads it.
func (c *Critique) Retold() string {
	var lines []string
	for _, b := range c.Told.Batches {
		records, _ := conversation.DecodeBatch(b.Data)
		var parts []string
		for _, r := range records {
			text := string(r.Type)
			if r.Session != "" {
				text = "(" + r.Session[len(r.Session)-4:] + ") " + text
			}
			switch {
			case r.Settlement != nil:
				text += " " + Print(r.Settlement)
			case r.Call != nil:
				text += " " + r.Call.Name + " " + r.Call.ID
			case r.Stop != "":
				text += " " + string(r.Stop)
			case r.Outcome != nil:
				text += " " + Print(r.Outcome)
			case r.Outcomes != nil:
				text += " " + Print(r.Outcomes)
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
