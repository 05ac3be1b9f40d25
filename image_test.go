package svc_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/memory"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/stream"
)

// within64 gives a node 64 MiB.
func within64(c *svc.Config) { c.Memory = memory.New(64 << 20) }

// pictures is a prompt with images of so many MiB each.
func pictures(n, mib int) svc.Prompt {
	m := conversation.Message{Kind: "user", Body: "look"}
	for i := range n {
		m.Attachments = append(m.Attachments, conversation.Attachment{
			MimeType: "image/png", Data: bytes.Repeat([]byte{byte(i)}, mib<<20),
		})
	}
	return svc.Prompt{Message: m}
}

// TestImagesOfATurnDrawFromTheMemory shows a model more than half of the memory: it is given the newest, the turn's memory is
// counted while the model is asked, and given back.
func TestImagesOfATurnDrawFromTheMemory(t *testing.T) {
	var n *node
	var told, held atomic.Value
	declare, configure := talking(scripted.Choose(func(r model.Request) scripted.Turn {
		var seen []string
		for _, p := range r.Messages[0].Parts[1:] {
			if p.Image != nil {
				seen = append(seen, fmt.Sprintf("%d:%d", p.Image.Data[0], len(p.Image.Data)>>20))
			} else {
				seen = append(seen, (*p.Text)[:9])
			}
		}
		told.Store(strings.Join(seen, " "))
		held.Store(n.Memory().Used(memory.Images))
		return scripted.Turn{scripted.Say("seen")}
	}))
	n = start(t, sqlite(t), declare, configure, within64)
	if _, err := n.Prompt(t.Context(), "a", "42", pictures(7, 6)); err != nil {
		t.Fatal(err)
	}
	n.updates(t, "42", stream.Start, 1)
	expect(t, "seen", told.Load().(string), "[An image [An image 2:6 3:6 4:6 5:6 6:6")
	expect(t, "held", held.Load().(int64), 30<<20)
	expect(t, "held afterwards", n.Memory().Used(memory.Images), 0)
}

// TestATurnWaitsForTheMemoryOfItsImages takes all memory away: the prompt is parked, says why, and goes on.
func TestATurnWaitsForTheMemoryOfItsImages(t *testing.T) {
	n := func() *node {
		declare, configure := talking(scripted.New(scripted.Turn{scripted.Say("seen")}))
		return start(t, sqlite(t), declare, configure, within64)
	}()
	taken, err := n.Memory().Try("", memory.Bodies, 52<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Prompt(t.Context(), "a", "42", pictures(2, 8)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the prompt waits", func() bool {
		queue, err := n.Submissions(t.Context(), "a", "42")
		return err == nil && len(queue) == 1 && queue[0].Reason == svc.ReasonMemory
	})
	expect(t, "held", n.Memory().Used(memory.Images), 0)
	taken.Release()
	expect(t, "updates", retold(n.updates(t, "42", 0, 1)), "user(look) | started | seen | completed | settled completed")
}
