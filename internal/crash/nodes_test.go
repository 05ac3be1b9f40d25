package crash_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc/internal/critic"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// pair is two nodes, "a" and "b", on one PostgreSQL.
type pair struct {
	t     *testing.T
	setup setup
	a, b  *process
}

// slack is what a busy machine may add to a bound.
const slack = 3 * time.Second

func newPair(t *testing.T, change func(*setup)) *pair {
	t.Helper()
	p := &pair{t: t, setup: setup{
		Address: sqldbtest.FewConnections(sqldbtest.Postgres(t)), Effects: filepath.Join(t.TempDir(), "effects"),
		Lease: 3 * time.Second, Poll: time.Second, StopTimeout: 10 * time.Second,
	}}
	if change != nil {
		change(&p.setup)
	}
	a, b := p.setup, p.setup
	a.Name, b.Name = "a", "b"
	p.a, p.b = startProcess(t, a), startProcess(t, b)
	return p
}

// invoke starts runs at node a.
func (p *pair) invoke(n int, workflow, input string) (ids []string) {
	p.t.Helper()
	for range n {
		ids = append(ids, p.a.must(request{Op: "invoke", Workflow: workflow, Input: raw(input)}).RunID)
	}
	return ids
}

// await lets the runs end, seen from node b, and demands that each was told well.
func (p *pair) await(workflow string, ids []string, ends string) (tales map[string]*tale) {
	p.t.Helper()
	tales = map[string]*tale{}
	for _, id := range ids {
		t := read(p.b.must(request{Op: "await", Workflow: workflow, RunID: id}).Story)
		if t.ending() != ends {
			t.Problem("ended %s, want %s", t.ending(), ends)
		}
		for _, problem := range t.Problems {
			p.t.Errorf("run %s: %s\n%v", id, problem, t.Short())
		}
		tales[id] = t
	}
	return tales
}

// eventually waits for something to come true.
func (p *pair) eventually(what string, true func() bool) {
	p.t.Helper()
	eventually(p.t, what, true)
}

// ran are the executions of a run's steps at a node, in order.
func (p *pair) ran(run, node string) (list []effect) {
	for label, effects := range effectsOf(p.setup.Effects, run) {
		for _, e := range effects {
			if e.node == node && !strings.HasPrefix(label, seen) {
				list = append(list, e)
			}
		}
	}
	slices.SortFunc(list, func(a, b effect) int { return a.at.Compare(b.at) })
	return list
}

// allRan reports whether each of the runs has taken so many steps at a node.
func (p *pair) allRan(ids []string, node string, steps int) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return len(p.ran(id, node)) < steps })
}

// moved is how long after an instant the last of the runs went on at node b.
func (p *pair) moved(ids []string, since time.Time) (longest time.Duration) {
	p.t.Helper()
	for _, id := range ids {
		ran := p.ran(id, "b")
		if len(ran) == 0 {
			p.t.Errorf("run %s never went on", id)
			continue
		}
		longest = max(longest, ran[0].at.Sub(since))
	}
	return longest
}

// marched is how a march of so many steps ends.
func marched(steps int) string {
	values := map[string]int{}
	for i := range steps {
		values[fmt.Sprintf("step/%d", i)] = i
	}
	return "completed " + critic.Print(values) + " null"
}

func TestTwoProcessesShareTheWork(t *testing.T) {
	p := newPair(t, func(s *setup) { s.Workers, s.Lease = 8, 10*time.Second }) // that lapses for nobody
	ids := p.invoke(200, "march", `{"steps":3,"ms":50}`)
	tales := p.await("march", ids, marched(3))
	at := map[string]int{}
	for id, tale := range tales {
		tale.Problems = nil
		tale.checkEffects(effectsOf(p.setup.Effects, id), 0)
		for _, problem := range tale.Problems {
			t.Errorf("run %s: %s", id, problem)
		}
		if tale.Resumes > 0 {
			t.Errorf("run %s was resumed, and nobody died", id)
		}
		for _, node := range []string{"a", "b"} {
			if len(p.ran(id, node)) > 0 {
				at[node]++
			}
		}
	}
	if at["a"]+at["b"] != len(ids) || at["a"] < 20 || at["b"] < 20 {
		t.Errorf("of %d runs %d were worked on at a and %d at b", len(ids), at["a"], at["b"])
	}
	t.Logf("%d runs: %d at a, %d at b", len(ids), at["a"], at["b"])
}

func TestRunsOfAKilledProcessMoveWhenTheirLeasesLapse(t *testing.T) {
	t.Parallel()
	lease := 3 * time.Second
	if soak {
		lease = 10 * time.Second
	}
	p := newPair(t, func(s *setup) { s.Lease = lease })
	ids := p.invoke(20, "held", "")
	p.eventually("every run is held", func() bool { return p.allRan(ids, "a", 2) })
	// Between two renewals, where a lease may have all of its time before it.
	takes(time.Duration(rand.Int64N(int64(lease * 3 / 10))))
	since := time.Now()
	p.a.Kill()
	tales := p.await("held", ids, `completed {"easy":1,"hard":2} null`)
	for id, tale := range tales {
		if ran := effectsOf(p.setup.Effects, id); len(ran["easy"]) != 1 || len(ran["hard"]) != 2 || tale.Resumes != 1 {
			t.Errorf("run %s: resumed %d times, ran %v", id, tale.Resumes, ran)
		}
	}
	longest := p.moved(ids, since)
	if longest > lease+p.setup.Poll+slack {
		t.Errorf("the last run moved after %v, lease %v, poll %v", longest, lease, p.setup.Poll)
	}
	t.Logf("%d runs moved within %v, lease %v, poll %v", len(ids), longest.Round(time.Millisecond), lease, p.setup.Poll)
}

func TestRunsOfAStoppedProcessMoveAtOnce(t *testing.T) {
	t.Parallel()
	p := newPair(t, func(s *setup) { s.Lease = 10 * time.Second })
	ids := p.invoke(20, "march", `{"steps":60,"ms":50}`)
	p.eventually("every run marches", func() bool { return p.allRan(ids, "a", 3) })
	since := time.Now()
	p.a.Stop()
	stopped := time.Since(since)
	tales := p.await("march", ids, marched(60))
	for id, tale := range tales {
		// Nothing was interrupted, so nothing was done twice.
		tale.Problems = nil
		tale.checkEffects(effectsOf(p.setup.Effects, id), 0)
		for _, problem := range tale.Problems {
			t.Errorf("run %s: %s", id, problem)
		}
	}
	longest := p.moved(ids, since)
	if longest > p.setup.Lease/2 {
		t.Errorf("the last run moved after %v", longest)
	}
	t.Logf("stopped in %v, %d runs moved within %v", stopped.Round(time.Millisecond), len(ids), longest.Round(time.Millisecond))
}

func TestPausedProcessWritesNothingOnceItsLeasesAreTaken(t *testing.T) {
	t.Run("while they go on", func(t *testing.T) { testPause(t, 2) })
	if soak {
		t.Run("when they have ended", func(t *testing.T) { testPause(t, 0) })
	}
}

// testPause lets node a go on once every run has taken so many steps at b, or has ended.
func testPause(t *testing.T, steps int) {
	t.Parallel()
	p := newPair(t, nil)
	ids := p.invoke(20, "march", `{"steps":60,"ms":50}`)
	p.eventually("every run marches", func() bool { return p.allRan(ids, "a", 3) })
	p.a.Signal(syscall.SIGSTOP)
	if steps == 0 {
		p.await("march", ids, marched(60))
	} else {
		p.eventually("every run has moved", func() bool { return p.allRan(ids, "b", steps) })
	}
	p.a.Signal(syscall.SIGCONT)
	tales := p.await("march", ids, marched(60))
	for id, tale := range tales {
		checkHandOver(t, id, tale)
	}
	// What has ended stays as it is, and the paused node sees it so.
	p.eventually("node a was refused", func() bool { return p.a.must(request{Op: "stats"}).Stats.Fenced > 0 })
	for _, id := range ids {
		at := p.a.must(request{Op: "await", Workflow: "march", RunID: id}).Story
		if now := read(at); len(now.Events) != len(tales[id].Events) {
			t.Errorf("run %s has %d events, and had %d at its end", id, len(now.Events), len(tales[id].Events))
		}
	}
	t.Logf("%d runs taken over, %d writes of the paused process refused", len(ids), p.a.must(request{Op: "stats"}).Stats.Fenced)
}

// checkHandOver demands that after the resume every line is of node b, and that a had none to add.
func checkHandOver(t *testing.T, id string, tale *tale) {
	t.Helper()
	resumed := false
	for i, e := range tale.Events {
		if e.Kind() == "run_resume" {
			resumed = true
		}
		if node := e.Attribute("node"); node != "" && resumed != (node == "b") {
			t.Errorf("run %s: event %d is of node %s, resumed %v", id, i, node, resumed)
		}
	}
	if !resumed {
		t.Errorf("run %s was not resumed", id)
	}
}

// A node that comes back after its leases lapsed, with nobody there to take them, claims its own runs again. What it did
// before must not get in the way of what it does now.
func TestPausedProcessGoesOnWithItsOwnRuns(t *testing.T) {
	t.Parallel()
	st := newStage(t, sqldbtest.Postgres(t))
	st.setup.Lease, st.setup.Poll = 3*time.Second, 100*time.Millisecond
	st.raise(trap{})
	const runs, steps = 20, 50
	var ids []string
	for range runs {
		ids = append(ids, st.node.must(request{Op: "invoke", Workflow: "march", Input: raw(`{"steps":50,"ms":100}`)}).RunID)
	}
	eventually(t, "every run marches", func() bool {
		return !slices.ContainsFunc(ids, func(id string) bool { return len(effectsOf(st.setup.Effects, id)) < 3 })
	})
	st.node.Signal(syscall.SIGSTOP)
	takes(st.setup.Lease + st.setup.Lease/2)
	st.node.Signal(syscall.SIGCONT)
	resumed, again := 0, 0
	for _, id := range ids {
		tale := read(st.node.must(request{Op: "await", Workflow: "march", RunID: id}).Story)
		if tale.ending() != marched(steps) {
			tale.Problem("ended %s", tale.ending())
		}
		if tale.Resumes > 0 {
			resumed++
		}
		if tale.Resumes > 1 {
			again++
			tale.Problem("the process was paused once, and the run resumed %d times", tale.Resumes)
		}
		st.report("march", tale)
	}
	t.Logf("%d runs, %d of them resumed, %d more than once", len(ids), resumed, again)
	st.node.Stop()
}
