package scripted

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/model"
)

// thoughts is how many reasoning deltas think adds.
const thoughts = 3

// The bounds of what a text may ask for.
const (
	maxWords = 1 << 30
	maxSize  = 1 << 20
	maxDelay = 24 * time.Hour / time.Millisecond
)

// Words answers with words that the user's text steers: n=20 of them, delay=0 milliseconds apart, each padded to size=0
// characters; ts=1 makes each the time at which it was said, think adds reasoning before them, and a text that starts with
// fail fails. What steers stands within the first 4 KiB. A reply that an interruption broke off goes on at its next word. It
// needs no key and no network, and costs nothing.
func Words() model.Provider { return words{} }

type words struct{}

func (words) Turn(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if name := cmp.Or(r.Model, "words"); name != "words" {
			yield(model.Event{}, &model.Error{Class: model.Rejected, Message: fmt.Sprintf("there is no scripted model %q", name)})
			return
		}
		before, told := Unbroken(r.Messages)
		w := read(lastText(before))
		if w.fail {
			yield(model.Event{}, &model.Error{Class: model.Rejected, Message: "failed on purpose"})
			return
		}
		w.play(ctx, w.told(told), yield)
	}
}

// wish is what a text asks for.
type wish struct {
	fail     bool
	thoughts int
	words    int
	delay    time.Duration
	size     int
	times    bool
}

func read(text string) wish {
	text = text[:min(len(text), steering)]
	w := wish{
		fail:  strings.HasPrefix(text, "fail"),
		words: number(text, "n", 20, maxWords),
		delay: time.Duration(number(text, "delay", 0, int(maxDelay))) * time.Millisecond,
		size:  number(text, "size", 0, maxSize),
		times: number(text, "ts", 0, 1) == 1,
	}
	if slices.Contains(strings.Fields(text), "think") {
		w.thoughts = thoughts
	}
	return w
}

// steering is how far into a text is looked: who sends megabytes does not choose how long that takes.
const steering = 4 << 10

var settings = regexp.MustCompile(`\b(n|delay|size|ts)=(\d+)`)

// number is the first setting of a name, no more than most.
func number(text, name string, otherwise, most int) int {
	for _, m := range settings.FindAllStringSubmatch(text, -1) {
		if m[1] == name {
			n, _ := strconv.Atoi(m[2]) // the largest there is, where it is more
			return min(n, most)
		}
	}
	return otherwise
}

var (
	aThought = regexp.MustCompile(`thought\d+ `)
	aWord    = regexp.MustCompile(`word\d+ |t\d{16} `)
)

// told is how many deltas of a wish stand in a reply that broke off. A model that had begun to speak had thought enough.
func (w wish) told(parts []model.Part) int {
	var thought, said int
	for _, p := range parts {
		switch {
		case p.Reasoning != nil:
			thought += len(aThought.FindAllString(p.Reasoning.Text, -1))
		case p.Text != nil:
			said += len(aWord.FindAllString(*p.Text, -1))
		}
	}
	if said > 0 {
		return w.thoughts + min(said, w.words)
	}
	return min(thought, w.thoughts)
}

// play tells what comes after the first so many deltas.
func (w wish) play(ctx context.Context, first int, yield func(model.Event, error) bool) {
	all := w.thoughts + w.words
	var pause time.Duration // between two deltas there is one, before the first none
	for i := first; i < all; i++ {
		if err := rest(ctx, pause); err != nil {
			yield(model.Event{}, err)
			return
		}
		pause = w.delay
		if !yield(w.delta(i), nil) {
			return
		}
		if last := i+1 == w.thoughts || i+1 == all; last && !yield(model.Event{Type: model.BlockEnd}, nil) {
			return
		}
	}
	usage := model.Usage{Input: 1, Output: all - first, TotalTokens: 1 + all - first}
	yield(model.Event{Type: model.Finished, Finish: &model.Finish{Reason: model.Stop, Usage: usage, Model: "words"}}, nil)
}

func (w wish) delta(i int) model.Event {
	kind, text := model.TextDelta, fmt.Sprintf("word%d ", i-w.thoughts)
	switch {
	case i < w.thoughts:
		kind, text = model.ReasoningDelta, fmt.Sprintf("thought%d ", i)
	case w.times:
		text = fmt.Sprintf("t%d ", time.Now().UnixMicro())
	}
	return model.Event{Type: kind, Text: text + strings.Repeat("x", max(0, w.size-len(text)))}
}

// rest waits, or returns why it may not.
func rest(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// lastText is what the user said last.
func lastText(messages []model.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role != model.RoleUser {
			continue
		}
		var texts []string
		for _, p := range m.Parts {
			if p.Text != nil {
				texts = append(texts, *p.Text)
			}
		}
		return strings.Join(texts, "\n")
	}
	return ""
}
