package crash_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/critic"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// crowd is clients that prompt many instances while their node is killed again and again.
type crowd struct {
	*stage
	clients sync.WaitGroup
	over    chan struct{}

	mu      sync.Mutex
	current *process
	found   []*process
	lost    int
	queues  map[string][]accepted // by instance, in the order of acceptance: each has one client
}

// accepted is a prompt that was answered.
type accepted struct {
	key, play, kind, id string
}

// how the plays of the crowd end.
var crowdPlays = map[string]line{
	"word": {outcome: "completed"}, "words": {outcome: "completed"}, "thought": {outcome: "completed"}, "tool": {outcome: "completed"},
	"tools": {outcome: "completed"}, "tools-twice": {outcome: "completed"}, "delegate": {outcome: "completed"}, "cut": {outcome: "completed"},
	"refuse": {outcome: "failed", failure: "operation_failed"},
}

func TestPromptsSettleOnceWhenAProcessUnderLoadIsKilled(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		abreast(t)
		g := &crowd{stage: newStage(t, address), over: make(chan struct{}), queues: map[string][]accepted{}}
		g.setup.Pace = 2 * time.Millisecond
		g.raise(trap{})
		g.current = g.node
		for i := range 6 {
			g.clients.Go(func() { g.client(i) })
		}
		for n := kills(t); g.deaths < n; g.deaths++ {
			takes(time.Duration(20+rand.IntN(380)) * time.Millisecond)
			g.node.Kill()
			g.raise(trap{})
			g.mu.Lock()
			g.current, g.found = g.node, append(g.found, g.node)
			g.mu.Unlock()
		}
		close(g.over)
		g.clients.Wait()
		g.settle()
		g.node.Stop()
	})
}

func (g *crowd) process() *process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.current
}

// client prompts instances of its own, each request until it is answered, and repeats some that were.
func (g *crowd) client(name int) {
	names := slices.Sorted(func(yield func(string) bool) {
		for play := range crowdPlays {
			if !yield(play) {
				return
			}
		}
	})
	for i := 0; ; i++ {
		select {
		case <-g.over:
			return
		case <-time.After(time.Duration(rand.IntN(60)) * time.Millisecond):
		}
		instance := fmt.Sprintf("%d-%d", name, i/12*3+rand.IntN(3))
		p := accepted{key: fmt.Sprint(i), play: names[rand.IntN(len(names))], kind: []string{"direct", "direct", "direct", "dispatch"}[rand.IntN(4)]}
		id, ok := g.prompt(instance, p)
		if !ok {
			return
		}
		p.id = id
		g.mu.Lock()
		g.queues[instance] = append(g.queues[instance], p)
		g.mu.Unlock()
		if again, ok := g.prompt(instance, p); rand.IntN(4) == 0 && ok && again != id {
			g.t.Errorf("key %s of %s was %s and is %s", p.key, instance, id, again)
		}
	}
}

func (g *crowd) prompt(instance string, p accepted) (string, bool) {
	for {
		got, err := g.process().ask(request{
			Op: "prompt", Message: "play " + p.play, Key: p.key, chatRequest: chatRequest{Agent: "talker", Instance: instance, Kind: p.kind},
		})
		switch {
		case err == nil:
			return got.chatReply.Submission, true
		case errors.Is(err, errDied):
			g.mu.Lock()
			g.lost++
			g.mu.Unlock()
			takes(5 * time.Millisecond)
		default:
			g.t.Errorf("prompt %s: %v", p.key, err)
			return "", false
		}
	}
}

// settle lets every instance become idle and demands that each prompt settled once, in order, as if nothing had happened.
func (g *crowd) settle() {
	g.t.Helper()
	began := time.Now()
	told := map[string]*critic.Chat{}
	for instance := range g.queues {
		told[instance] = g.node.must(request{Op: "idle", chatRequest: chatRequest{Agent: "talker", Instance: instance}}).Chat
	}
	took := time.Since(began)
	effects := allEffects(g.setup.Effects)["tool"]
	prompts, broken, ran := 0, 0, len(effects)
	for instance, queue := range g.queues {
		c := judge(told[instance])
		k, ids := talk{name: instance}, []string{}
		for _, p := range queue {
			l := crowdPlays[p.play]
			l.play, l.kind = p.play, p.kind
			k.lines, ids = append(k.lines, l), append(ids, p.id)
		}
		prompts += len(ids)
		c.checkTalk(k, ids)
		c.checkTools(effects, g.deaths)
		for _, p := range g.found {
			c.CheckFound(p.open[instance])
		}
		for _, r := range c.Records {
			if r.Hidden {
				broken++
			}
		}
		g.criticize(instance, c)
	}
	g.checkCalls()
	g.t.Logf("%d kills, %d prompts to %d instances, %d requests without an answer, %d replies broken and gone on with, %d tool calls, settled in %v",
		g.deaths, prompts, len(g.queues), g.lost, broken/2, ran, took.Round(time.Millisecond))
}
