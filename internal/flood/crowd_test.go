package flood

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// insist prompts until there is room for it.
func (g *guest) insist(ctx context.Context, id, text string) (offset string, busy int, err error) {
	for {
		offset, err = g.prompt(ctx, id, text)
		if err == nil || !strings.Contains(err.Error(), "503") {
			return offset, busy, err
		}
		busy++
		select {
		case <-ctx.Done():
			return "", busy, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// each does something for all of a number, few at once.
func each(n, parallel int, do func(n int) error) error {
	work := make(chan int)
	failed := make(chan error, n)
	var all sync.WaitGroup
	for range parallel {
		all.Go(func() {
			for i := range work {
				if err := do(i); err != nil {
					failed <- fmt.Errorf("%d: %w", i, err)
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	all.Wait()
	close(failed)
	return <-failed
}

// TestManyConversationsTakeNoMoreThanThereIs has conversations that are idle, others with large prompts that run, and prompts
// that wait and are listed, while somebody else goes on working. All that was admitted is answered in the end.
func TestManyConversationsTakeNoMoreThanThereIs(t *testing.T) { onEach(t, crowdAll) }

func crowdAll(t *testing.T, database string) {
	s := start(t, database, budget, "SVC_LIMIT_RATE=1000000", "SVC_LIMIT_BURST=1000000")
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(count(20, 4))*time.Minute)
	defer cancel()
	idle, running, queued := count(270, 9), count(100, 8), count(60, 6)
	tn := &tenant{guest: s.guest(s.enrol(t, 0))}
	var people []*guest
	for n := range count(9, 3) {
		people = append(people, s.guest(s.enrol(t, n+1)))
	}
	of := func(n int) *guest { return people[n%len(people)] }
	goroutines := s.metrics(t)["go_goroutines"]
	stop, done, ended := s.gauge(t), make(chan seen, 1), make(chan struct{})
	go func() { tn.work(ctx, done); close(ended) }()

	err := each(idle, 4, func(n int) error {
		id := fmt.Sprint("idle", n)
		offset, _, err := of(n).insist(ctx, id, "n=1 "+strings.Repeat("x", 4<<20))
		if err != nil {
			return err
		}
		return of(n).settled(ctx, id, offset)
	})
	if err != nil {
		t.Error("idle:", err)
	}
	t.Logf("%d idle conversations of 4 MiB: %d MiB now", idle, s.status(t, "VmRSS:"))

	// The first of a conversation keeps the others waiting.
	last, text := people[0], "n=1 "+strings.Repeat("x", 8<<20)
	if _, err := last.prompt(ctx, "queue", "n=100000 delay=1000"); err != nil {
		t.Fatal(err)
	}
	if err := each(queued, 2, func(int) error { _, _, err := last.insist(ctx, "queue", text); return err }); err != nil {
		t.Error("queued:", err)
	}
	listing, unlist := context.WithCancel(ctx)
	var lists sync.WaitGroup
	for range 4 {
		lists.Go(func() { last.list(listing, t, queued+1) })
	}
	var mu sync.Mutex
	busy := 0
	err = each(running, 16, func(n int) error {
		id := fmt.Sprint("running", n)
		offset, again, err := of(n).insist(ctx, id, "n=20 delay=50 "+strings.Repeat("x", 8<<20))
		mu.Lock()
		busy += again
		mu.Unlock()
		if err != nil {
			return err
		}
		return of(n).settled(ctx, id, offset)
	})
	if err != nil {
		t.Error("running:", err)
	}
	t.Logf("%d running prompts of 8 MiB, %d queued and listed: %d MiB now, %d times busy", running, queued, s.status(t, "VmRSS:"), busy)
	unlist()
	lists.Wait()
	if answer, told, err := last.ask(ctx, http.MethodPost, last.base()+"/agents/central/queue/abort", ""); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("abort: %v %s %v", answer, told, err)
	}
	eventually(ctx, 100*time.Millisecond, func() bool { return last.unsettled(ctx, t) == 0 })
	done <- seen{"done": 1}
	<-ended
	most := stop()
	t.Logf("%d MiB at most; prompts %s, refused %v", most, &tn.times, tn.failed)
	s.judge(t, tn, seen{"done": 1}, most)
	s.returns(t, goroutines)
}

// list lists what waits until ctx ends; all of it must be there. Where all want to know it may take several attempts.
func (g *guest) list(ctx context.Context, t *testing.T, least int) {
	listed, busy := 0, 0
	for ctx.Err() == nil {
		n := g.unsettled(ctx, t)
		switch {
		case n < 0:
			busy++
		case n < least && ctx.Err() == nil:
			t.Errorf("%d are listed, want %d", n, least)
			return
		default:
			listed++
		}
		takes(100 * time.Millisecond)
	}
	t.Logf("listed %d times, %d times busy", listed, busy)
	if listed == 0 {
		t.Error("they were never listed")
	}
}

// unsettled is how much of the conversation "queue" waits or runs; -1: there was no answer in time.
func (g *guest) unsettled(ctx context.Context, t *testing.T) int {
	answer, told, err := g.ask(ctx, http.MethodGet, g.base()+"/agents/central/queue/submissions", "")
	if err == nil && answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != "" {
		return -1
	}
	if err != nil || answer.StatusCode != http.StatusOK {
		if ctx.Err() == nil {
			t.Errorf("list: %v %.200s %v", answer, told, err)
		}
		return 0
	}
	var all struct{ Submissions []json.RawMessage }
	if err := json.Unmarshal(told, &all); err != nil {
		t.Errorf("list: %.200s %v", told, err)
	}
	return len(all.Submissions)
}
