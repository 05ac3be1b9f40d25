package torture_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/child"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/internal/torture"
)

// nodes are two processes on one PostgreSQL. Clients are at one of them.
type nodes struct {
	database  string
	processes [2]*child.Process
	addresses [2]string
	at        int
}

// start begins a node, and returns when it serves.
func (n *nodes) start(t testing.TB, i int) {
	t.Helper()
	n.processes[i] = child.Start(t, setup{Database: n.database, Node: fmt.Sprintf("node%d", i)})
	var first hello
	n.processes[i].Hello(&first)
	n.addresses[i] = strings.TrimPrefix(first.URL, "http://")
}

// kill ends the node that clients are at, moves them to the other, and starts it again.
func (n *nodes) kill(t testing.TB, proxy *torture.Proxy) {
	t.Helper()
	killed := n.at
	n.processes[killed].Kill()
	n.at = 1 - killed
	proxy.Move(n.addresses[n.at])
	n.start(t, killed)
}

// takes is what takes its time in a scene.
func takes(d time.Duration) { time.Sleep(d) }

// TestWorkThatMovesBetweenNodesIsFollowed kills the node that is asked, again and again, and moves its clients to the other, while
// a run and a conversation are followed, connections are cut, and prompts are sent.
func TestWorkThatMovesBetweenNodesIsFollowed(t *testing.T) {
	n := &nodes{database: sqldbtest.Postgres(t)}
	n.start(t, 0)
	n.start(t, 1)
	s := before(t, "http://"+n.addresses[0])
	s.direct = ask(t, s.proxy.URL()) // which moves too
	s.plan(t, torture.Plan{Match: "live=", Times: -1, Upto: 40_000, Do: torture.Cut})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()

	over := make(chan struct{})
	prompts := 0
	var chatting sync.WaitGroup
	var lost error
	chatting.Go(func() { prompts, lost = s.chat(ctx, over) })
	rounds := pick(1, 15)
	for round := range rounds {
		s.round(ctx, t, n, round)
	}
	close(over)
	chatting.Wait()
	if lost != nil {
		t.Fatal(lost)
	}
	s.wantPrompts(t, "chat", prompts)
	t.Attr("moves-between-nodes", fmt.Sprintf("%d kills, %d cuts, %d prompts, none lost, none doubled", 3*rounds, s.proxy.Hits(), prompts))
}

// round follows a run and a reply in both modes, through three kills.
func (s *scene) round(ctx context.Context, t testing.TB, n *nodes, round int) {
	t.Helper()
	instance := fmt.Sprintf("moved %d", round)
	id, sent := s.invoke(t, 150, 20), s.prompt(t, "assistant", instance, "n=150 delay=20")
	modes := []client.Live{client.SSE, client.LongPoll}
	stories, folds, errs := make([][]string, 2), make([]*client.Conversation, 2), make([]error, 4)
	var all sync.WaitGroup
	for i, live := range modes {
		all.Go(func() { stories[i], errs[i] = events(ctx, s.through, id, live) })
		all.Go(func() { folds[i], errs[2+i] = conversation(ctx, s.through, sent, live) })
	}
	for range 3 {
		takes(400 * time.Millisecond)
		n.kill(t, s.proxy)
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := events(ctx, s.direct, id, client.CatchUp)
	if err != nil {
		t.Fatal(err)
	}
	for i, live := range modes {
		wantEvents(t, string(live), want, stories[i])
		s.wantHistory(t, string(live), folds[i], "assistant", instance)
	}
}

// chat sends prompts until it is told to stop, and says how many were taken.
func (s *scene) chat(ctx context.Context, over <-chan struct{}) (n int, err error) {
	for {
		if _, err := s.through.Agents.Send(ctx, "assistant", "chat", client.Prompt{Body: fmt.Sprintf("n=1 prompt %d", n)}); err != nil {
			return n, err
		}
		n++
		select {
		case <-over:
			return n, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}
