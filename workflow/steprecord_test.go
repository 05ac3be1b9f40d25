package workflow_test

import (
	"encoding/json"
	"testing"
	"time"

	"svc.dev/svc/workflow"
)

// TestAStepIsOneRecordForReplayAndReaders lays out what may become of a step, and demands the event of the wire and the state of
// a log that keeps both apart.
func TestAStepIsOneRecordForReplayAndReaders(t *testing.T) {
	step := workflow.Step{ID: workflow.StepID{Name: `<"é">`, Key: "k", Nth: 2}, Seq: 300, Parallel: true, Attempt: 2, Millis: 399}
	ended, failed := step, step
	ended.Result = []byte(`{"a":[1,null]}`)
	failed.Error = &workflow.Error{Name: "Error", Message: "no", Meta: map[string]any{"n": 1.5}}
	ms := step.Millis
	for name, c := range map[string]struct {
		memory workflow.Memory
		level  string
		state  string
		ms     *int64
	}{
		"started": {workflow.StepBegan(step), workflow.LevelInfo, workflow.StepStarted, nil},
		"retried": {workflow.StepRetries(step, 500), workflow.LevelWarn, workflow.StepFailed, &ms},
		"ended":   {workflow.StepEnded(ended), workflow.LevelInfo, workflow.StepFinished, &ms},
		"empty":   {workflow.StepEnded(step), workflow.LevelInfo, workflow.StepFinished, &ms},
		"failed":  {workflow.StepEnded(failed), workflow.LevelError, workflow.StepFailed, &ms},
	} {
		t.Run(name, func(t *testing.T) {
			now := at(t, "2026-07-01T12:05:40.520Z")
			r, err := c.memory.Told(now)
			if err != nil {
				t.Fatal(err)
			}
			got, err := workflow.Events(workflow.AppendRecord(nil, r), "run_1", 7)
			if err != nil || len(got) != 1 {
				t.Fatalf("%d events, %v", len(got), err)
			}
			event, err := workflow.Stepped(c.level, workflow.StepEvent{Name: step.ID.Name, Seq: 300, Attempt: 2, State: c.state, DurationMs: c.ms})
			if err != nil {
				t.Fatal(err)
			}
			want, err := event.Encode("run_1", 7, now)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "event", string(got[0]), string(want))
			private, err := c.memory.Record()
			if err != nil {
				t.Fatal(err)
			}
			same(t, "step", folds(t, r), folds(t, private))
			if r.Ends != private.Ends {
				t.Errorf("ends: %v, want %v", r.Ends, private.Ends)
			}
		})
	}
}

// folds is the step that a log of one record leaves.
func folds(t *testing.T, r workflow.Record) string {
	t.Helper()
	state := workflow.NewState()
	if err := state.Apply(workflow.AppendRecord(nil, r)); err != nil {
		t.Fatal(err)
	}
	step, err := state.Ask(workflow.StepID{Name: `<"é">`, Key: "k", Nth: 2}, true)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(step)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func FuzzStepRecord(f *testing.F) {
	r, err := workflow.StepEnded(workflow.Step{ID: workflow.StepID{Name: "a"}, Attempt: 1, Result: []byte("1")}).Told(time.UnixMilli(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(r.Data)
	f.Add([]byte("e\x02\x00\x00\x00\x00\x00\x00\x01a\x00{}"))
	f.Add([]byte("s\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := workflow.Record{Kind: workflow.KindStep, Data: data}
		folds := workflow.NewState().Apply(workflow.AppendRecord(nil, r))
		if _, err := r.Event("run_1", 0); folds == nil && err != nil {
			t.Errorf("%q can be folded and not shown: %v", data, err)
		}
	})
}
