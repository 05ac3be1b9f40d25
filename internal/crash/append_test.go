package crash_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/critic"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// soak asks for the full counts.
var soak = os.Getenv("SVC_SOAK") == "1"

// abreast has what follows run beside another of its kind in the soak: each waits for processes that begin, many minutes long.
func abreast(t *testing.T) {
	t.Helper()
	if soak {
		t.Parallel()
	}
}

// stage is a database on which scripts are played by one node after another.
type stage struct {
	t      *testing.T
	setup  setup
	node   *process
	refs   map[string]*tale
	writes map[string]stats // of an uninterrupted run
	calls  map[string]bool  // that conversations and runs have on record
	plays  int
	deaths int
}

func newStage(t *testing.T, address string) *stage {
	t.Helper()
	return &stage{
		t: t, refs: map[string]*tale{}, writes: map[string]stats{}, calls: map[string]bool{},
		setup: setup{
			Address: address, Name: "solo", Effects: filepath.Join(t.TempDir(), "effects"),
			Poll: 50 * time.Millisecond, MaxAttempts: 1000, StopTimeout: 2 * time.Second,
		},
	}
}

// raise starts the next node, with a trap set before anything runs.
func (st *stage) raise(next trap) {
	st.t.Helper()
	s := st.setup
	s.Trap = next
	st.node = startProcess(st.t, s)
}

// rehearse plays the script without interruption: that is how it must always end.
func (st *stage) rehearse(s script) {
	st.t.Helper()
	if st.node == nil {
		st.raise(trap{})
	}
	before := st.node.must(request{Op: "stats"}).Stats
	_, told, err := st.attempt(s, "reference of "+s.name)
	if err != nil {
		st.t.Fatalf("%s: %v\n%s", s.name, err, st.node.Complaints())
	}
	st.wait(s)
	after := st.node.must(request{Op: "stats"}).Stats
	ref := read(told)
	ref.checkEffects(effectsOf(st.setup.Effects, ref.Record.RunID), 0)
	ref.checkTools(allEffects(st.setup.Effects)["tool"], st.calls, 0)
	if ref.Resumes > 0 || strings.Contains(strings.Join(ref.lines, ""), "went on") {
		ref.Problem("an uninterrupted run was resumed, or a cancelled one went on")
	}
	if ends := ref.ending(); ends != s.ends {
		ref.Problem("ended %s, want %s", ends, s.ends)
	}
	st.report(s.name, ref)
	st.refs[s.name] = ref
	st.writes[s.name] = stats{Appends: after.Appends - before.Appends, Releases: after.Releases - before.Releases}
}

// attempt plays a script as far as the node lives: a client that repeats its request under the same key.
func (st *stage) attempt(s script, key string) (id string, told *critic.Story, err error) {
	invoked, err := st.node.ask(request{Op: "invoke", Workflow: s.name, Input: raw(s.input), Key: key})
	if err != nil {
		return "", nil, err
	}
	if s.cancel != "" {
		if _, err := st.node.ask(request{Op: "hear", Workflow: s.name, RunID: invoked.RunID, Message: s.cancel}); err != nil {
			return "", nil, err
		}
		if _, err := st.node.ask(request{Op: "cancel", RunID: invoked.RunID}); err != nil {
			return "", nil, err
		}
	}
	got, err := st.node.ask(request{Op: "await", Workflow: s.name, RunID: invoked.RunID})
	return invoked.RunID, got.Story, err
}

// play plays a script while processes die in one trap after the other, and demands that it ends as the rehearsal did.
func (st *stage) play(s script, traps ...trap) (deaths int, t *tale) {
	st.t.Helper()
	st.plays++
	key := fmt.Sprintf("play %d", st.plays)
	found := []*process{}
	// What the last play left to an agent would step into this play's trap, while the run is parked or not yet begun.
	st.wait(s)
	st.node.arm(traps[0])
	for {
		_, told, err := st.attempt(s, key)
		if err == nil {
			err = st.node.disarm()
		}
		if errors.Is(err, errDied) {
			st.node.Wait()
			deaths++
			next := trap{}
			if deaths < len(traps) {
				next = traps[deaths]
			}
			st.raise(next)
			found = append(found, st.node)
			continue
		}
		if err != nil {
			st.node.Kill()
			st.t.Fatalf("%s, dying %v: %v\n%s", s.name, traps, err, st.node.Complaints())
		}
		t = read(told)
		t.compare(st.refs[s.name], s.parallel)
		t.checkEffects(effectsOf(st.setup.Effects, t.Record.RunID), deaths)
		t.checkTools(allEffects(st.setup.Effects)["tool"], st.calls, deaths)
		for _, p := range found {
			t.CheckPrefix(told, p.active[t.Record.RunID])
		}
		if t.Resumes > deaths {
			t.Problem("%d resumes with %d deaths", t.Resumes, deaths)
		}
		if deaths == 1 && traps[0].interrupts() && len(found[0].active[t.Record.RunID]) > 0 && t.Resumes != 1 {
			t.Problem("the run was interrupted, and nobody was told")
		}
		st.deaths += deaths
		st.report(fmt.Sprintf("%s, dying %v", s.name, traps), t)
		return deaths, t
	}
}

// wait waits for the agent that the script leaves work for.
func (st *stage) wait(s script) {
	st.t.Helper()
	if agent, instance, ok := strings.Cut(s.tells, "/"); ok {
		st.node.must(request{Op: "idle", chatRequest: chatRequest{Agent: agent, Instance: instance}})
	}
}

func (st *stage) report(what string, t *tale) {
	st.t.Helper()
	for _, bad := range allEffects(st.setup.Effects)["request"]["malformed"] {
		t.Problem("a request was malformed: %s", bad.token)
	}
	if len(t.Problems) > 0 {
		st.t.Errorf("%s, run %s:\n- %s\nevents\n  %s", what, t.Record.RunID, strings.Join(t.Problems, "\n- "), strings.Join(t.Short(), "\n  "))
	}
}

// everyWrite are the traps at each write of an uninterrupted run, before and after it; and one past the last append.
func (st *stage) everyWrite(s script) (traps []trap) {
	w := st.writes[s.name]
	for _, after := range []bool{false, true} {
		for n := range w.Appends + 1 {
			traps = append(traps, trap{onAppend, n + 1, after})
		}
		for n := range w.Releases {
			traps = append(traps, trap{onRelease, n + 1, after})
		}
		traps = append(traps, trap{onAdmit, 1, after})
		if strings.HasPrefix(s.name, "cancelled") {
			traps = append(traps, trap{onAbort, 1, after})
		}
	}
	return traps
}

// playEvery dies once at every write of the scripts.
func (st *stage) playEvery(names ...string) {
	st.t.Helper()
	for _, name := range names {
		s := scriptOf(name)
		st.rehearse(s)
		for _, at := range st.everyWrite(s) {
			deaths, t := st.play(s, at)
			// On a busy machine a short sleep may be over before the run is parked.
			for tries := 0; deaths == 0 && at.N == 1 && tries < 2; tries++ {
				deaths, t = st.play(s, at)
			}
			if deaths == 0 && at.N == 1 {
				st.t.Errorf("%s: no process died %v", name, at)
			}
			// What is parked is not interrupted by a death, unless it was cancelled and claimed for that in the moment between.
			if at.Verb == onRelease && at.After && s.cancel == "" && t.Resumes > 0 {
				st.t.Errorf("%s: a run that slept when its process died was resumed", name)
			}
		}
	}
}

func (st *stage) close() {
	st.t.Helper()
	st.node.Stop()
	st.t.Logf("%d runs, %d processes killed", st.plays, st.deaths)
}

// names of the scripts, all of them when soaking.
func played(fast ...string) []string {
	if !soak {
		return fast
	}
	all := make([]string, len(scripts))
	for i, s := range scripts {
		all[i] = s.name
	}
	return all
}

func TestRunEndsAlikeWhereverItsProcessDies(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		abreast(t)
		st := newStage(t, sqldbtest.SQLite(t))
		st.playEvery(played("steps", "sleepy", "branches", "cancelled-asleep", "asks")...)
		st.close()
	})
	t.Run("postgres", func(t *testing.T) {
		abreast(t)
		st := newStage(t, sqldbtest.Postgres(t))
		if soak {
			st.playEvery(played()...)
		} else {
			st.playSome(1)
			st.playEvery("asks")
		}
		st.close()
	})
}

// playSome dies at a few writes of each script, others on every run of the test.
func (st *stage) playSome(each int) {
	st.t.Helper()
	for _, s := range scripts {
		st.rehearse(s)
		traps := st.everyWrite(s)
		rand.Shuffle(len(traps), func(i, j int) { traps[i], traps[j] = traps[j], traps[i] })
		for _, at := range traps[:min(each, len(traps))] {
			st.play(s, at)
		}
	}
}

func TestDatabaseOpensWhateverItsFirstProcessesDiedOf(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		st := newStage(t, address)
		doomed := 12
		if soak {
			doomed = 60
		}
		for i := range doomed {
			startDoomed(t, st.setup, time.Duration(i*72/doomed+rand.IntN(6))*time.Millisecond)
		}
		st.rehearse(scriptOf("steps"))
		st.node.Stop()
	})
}

func TestRunEndsAlikeHoweverOftenItsProcessDies(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		abreast(t)
		st := newStage(t, address)
		if soak {
			for _, s := range scripts {
				st.rehearse(s)
				for range 12 {
					st.play(s, st.someTraps(s)...)
				}
			}
		} else {
			for _, name := range []string{"steps", "branches", "sleepy"} {
				st.rehearse(scriptOf(name))
				st.play(scriptOf(name), st.someTraps(scriptOf(name))...)
			}
		}
		st.close()
	})
}

// someTraps are two to five deaths in a row: the first at a write of a fresh run, the others early in a resumed one, at the
// claim that resumes it too.
func (st *stage) someTraps(s script) []trap {
	first := st.everyWrite(s)
	traps := []trap{first[rand.IntN(len(first))]}
	for range 1 + rand.IntN(4) {
		at := trap{onAppend, 1 + rand.IntN(3), rand.IntN(2) == 0}
		if rand.IntN(4) == 0 {
			at = trap{onClaim, 1, true}
		}
		traps = append(traps, at)
	}
	return slices.Clip(traps)
}
