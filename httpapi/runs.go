package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/stream"
)

// run serves one run: its record and its stream.
func (a *api) run(x *response, r *http.Request, params []string) error {
	run, err := a.findRun(r, params[0])
	if err != nil {
		return err
	}
	return a.guard(x, r, guarded{run.workflow, "runs"}, run.workflow.Runs, run.serve)
}

// exposedRun is a run whose workflow shows its runs.
type exposedRun struct {
	reader
	workflow *svc.Workflow
	size     int64 // of its input and outcome
}

// runManner is how a run's stream is read. A run that was found and whose stream is gone was dropped meanwhile.
var runManner = manner{
	missing: func(s svc.Stream) error { return runNotFound(s.ID) },
	tag: func(s svc.Stream, page stream.Frame) string {
		return stream.ETag("runs/"+s.ID, page.After, page.Next, page.Closed)
	},
	cursor: true,
	mute:   true,
}

// findRun finds the run that a request is about. That there is none, that its workflow is gone and that its workflow does
// not show its runs are one and the same answer.
func (a *api) findRun(r *http.Request, segment string) (*exposedRun, error) {
	id, err := parameter(segment)
	if err != nil {
		return nil, err
	}
	scope, err := a.Scope(r)
	if err != nil {
		return nil, err
	}
	if strings.ContainsRune(id, 0) {
		return nil, runNotFound(id) // no database is asked for a text that it cannot hold
	}
	found, size, err := a.rt.In(scope).FindRun(r.Context(), id)
	if err != nil {
		return nil, err
	}
	wf := a.rt.Workflow(found.Name)
	if wf == nil || wf.Runs == nil {
		return nil, runNotFound(id)
	}
	return &exposedRun{reader: reader{a, found, runManner}, workflow: wf, size: size}, nil
}

func runNotFound(id string) error {
	return fault.New(fault.RunNotFound, fmt.Sprintf("No run %q.", id), "Check the id.")
}

func (run *exposedRun) serve(w http.ResponseWriter, r *http.Request) error {
	switch {
	case r.Method == http.MethodHead:
		return run.named(run.head(w, r))
	case r.Method != http.MethodGet:
		return wrongMethod(w, r, http.MethodGet, http.MethodHead)
	case parseQuery(r.URL.RawQuery).Has("meta"):
		return run.record(w, r)
	}
	return run.named(run.read(w, r))
}

func (run *exposedRun) record(w http.ResponseWriter, r *http.Request) error {
	room, err := run.room(r, recordTimes*run.size)
	if err != nil {
		return err
	}
	defer room.Release()
	found, err := run.rt.In(run.stream.Scope).GetRun(r.Context(), run.stream.ID)
	if err != nil {
		return err
	}
	record, err := found.MarshalJSON()
	if err != nil {
		return err
	}
	writeJSON(w, r, http.StatusOK, record)
	return nil
}

// read answers with the stream.
func (run *exposedRun) read(w http.ResponseWriter, r *http.Request) error {
	asked, err := run.parse(r)
	if err != nil {
		return err
	}
	return run.reader.read(w, r, asked)
}

// parse says what is to be read. It turns now and the last events into an offset, once: the stream may grow meanwhile.
func (run *exposedRun) parse(r *http.Request) (readQuery, error) {
	asked, err := parseRunQuery(parseQuery(r.URL.RawQuery))
	if err != nil {
		return asked, err
	}
	if err := run.admits(); err != nil {
		return asked, err
	}
	if !asked.now && asked.last == 0 {
		return asked, nil
	}
	tail, err := run.rt.Tail(r.Context(), run.stream)
	if err != nil {
		return asked, err
	}
	asked.after = tail.Head
	if asked.last > 0 {
		asked.after = max(stream.Start, tail.Head-stream.Offset(asked.last))
	}
	return asked, nil
}
