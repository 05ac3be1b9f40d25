package workflow_test

import (
	"errors"
	"testing"

	"svc.dev/svc/workflow"
)

// folded is the state after a log of memories.
func folded(t *testing.T, memories ...workflow.Memory) *workflow.State {
	t.Helper()
	var batch []byte
	for _, m := range memories {
		r, err := m.Record()
		if err != nil {
			t.Fatal(err)
		}
		batch = workflow.AppendRecord(batch, r)
	}
	state := workflow.NewState()
	if err := state.Apply(batch); err != nil {
		t.Fatal(err)
	}
	return state
}

func id(name string) workflow.StepID { return workflow.StepID{Name: name} }

func done(name string, seq int, parallel bool) workflow.Memory {
	return workflow.StepEnded(workflow.Step{ID: id(name), Seq: seq, Parallel: parallel, Attempt: 1, Result: []byte(`1`)})
}

func TestRecordedStepIsFoundByItsIdentity(t *testing.T) {
	second := workflow.StepID{Name: "a", Nth: 1}
	state := folded(t, done("a", 0, false), workflow.StepEnded(workflow.Step{ID: second, Seq: 1, Result: []byte(`2`)}))
	first, err := state.Ask(id("a"), false)
	if err != nil || !first.Ended || string(first.Result) != "1" || first.Seq != 0 {
		t.Errorf("first use: %+v, %v", first, err)
	}
	next, err := state.Ask(second, false)
	if err != nil || string(next.Result) != "2" || next.Seq != 1 {
		t.Errorf("second use: %+v, %v", next, err)
	}
	fresh, err := state.Ask(id("b"), false)
	state.Begin(fresh)
	if err != nil || fresh.Ended || fresh.Seq != 2 {
		t.Errorf("a new step: %+v, %v", fresh, err)
	}
	if err := state.Unasked(); err != nil {
		t.Error(err)
	}
}

func TestAttemptsAndFailuresAreCountedApart(t *testing.T) {
	began := func(n int) workflow.Memory { return workflow.StepBegan(workflow.Step{ID: id("a"), Attempt: n}) }
	state := folded(t, began(1), workflow.StepRetries(workflow.Step{ID: id("a"), Attempt: 1}, 500), began(2))
	step, err := state.Ask(id("a"), false)
	if err != nil || step.Attempt != 2 || step.Failures != 1 || step.Until != 500 || step.Ended {
		t.Errorf("the step is %+v, %v; want attempt 2 after one failure, until 500", step, err)
	}
}

func TestMismatchIsNamed(t *testing.T) {
	var mismatch *workflow.Mismatch
	state := folded(t, done("a", 0, false), done("b", 1, false))
	if _, err := state.Ask(id("b"), false); !errors.As(err, &mismatch) {
		t.Errorf("another name at a position: %v", err)
	}
	state = folded(t, done("a", 0, false), done("b", 1, false))
	if _, err := state.Ask(id("a"), false); err != nil {
		t.Fatal(err)
	}
	if err := state.Unasked(); err == nil || err.Error() != `The recorded step "b" is no longer asked for.` {
		t.Errorf("a step left out: %v", err)
	}
}

func TestParallelStepsHaveNoPosition(t *testing.T) {
	state := folded(t, done("x", 0, true), done("y", 1, true), done("z", 2, false))
	for _, name := range []string{"y", "x"} {
		if step, err := state.Ask(id(name), true); err != nil || !step.Ended {
			t.Errorf("%s: %+v, %v", name, step, err)
		}
	}
	if step, err := state.Ask(id("z"), false); err != nil || !step.Ended {
		t.Errorf("z: %+v, %v", step, err)
	}
	if err := state.Unasked(); err != nil {
		t.Error(err)
	}
}

func TestSleepsAndValuesAreNumbered(t *testing.T) {
	state := folded(t, workflow.Slept(0, 100), workflow.Valued(0, []byte(`7`)), workflow.Slept(1, 200))
	if until, ok := state.Sleep(1); !ok || until != 200 {
		t.Errorf("second sleep: %d, %v", until, ok)
	}
	if v, ok := state.Value(0); !ok || string(v) != "7" {
		t.Errorf("first value: %s, %v", v, ok)
	}
	if _, ok := state.Value(1); ok {
		t.Error("a value that nobody recorded")
	}
}
