package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/workflow"
)

// RunItem is a run as listed: as the contract has it, whose it is, and why it failed.
type RunItem struct {
	workflow.Pointer
	Owned
	Error *RunError `json:"error,omitempty"` // absent where it is too long for a list: the record has it
}

// RunError is the part of a run's error that is shown.
type RunError struct {
	Name    string `json:"name,omitempty"`
	Message string `json:"message,omitempty"`
}

func itemOf(run workflow.Run) RunItem {
	item := RunItem{Pointer: run.Pointer(), Owned: ownedOf(run)}
	if run.Error != nil {
		item.Error = &RunError{run.Error.Name, run.Error.Message}
	}
	return item
}

// Owned is what the product adds to a run.
type Owned struct {
	Scope     string `json:"scope"`
	StartedBy string `json:"startedBy,omitempty"` // the actor of the claims that it was started with
}

func ownedOf(run workflow.Run) Owned { return Owned{run.Scope, scope.ParseBy(run.StartedBy).Actor} }

// RunErased is what is said of one.
type RunErased struct {
	RunID  string `json:"runId"`
	Status string `json:"status" enum:"erased"`
}

// RunCancelled is what is said of one, and whether it was active.
type RunCancelled struct {
	RunID     string `json:"runId"`
	Cancelled bool   `json:"cancelled"`
}

func (e *Engine) runs(w http.ResponseWriter, r *http.Request) error {
	return listRuns(w, r, e.Runtime.In(claims(r).Scope).FindRuns)
}

// listRuns answers with the runs that are asked for.
func listRuns(w http.ResponseWriter, r *http.Request, find func(context.Context, svc.RunFilter) (svc.AllRuns, error)) error {
	n, err := limit(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	found, err := find(r.Context(), svc.RunFilter{Status: workflow.Status(q.Get("status")), Workflow: q.Get("workflow"), Limit: n, Cursor: q.Get("cursor")})
	if err != nil {
		return err
	}
	items := make([]RunItem, 0, len(found.Runs))
	for _, run := range found.Runs {
		items = append(items, itemOf(run))
	}
	return list(w, r, page{Items: items, Next: found.NextCursor})
}

// isThere reports whether a request only asks if something is there. A HEAD could not say why not.
func isThere(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Query().Has("there") }

// run tells that there is a run, or all that is known of it, or erases it.
func (e *Engine) run(w http.ResponseWriter, r *http.Request) error {
	in, id := e.Runtime.In(claims(r).Scope), r.URL.Query().Get("run")
	_, size, err := in.FindRun(r.Context(), id)
	if err != nil {
		return err
	}
	switch {
	case isThere(r):
		return write(w, http.StatusOK, struct{}{})
	case r.Method == http.MethodGet:
		return e.record(w, r, id, size)
	case r.Method == http.MethodDelete:
		if err := in.EraseRun(r.Context(), id); err != nil {
			return err
		}
		return write(w, http.StatusAccepted, RunErased{id, "erased"})
	}
	return noRoute(r)
}

// What a run's record takes while it is answered with, as in httpapi, and how long it waits for that.
const (
	recordTimes = 3
	roomWait    = 10 * time.Second
)

// record is the contract's record of a run, and whose it is.
func (e *Engine) record(w http.ResponseWriter, r *http.Request, id string, size int64) error {
	in := e.Runtime.In(claims(r).Scope)
	ctx, cancel := context.WithTimeout(r.Context(), roomWait)
	defer cancel()
	room, err := in.AwaitRoom(ctx, memory.Reads, min(recordTimes*size, e.Runtime.Memory().Share()))
	if err != nil {
		return fault.NotAvailable("busy").Because(err)
	}
	defer room.Release()
	run, err := in.GetRun(r.Context(), id)
	if err != nil {
		return err
	}
	record, err := run.MarshalJSON()
	if err != nil {
		return err
	}
	more, err := json.Marshal(ownedOf(run))
	if err != nil {
		return err
	}
	// Both are objects that are not empty.
	return writeBody(w, http.StatusOK, fmt.Appendf(nil, "%s,%s", record[:len(record)-1], more[1:]))
}

// cancel marks a run for cancelling. One that has ended stays as it is.
func (e *Engine) cancel(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return noRoute(r)
	}
	in, id := e.Runtime.In(claims(r).Scope), r.URL.Query().Get("run")
	if _, _, err := in.FindRun(r.Context(), id); err != nil {
		return err
	}
	active, err := in.CancelRun(r.Context(), id)
	if err != nil {
		return err
	}
	return write(w, http.StatusAccepted, RunCancelled{id, active})
}
