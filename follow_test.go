package svc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// chatter logs lines, some in bursts and some after a pause.
func chatter(lines int) func(*svc.Runtime) {
	return declared("chatter", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
		for i := range lines {
			if i%50 == 0 {
				time.Sleep(5 * time.Millisecond)
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
	sqldbtest.Each(t, func(t *testing.T, address string) {
		n := start(t, address, chatter(lines), func(c *svc.Config) { c.Gather = time.Millisecond })
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
				time.Sleep(rand.N(60 * time.Millisecond))
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
	id := n.invoke(t, "chatter", nil)
	n.await(t, "chatter", id)
	f := n.Follow(n.RunStream(workflow.Run{ID: id, Workflow: "chatter"}))
	defer f.Close()
	page, err := f.Page(t.Context(), 99)
	if err != nil || page.Next != 99 || !page.Tail || !page.Closed {
		t.Errorf("%+v, %v", page, err)
	}
	page, err = f.Page(t.Context(), 0)
	if err != nil || page.Next != 2 || !page.Closed || page.Items != 2 {
		t.Errorf("%+v, %v", page, err)
	}
}
