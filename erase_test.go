package svc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/stream"
)

// nodes are two that share a database where that can be; the second is the first on SQLite. Leases are as long as a test.
func nodes(t *testing.T, address string, declare func(*svc.Runtime), config func(*svc.Config)) (working, other *node) {
	t.Helper()
	long := func(c *svc.Config) { c.Lease = time.Minute }
	working = start(t, address, declare, config, long)
	if strings.HasPrefix(address, "sqlite:") {
		return working, working
	}
	return working, start(t, address, declare, config, long, func(c *svc.Config) { c.Workers = 1 })
}

// gone waits until readers of a stream hear that it is no more.
func gone(t *testing.T, f *svc.Follower) {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		wake := f.Wake()
		_, err := f.Page(t.Context(), stream.Start)
		if errors.Is(err, svc.ErrNoStream) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-wake:
		case <-late:
			t.Fatal("who follows is not told")
		}
	}
}

// TestAnErasedRunIsGoneForAllAndItsWorkEnds erases a run while its step runs, on another node where there is one.
func TestAnErasedRunIsGoneForAllAndItsWorkEnds(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		begun, ended := make(chan struct{}), make(chan struct{})
		working, other := nodes(t, address, declared("w", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
			return svc.Step(ctx, w, "s", func(ctx context.Context) (int, error) {
				close(begun)
				<-ctx.Done()
				close(ended)
				return 0, ctx.Err()
			})
		}), func(*svc.Config) {})
		id := working.invoke(t, "w", nil)
		<-begun
		run := svc.Stream{Kind: svc.KindRun, Name: "w", ID: id}
		here, there := working.Follow(run), other.Follow(run)
		defer here.Close()
		defer there.Close()
		if _, err := here.Page(t.Context(), stream.Start); err != nil {
			t.Fatal(err)
		}
		if err := other.In("").EraseRun(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("the step goes on")
		}
		gone(t, here)
		gone(t, there)
		for _, n := range []*node{working, other} {
			if _, err := n.In("").GetRun(t.Context(), id); !fault.Is(err, fault.RunNotFound) {
				t.Errorf("look-up: %v", err)
			}
			if err := n.In("").EraseRun(t.Context(), id); !fault.Is(err, fault.RunNotFound) {
				t.Errorf("erased again: %v", err)
			}
			if _, err := n.Await(t.Context(), "w", id); !errors.Is(err, svc.ErrNoStream) {
				t.Errorf("await: %v", err)
			}
		}
	})
}

// TestAnErasedConversationBeginsAnew erases a conversation in the middle of a reply, and goes on with it.
func TestAnErasedConversationBeginsAnew(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		declare, config := talking(scripted.New(scripted.Turn{scripted.Say("once "), scripted.Hang()}, scripted.Turn{scripted.Say("fine")}))
		working, other := nodes(t, address, declare, config)
		working.prompt(t, "1", "secret")
		working.prompt(t, "1", "queued")
		eventually(t, "the reply begins", func() bool { return strings.Contains(working.history(t, "1"), "once") })
		here := working.Follow(working.In("").AgentStream("a", "1"))
		defer here.Close()
		if err := other.In("").EraseConversation(t.Context(), "a", "1"); err != nil {
			t.Fatal(err)
		}
		gone(t, here)
		for _, n := range []*node{working, other} {
			if _, _, err := n.Conversation(t.Context(), "a", "1"); !errors.Is(err, svc.ErrNoStream) {
				t.Errorf("history: %v", err)
			}
			if err := n.In("").EraseConversation(t.Context(), "a", "1"); !errors.Is(err, svc.ErrNoStream) {
				t.Errorf("erased again: %v", err)
			}
			if left, err := n.Submissions(t.Context(), "a", "1"); err != nil || len(left) > 0 {
				t.Errorf("queue: %v %v", left, err)
			}
		}
		p := working.prompt(t, "1", "hello")
		if told := retold(working.updates(t, "1", p.Offset, 1)); told != "user(hello) | started | fine | completed | settled completed" {
			t.Errorf("it went on with %s", told)
		}
		if text := working.history(t, "1"); strings.Contains(text, "secret") || strings.Contains(text, "queued") || p.Offset == 0 {
			t.Errorf("offset %d, history %s", p.Offset, text)
		}
	})
}
