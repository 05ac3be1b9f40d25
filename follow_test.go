package svc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/memory"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// chatter logs lines, some in bursts and some after a pause.
func chatter(lines int) func(*svc.Runtime) {
	return declared("chatter", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
		for i := range lines {
			if i%50 == 0 {
				takes(5 * time.Millisecond)
			}
			w.Log(fmt.Sprintf("line %d", i))
		}
		return lines, nil
	})
}

// readAll follows a run from an offset to its end and returns the index of every event.
func readAll(ctx context.Context, n *node, run workflow.Run, after stream.Offset) ([]int, error) {
	f := n.Follow(n.RunStream(run))
	defer f.Close()
	var seen []int
	for {
		wake := f.Wake()
		page, err := f.Page(ctx, after)
		if err != nil {
			return seen, err
		}
		var events []struct{ EventIndex int }
		if err := json.Unmarshal(page.JSON(), &events); err != nil {
			return seen, err
		}
		if page.Items != len(events) || page.Items > stream.PageItems {
			return seen, fmt.Errorf("a page of %d items holds %d", page.Items, len(events))
		}
		for _, e := range events {
			seen = append(seen, e.EventIndex)
		}
		after = page.Next
		switch {
		case page.Closed:
			return seen, nil
		case page.Tail:
			select {
			case <-wake:
			case <-ctx.Done():
				return seen, ctx.Err()
			}
		}
	}
}

func TestEveryReaderSeesEveryEventOnce(t *testing.T) {
	const lines = 3000
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		// No second holder shall add an event of its own, however slow the machine is.
		n := start(t, address, chatter(lines), func(c *svc.Config) { c.Gather, c.Lease = time.Millisecond, 20*time.Second })
		others := []*node{n}
		if address[:8] == "postgres" {
			// Readers on a node that does not write hear of appends through the database.
			others = append(others, start(t, address, func(*svc.Runtime) {}))
		}
		id := n.invoke(t, "chatter", nil)
		run := workflow.Run{ID: id, Workflow: "chatter"}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var readers sync.WaitGroup
		for i := range 24 {
			readers.Go(func() {
				takes(rand.N(60 * time.Millisecond)) // readers come one by one
				after := stream.Offset(i%3*500 - 1)
				seen, err := readAll(ctx, others[i%len(others)], run, after)
				if err != nil {
					t.Errorf("reader %d: %v", i, err)
					return
				}
				// run_start, the lines, run_end
				if want := lines + 2 - int(after) - 1; len(seen) != want {
					t.Errorf("reader %d saw %d events, want %d", i, len(seen), want)
				}
				for j, index := range seen {
					if index != int(after)+1+j {
						t.Errorf("reader %d: event %d at place %d", i, index, j)
						return
					}
				}
			})
		}
		readers.Wait()
	})
}

func TestFollowersLeaveNothingBehind(t *testing.T) {
	n := start(t, sqlite(t), chatter(10))
	id := n.invoke(t, "chatter", nil)
	n.await(t, "chatter", id)
	for range 10 {
		if _, err := readAll(t.Context(), n, workflow.Run{ID: id, Workflow: "chatter"}, stream.Start); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, "followed streams", n.Followed(), 0)
}

func TestOffsetBeyondTheTailIsTheTail(t *testing.T) {
	n := start(t, sqlite(t), chatter(1))
	run := workflow.Run{ID: n.invoke(t, "chatter", nil), Workflow: "chatter"}
	n.await(t, "chatter", run.ID)
	f := n.Follow(n.RunStream(run))
	defer f.Close()
	page, err := f.Page(t.Context(), 99)
	if err != nil || page.Next != 99 || !page.Tail || !page.Closed {
		t.Errorf("after 99 comes %s, tail %t, closed %t, %v; want nothing at a closed tail", page.Next, page.Tail, page.Closed, err)
	}
	seen, err := readAll(t.Context(), n, run, 0)
	if err != nil || !slices.Equal(seen, []int{1, 2}) {
		t.Errorf("after 0 come the events %v, %v; want 1 and 2", seen, err)
	}
}

// countedReads counts how often the store is asked for a page.
type countedReads struct {
	svc.Store
	reads atomic.Int64
}

func (s *countedReads) Read(ctx context.Context, of svc.Stream, r svc.Range) (svc.Page, error) {
	s.reads.Add(1)
	return s.Store.Read(ctx, of, r)
}

// lateAnswers is a store that has an append a while before it says so.
type lateAnswers struct {
	svc.Store
	late time.Duration
}

func (s *lateAnswers) Append(ctx context.Context, l svc.Lease, c svc.Commit) (svc.Appended, error) {
	got, err := s.Store.Append(ctx, l, c)
	takes(s.late)
	return got, err
}

// TestReaderSeesWhatTheStoreHasShown comes between a commit and its answer: what Tail says, Page shows.
func TestReaderSeesWhatTheStoreHasShown(t *testing.T) {
	for _, late := range []time.Duration{20 * time.Millisecond, 400 * time.Millisecond} {
		t.Run(late.String(), func(t *testing.T) {
			sqldbtest.EachSchema(t, func(t *testing.T, address string) {
				n := start(t, address, chatter(3), func(c *svc.Config) { c.Store = &lateAnswers{c.Store, late} })
				s := n.RunStream(workflow.Run{ID: n.invoke(t, "chatter", nil), Workflow: "chatter"})
				shown := stream.Start
				eventually(t, "something is in the store", func() bool {
					tail, err := n.Tail(t.Context(), s)
					if err != nil {
						t.Fatal(err)
					}
					shown = tail.Head
					return shown > stream.Start
				})
				f := n.Follow(s)
				defer f.Close()
				if page, err := f.Page(t.Context(), stream.Start); err != nil || page.Next < shown {
					t.Errorf("the store has shown %s, a reader sees %s: %v", shown, page.Next, err)
				}
			})
		})
	}
}

// settle waits until nothing of an instance is unsettled.
func (n *node) settle(t *testing.T, id string) {
	t.Helper()
	eventually(t, "every submission is settled", func() bool {
		waiting, err := n.Submissions(t.Context(), "a", id)
		if err != nil {
			t.Fatal(err)
		}
		return len(waiting) == 0
	})
}

func TestReaderWhoComesAfterTheReplyIsAnsweredFromMemory(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		var turns []scripted.Turn
		for range 10 {
			turns = append(turns, scripted.Turn{scripted.Say("one ", "two ")}, scripted.Turn{scripted.Say("three ")})
		}
		declare, config := talking(scripted.New(turns...))
		var counted *countedReads
		n := start(t, address, declare, config, func(c *svc.Config) {
			counted = &countedReads{Store: c.Store}
			c.Store = counted
		})
		// A machine that takes its time comes too late for the memory of a moment: then another is asked.
		for try := range 10 {
			if n.lateReads(t, counted, fmt.Sprint("late", try)) == 0 {
				return
			}
		}
		t.Error("the store was asked, ten times out of ten")
	})
}

// lateReads is how often the store is asked by a reader who comes after two replies, whose page must begin the store's.
func (n *node) lateReads(t *testing.T, counted *countedReads, id string) int64 {
	t.Helper()
	p := n.prompt(t, id, "x")
	n.settle(t, id)
	n.prompt(t, id, "x")
	n.settle(t, id)
	before := counted.reads.Load()
	f := n.Follow(n.AgentStream("a", id))
	defer f.Close()
	page, err := f.Page(t.Context(), p.Offset)
	if err != nil {
		t.Fatal(err)
	}
	asked := counted.reads.Load() - before
	stored, err := n.Page(t.Context(), n.AgentStream("a", id), p.Offset)
	if err != nil {
		t.Fatal(err)
	}
	// What was committed a moment ago may not be shared yet; it comes with the next page.
	if got, all := string(page.JSON()), string(stored.JSON()); !strings.HasPrefix(all, strings.TrimSuffix(got, "]")) || page.Next > stored.Next {
		t.Errorf("page %s of %s", got, all)
	}
	return asked
}

// TestWhatReadersAreSentIsCountedUntilTheyHaveIt has readers who take their time with a page that the ring lets go of.
func TestWhatReadersAreSentIsCountedUntilTheyHaveIt(t *testing.T) {
	const size = 1 << 20
	budget := memory.New(64 << 20)
	declare, config := talking(scripted.New(scripted.Turn{scripted.Say("one")}, scripted.Turn{scripted.Say("two")}))
	n := start(t, sqlite(t), declare, config, func(c *svc.Config) { c.Memory = budget })
	p := n.prompt(t, "long", "x")
	n.settle(t, "long")
	before, err := n.Page(t.Context(), n.AgentStream("a", "long"), p.Offset)
	if err != nil {
		t.Fatal(err)
	}
	var readers []*svc.Follower
	for range 3 {
		f := n.Follow(n.AgentStream("a", "long"))
		defer f.Close()
		readers = append(readers, f)
	}
	n.prompt(t, "long", strings.Repeat("x", size))
	for _, f := range readers {
		for after := before.Next; ; {
			wake := f.Wake()
			page, err := f.Page(t.Context(), after)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.SSE()) > size {
				break
			}
			if after = page.Next; page.Tail {
				<-wake
			}
		}
	}
	n.settle(t, "long")
	all, err := budget.Wait(t.Context(), "", memory.Work, 60<<20) // what is kept is let go
	if err != nil {
		t.Fatal(err)
	}
	defer all.Release()
	for left := len(readers); left > 0; left-- {
		if held := budget.Used(memory.Reads); held < size || held > 4*size {
			t.Errorf("%d bytes are counted while %d readers are sent %d", held, left, size)
		}
		readers[left-1].Free()
	}
	expect(t, "bytes counted in the end", budget.Used(memory.Reads), 0)
}

func TestDroppedStreamIsNotReadFromMemory(t *testing.T) {
	n := startAgent(t, sqlite(t), scripted.New(scripted.Turn{scripted.Say("one")}, scripted.Turn{scripted.Say("two")}))
	p := n.prompt(t, "gone", "x")
	n.settle(t, "gone")
	// The work still holds its stream for a moment.
	eventually(t, "nothing is worked on", func() bool { return n.Working() == 0 })
	if err := n.store.Drop(t.Context(), n.AgentStream("a", "gone")); err != nil {
		t.Fatal(err)
	}
	f := n.Follow(n.AgentStream("a", "gone"))
	defer f.Close()
	if page, err := f.Page(t.Context(), p.Offset); !errors.Is(err, svc.ErrNoStream) {
		t.Errorf("a dropped stream is read as %s, %v; want ErrNoStream", page.JSON(), err)
	}
	n.prompt(t, "gone", "y")
	expect(t, "updates", retold(n.updates(t, "gone", p.Offset, 1)), "reset | user(y) | started | two | completed | settled completed")
}
