package crash_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/critic"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// ordeal plays a workflow while it kills processes itself, and returns how it ended and how many it took.
func (st *stage) ordeal(workflow string) (t *tale, deaths int) {
	st.t.Helper()
	st.raise(trap{})
	for {
		_, told, err := st.attempt(script{name: workflow}, "the only one")
		if err == nil {
			t = read(told)
			st.report(workflow, t)
			return t, deaths
		}
		if !errors.Is(err, errDied) || deaths > 20 {
			st.t.Fatalf("%s after %d deaths: %v\n%s", workflow, deaths, err, st.node.Complaints())
		}
		st.node.Wait()
		deaths++
		st.raise(trap{})
	}
}

func TestRunThatKillsEveryProcessIsGivenUp(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		st := newStage(t, address)
		st.setup.MaxAttempts = 3
		tale, deaths := st.ordeal("deadly")
		if tale.Record.Status != "errored" || !strings.Contains(critic.Print(tale.Record.Error), `"name":"RunInterrupted"`) {
			t.Errorf("ended %s", tale.ending())
		}
		ran := effectsOf(st.setup.Effects, tale.Record.RunID)
		if deaths != 3 || len(ran["work"]) != 1 || len(ran["die"]) != 3 {
			t.Errorf("it took %d processes; ran %v", deaths, ran)
		}
		st.node.Stop()
	})
}

func TestRecordedStepRenewsTheBudget(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		st := newStage(t, address)
		st.setup.MaxAttempts = 3
		tale, deaths := st.ordeal("dangerous")
		if want := `completed {"risk/0":0,"risk/1":1,"risk/2":2} null`; tale.ending() != want || deaths != 6 {
			t.Errorf("ended %s after %d deaths, want %s after 6", tale.ending(), deaths, want)
		}
		st.node.Stop()
	})
}

func TestGracefulStopsUseUpNoBudget(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		st := newStage(t, address)
		st.setup.MaxAttempts, st.setup.StopTimeout = 3, 50*time.Millisecond
		st.setup.Gate = filepath.Join(t.TempDir(), "gate")
		st.raise(trap{})
		id := st.node.must(request{Op: "invoke", Workflow: "gated"}).RunID
		const stops = 5
		for n := range stops {
			st.node.must(request{Op: "hear", Workflow: "gated", RunID: id, Message: "begin wait"})
			eventually(t, fmt.Sprintf("the run goes on after %d stops", n), func() bool { return len(effectsOf(st.setup.Effects, id)["wait"]) > n })
			st.node.Stop()
			st.raise(trap{})
		}
		if err := os.WriteFile(st.setup.Gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		tale := read(st.node.must(request{Op: "await", Workflow: "gated", RunID: id}).Story)
		st.report("gated", tale)
		if want := `completed {"wait":1} null`; tale.ending() != want || tale.Resumes != stops {
			t.Errorf("ended %s after %d resumes, want %s after %d", tale.ending(), tale.Resumes, want, stops)
		}
		st.node.Stop()
	})
}
