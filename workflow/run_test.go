package workflow_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"svc.dev/svc/workflow"
)

func at(t *testing.T, iso string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339Nano, iso)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func TestRunRecordIsThatOfTheWire(t *testing.T) {
	run := workflow.Run{
		ID: "run_01K0WF3Z9Q4T8M2N6R7S5V1X0A", Workflow: "daily-report", Status: workflow.Active,
		StartedAt: at(t, "2026-07-01T12:05:00.120Z"), Input: json.RawMessage(`{"month":"June"}`),
	}
	const head = `{"runId":"run_01K0WF3Z9Q4T8M2N6R7S5V1X0A","workflowName":"daily-report","status":`
	record := func() string {
		data, err := run.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	same(t, "active", record(), head+`"active","startedAt":"2026-07-01T12:05:00.120Z","input":{"month":"June"}}`)
	run.EndedAt = at(t, "2026-07-01T12:05:02.124Z")
	run.Status, run.Result = workflow.Completed, json.RawMessage(`{"delivered":true}`)
	same(t, "completed", record(), head+`"completed","startedAt":"2026-07-01T12:05:00.120Z","input":{"month":"June"},`+
		`"endedAt":"2026-07-01T12:05:02.124Z","isError":false,"durationMs":2004,"result":{"delivered":true}}`)
	run.Result = nil
	same(t, "no result", record(), head+`"completed","startedAt":"2026-07-01T12:05:00.120Z","input":{"month":"June"},`+
		`"endedAt":"2026-07-01T12:05:02.124Z","isError":false,"durationMs":2004,"result":null}`)
	run.Status, run.Error = workflow.Errored, &workflow.Error{Name: "Error", Message: "<unknown> month", Type: "private", Details: "private"}
	run.Input = nil
	same(t, "errored", record(), head+`"errored","startedAt":"2026-07-01T12:05:00.120Z",`+
		`"endedAt":"2026-07-01T12:05:02.124Z","isError":true,"durationMs":2004,"error":{"name":"Error","message":"<unknown> month"}}`)
}

func TestEventsAreThoseOfTheWire(t *testing.T) {
	run := workflow.Run{
		ID: "run_01K0WF8A2Y3X4W5V6T7S8R9Q0P", Workflow: "refund", StartedAt: at(t, "2026-07-01T12:05:40.120Z"),
		Input: json.RawMessage(`{"order":42}`),
	}
	ms := int64(399)
	step, err := workflow.Stepped(workflow.LevelInfo, workflow.StepEvent{Name: "charge", Attempt: 1, State: workflow.StepFinished, DurationMs: &ms})
	if err != nil {
		t.Fatal(err)
	}
	cancelled := run
	cancelled.Status, cancelled.EndedAt = workflow.Errored, run.StartedAt.Add(2880*time.Millisecond)
	cancelled.Error = &workflow.Error{Name: "RunCancelled", Message: "The run was cancelled.", Type: "run_cancelled"}
	const tail = `"runId":"run_01K0WF8A2Y3X4W5V6T7S8R9Q0P","v":3,"eventIndex":7,"timestamp":"2026-07-01T12:05:40.520Z"}`
	for name, c := range map[string]struct {
		event workflow.Event
		want  string
	}{
		"start":  {workflow.Started(run), `{"type":"run_start","workflowName":"refund","startedAt":"2026-07-01T12:05:40.120Z","input":{"order":42},`},
		"resume": {workflow.Resumed(run), `{"type":"run_resume","workflowName":"refund","startedAt":"2026-07-01T12:05:40.120Z",`},
		"step": {step, `{"type":"log","level":"info","message":"charge finished","attributes":{"step":{"name":"charge","seq":0,` +
			`"attempt":1,"state":"finished","durationMs":399}},`},
		"line": {workflow.Logged(workflow.LevelWarn, "", nil), `{"type":"log","level":"warn","message":"",`},
		"end": {workflow.Ended(cancelled), `{"type":"run_end","result":null,"isError":true,` +
			`"error":{"name":"RunCancelled","message":"The run was cancelled."},"durationMs":2880,`},
	} {
		got, err := c.event.Encode(run.ID, 7, at(t, "2026-07-01T12:05:40.520Z"))
		if err != nil {
			t.Fatal(err)
		}
		same(t, name, string(got), c.want+tail)
	}
}

func TestBatchReadsBackAsItWasWritten(t *testing.T) {
	records := []workflow.Record{
		{Kind: workflow.KindEvent, Data: []byte(`{"a":1}`)},
		{Kind: workflow.KindMemory, Data: bytes.Repeat([]byte("x"), 300)},
		{Kind: workflow.KindLine, Data: nil},
	}
	var batch []byte
	for _, r := range records {
		batch = workflow.AppendRecord(batch, r)
	}
	i := 0
	for r, err := range workflow.Records(batch) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind != records[i].Kind || !bytes.Equal(r.Data, records[i].Data) {
			t.Errorf("record %d: %c %q", i, r.Kind, r.Data)
		}
		i++
	}
	events, err := workflow.Events(batch, "run_1", 1)
	if err != nil || len(events) != 2 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte("E\x03abcM\x00"))
	f.Add([]byte("S\a0000000"))
	f.Add([]byte("E\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, batch []byte) {
		var again []byte
		memories := false
		for r, err := range workflow.Records(batch) {
			if err != nil {
				return
			}
			again = workflow.AppendRecord(again, r)
			memories = memories || r.Kind == workflow.KindMemory || r.Kind == workflow.KindStep
		}
		if err := workflow.NewState().Apply(again); err != nil && !memories {
			t.Errorf("a batch without memories does not fold: %v", err)
		}
		if len(again) > len(batch) {
			t.Errorf("%d bytes became %d", len(batch), len(again))
		}
	})
}
