package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/stream"
)

// run serves one run: its record and its stream.
func (a *api) run(x *exchange, r *http.Request, params []string) {
	run, err := a.findRun(r, params[0])
	if err != nil {
		a.fail(x, r, err)
		return
	}
	a.guard(x, r, guarded{run.workflow, "runs"}, run.workflow.Runs, run.serve)
}

// exposedRun is a run whose workflow shows its runs.
type exposedRun struct {
	*api
	workflow *svc.Workflow
	stream   svc.Stream
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
	found, err := a.rt.In(scope).FindRun(r.Context(), id)
	if err != nil {
		return nil, err
	}
	wf := a.rt.Workflow(found.Name)
	if wf == nil || wf.Runs == nil {
		return nil, runNotFound(id)
	}
	return &exposedRun{api: a, workflow: wf, stream: found}, nil
}

func runNotFound(id string) error {
	return fault.New(fault.RunNotFound, fmt.Sprintf("No run %q.", id), "Check the id.")
}

func (run *exposedRun) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodHead:
		run.head(w, r)
	case r.Method != http.MethodGet:
		run.wrongMethod(w, r, http.MethodGet, http.MethodHead)
	case parseQuery(r.URL.RawQuery).has("meta"):
		run.record(w, r)
	default:
		run.read(w, r)
	}
}

func (run *exposedRun) record(w http.ResponseWriter, r *http.Request) {
	found, err := run.rt.In(run.stream.Scope).GetRun(r.Context(), run.stream.ID)
	if err != nil {
		run.fail(w, r, err)
		return
	}
	record, err := found.MarshalJSON()
	if err != nil {
		run.fail(w, r, err)
		return
	}
	writeJSON(w, r, http.StatusOK, record)
}

func (run *exposedRun) head(w http.ResponseWriter, r *http.Request) {
	tail, err := run.rt.Tail(r.Context(), run.stream)
	if err != nil {
		run.failRead(w, r, err)
		return
	}
	all := stream.Frame{After: stream.Start, Next: tail.Head, Tail: true, Closed: tail.Closed}
	setPage(w.Header(), all)
	w.Header().Set("ETag", run.tag(all))
	w.WriteHeader(http.StatusOK)
}

// read answers with the stream in one of three modes.
func (run *exposedRun) read(w http.ResponseWriter, r *http.Request) {
	asked, err := run.parse(r)
	if err != nil {
		run.failRead(w, r, err)
		return
	}
	switch asked.live {
	case stream.LiveLongPoll:
		run.longPoll(w, r, asked)
	case stream.LiveSSE:
		run.follow(w, r, asked)
	default:
		run.catchUp(w, r, asked)
	}
}

// parse says what is to be read. It turns now and the last events into an offset, once: the stream may grow meanwhile.
func (run *exposedRun) parse(r *http.Request) (*runQuery, error) {
	asked, err := parseRunQuery(parseQuery(r.URL.RawQuery))
	if err != nil {
		return nil, err
	}
	if run.stopping() {
		return nil, fault.NotAvailable(string(run.rt.State()))
	}
	if !asked.now && asked.last == 0 {
		return &asked, nil
	}
	tail, err := run.rt.Tail(r.Context(), run.stream)
	if err != nil {
		return nil, err
	}
	asked.after = tail.Head
	if asked.last > 0 {
		asked.after = max(stream.Start, tail.Head-stream.Offset(asked.last))
	}
	return &asked, nil
}

// failRead answers for a read before its first byte. A run that was found and whose stream is gone was dropped meanwhile.
func (run *exposedRun) failRead(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, svc.ErrNoStream) {
		err = runNotFound(run.stream.ID)
	}
	run.fail(w, r, err)
}
