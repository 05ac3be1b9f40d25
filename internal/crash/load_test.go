package crash_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/critic"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// kills is how often a process under load is killed, on each database.
func kills(t *testing.T) int {
	if text := os.Getenv("SVC_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("SVC_KILLS: %v", err)
		}
		return n
	}
	if soak {
		return 200
	}
	return 10
}

// siege is a node that is killed again and again while clients ask it for runs.
type siege struct {
	*stage
	clients sync.WaitGroup
	over    chan struct{} // closed when the clients shall stop

	mu       sync.Mutex
	current  *process
	found    []*process
	admitted map[string]*admission // by key
	lost     int                   // requests without an answer
}

// admission is what a client was promised.
type admission struct {
	script script
	run    string
}

func TestNothingIsLostOrDoubledWhenAProcessUnderLoadIsKilled(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		abreast(t)
		g := &siege{stage: newStage(t, address), over: make(chan struct{}), admitted: map[string]*admission{}}
		for _, s := range scripts {
			g.rehearse(s)
		}
		g.current = g.node
		for i := range 4 {
			g.clients.Go(func() { g.client(i) })
		}
		for n := kills(t); g.deaths < n; {
			takes(time.Duration(5+rand.IntN(396)) * time.Millisecond)
			g.strike()
		}
		close(g.over)
		g.clients.Wait()
		g.settle()
		g.node.Stop()
		if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
			checkIntegrity(t, path)
		}
	})
}

// strike kills the node and starts the next; some do not even come that far.
func (g *siege) strike() {
	g.t.Helper()
	g.node.Kill()
	for rand.IntN(4) == 0 {
		startDoomed(g.t, g.setup, time.Duration(rand.IntN(60))*time.Millisecond)
		g.deaths++
	}
	g.raise(trap{})
	g.deaths++
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current = g.node
	g.found = append(g.found, g.node)
}

func (g *siege) process() *process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.current
}

// client asks for one run after another, each under a key of its own, until it has an answer for it.
func (g *siege) client(name int) {
	for i := 0; ; i++ {
		select {
		case <-g.over:
			return
		case <-time.After(time.Duration(rand.IntN(50)) * time.Millisecond):
		}
		s := scripts[rand.IntN(len(scripts))]
		if s.cancel != "" {
			continue
		}
		key := fmt.Sprintf("client %d, request %d", name, i)
		answer, ok := g.invoke(s, key)
		if !ok {
			return
		}
		g.mu.Lock()
		g.admitted[key] = &admission{script: s, run: answer.RunID}
		g.mu.Unlock()
		if rand.IntN(4) == 0 {
			_, _ = g.process().ask(request{Op: "await", Workflow: s.name, RunID: answer.RunID})
		}
	}
}

// invoke repeats a request until it is answered.
func (g *siege) invoke(s script, key string) (reply, bool) {
	for {
		answer, err := g.process().ask(request{Op: "invoke", Workflow: s.name, Input: raw(s.input), Key: key})
		switch {
		case err == nil:
			return answer, true
		case errors.Is(err, errDied):
			g.mu.Lock()
			g.lost++
			g.mu.Unlock()
			takes(5 * time.Millisecond)
		default:
			g.t.Errorf("%s: %v", key, err)
			return reply{}, false
		}
	}
}

// settle lets every run end and demands that all is as if nothing had happened.
func (g *siege) settle() {
	g.t.Helper()
	began := time.Now()
	stories := map[string]*critic.Story{}
	for key, a := range g.admitted {
		again := g.node.must(request{Op: "invoke", Workflow: a.script.name, Input: raw(a.script.input), Key: key})
		if again.RunID != a.run || !again.Replayed {
			g.t.Errorf("%s was run %s, and is %s now (replayed %v)", key, a.run, again.RunID, again.Replayed)
		}
		stories[a.run] = g.node.must(request{Op: "await", Workflow: a.script.name, RunID: a.run}).Story
	}
	settled := time.Since(began)
	effects := allEffects(g.setup.Effects)
	resumed, ran, steps := 0, 0, 0
	for key, a := range g.admitted {
		t := read(stories[a.run])
		t.compare(g.refs[a.script.name], a.script.parallel)
		t.checkEffects(effects[a.run], g.deaths)
		for _, p := range g.found {
			t.CheckPrefix(stories[a.run], p.active[a.run])
		}
		g.report(key+", "+a.script.name, t)
		if t.Resumes > 0 {
			resumed++
		}
		for label, list := range effects[a.run] {
			if !strings.HasPrefix(label, seen) {
				ran += len(list)
				steps++
			}
		}
	}
	g.checkList()
	g.t.Logf("%d kills, %d admissions, %d requests without an answer, %d runs resumed, %d steps ran %d times, settled in %v",
		g.deaths, len(g.admitted), g.lost, resumed, steps, ran, settled.Round(time.Millisecond))
}

// checkList demands that the runs there are and those that were promised are the same.
func (g *siege) checkList() {
	g.t.Helper()
	promised := map[string]bool{}
	for _, ref := range g.refs {
		promised[ref.Record.RunID] = true
	}
	for key, a := range g.admitted {
		if promised[a.run] {
			g.t.Errorf("%s: run %s was promised before", key, a.run)
		}
		promised[a.run] = true
	}
	listed := g.node.must(request{Op: "list"}).Runs
	slices.Sort(listed)
	if len(slices.Compact(slices.Clone(listed))) != len(listed) {
		g.t.Error("a run is listed twice")
	}
	for _, id := range listed {
		if !promised[id] {
			g.t.Errorf("run %s was never promised", id)
		}
		delete(promised, id)
	}
	for id := range promised {
		g.t.Errorf("run %s was promised and is not listed", id)
	}
}

func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var answer string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&answer); err != nil || answer != "ok" {
		t.Errorf("integrity check: %s %v", answer, err)
	}
}
