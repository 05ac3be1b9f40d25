package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/workflow"
)

// workflow invokes a workflow.
func (a *api) workflow(x *response, r *http.Request, params []string) error {
	if r.Method != http.MethodPost {
		return wrongMethod(x, r, http.MethodPost)
	}
	// A bad query comes before an unknown workflow.
	wait, err := parseWait(r)
	if err != nil {
		return err
	}
	wf, err := a.findWorkflow(params[0])
	if err != nil {
		return err
	}
	scope, err := a.Scope(r)
	if err != nil {
		return err
	}
	return a.guard(x, r, guarded{wf, "route"}, wf.Route, func(w http.ResponseWriter, r *http.Request) error {
		return a.invoke(w, r, wf, scope, wait)
	})
}

func parseWait(r *http.Request) (bool, error) {
	wait := parseQuery(r.URL.RawQuery)["wait"]
	switch {
	case len(wait) == 0:
		return false, nil
	case len(wait) == 1 && wait[0] == "result":
		return true, nil
	}
	return false, fault.Invalid("wait must be %q.", "result")
}

// findWorkflow tells nobody that a workflow without a route exists.
func (a *api) findWorkflow(segment string) (*svc.Workflow, error) {
	name, err := parameter(segment)
	if err != nil {
		return nil, err
	}
	wf := a.rt.Workflow(name)
	if wf == nil || wf.Route == nil {
		return nil, fault.New(fault.WorkflowNotFound, fmt.Sprintf("No workflow named %q.", name), "Check the name.")
	}
	return wf, nil
}

// invoke admits a run. Once it is admitted it goes on, whether or not the client stays to hear of it.
func (a *api) invoke(w http.ResponseWriter, r *http.Request, wf *svc.Workflow, scope string, wait bool) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	sent, err := a.readBody(w, r, scope, min(a.MaxInput, a.MaxBody))
	if err != nil {
		return err
	}
	defer sent.release()
	if err := a.checkInput(r.Context(), wf, sent); err != nil {
		return err
	}
	invoked, err := a.rt.In(scope).Invoke(r.Context(), wf.Name, svc.Invocation{
		Input: sent.value, Key: key, Body: sent.raw, Wait: wait, StartedBy: a.StartedBy(r),
	})
	if err != nil {
		return err
	}
	a.answerInvoked(w, r, invoked)
	return nil
}

// checkInput refuses an input that is more than could be taken apart, or that the workflow would not take. What it is taken
// apart into is let go again.
func (a *api) checkInput(ctx context.Context, wf *svc.Workflow, sent *body) error {
	if sent.value == nil {
		return wf.CheckInput(ctx, nil)
	}
	n := memory.Decoded(sent.value)
	if err := sent.room.Grow(n); err != nil {
		return noRoom(err, a.MaxInput)
	}
	defer sent.room.Resize(sent.room.Size() - n)
	return wf.CheckInput(ctx, sent.value)
}

const headerKey, headerReplayed = "Idempotency-Key", "Idempotency-Replayed"

const maxKey = 256

func idempotencyKey(r *http.Request) (string, error) {
	sent := r.Header.Values(headerKey)
	if len(sent) == 0 {
		return "", nil
	}
	hidden := func(c rune) bool { return c <= ' ' || c > '~' }
	if len(sent) > 1 || sent[0] == "" || len(sent[0]) > maxKey || strings.ContainsFunc(sent[0], hidden) {
		return "", fault.Invalid("Idempotency-Key must be 1 to %d visible characters.", maxKey)
	}
	return sent[0], nil
}

func (a *api) answerInvoked(w http.ResponseWriter, r *http.Request, invoked svc.InvokedRun) {
	if invoked.Replayed {
		w.Header().Set(headerReplayed, "true")
	}
	switch run := invoked.Run; {
	case run == nil:
		writeJSON(w, r, http.StatusAccepted, []byte(`{"runId":"`+invoked.RunID+`"}`))
	case run.Error != nil:
		a.refuse(w, r, http.StatusInternalServerError, runFault(run.Error))
	default:
		writeJSON(w, r, http.StatusOK, encodeResult(run))
	}
}

// runFault is a run's failure as the caller who waited sees it: a typed one under its own name, of a plain one nothing.
func runFault(e *workflow.Error) *fault.Error {
	if e.Type == "" || e.Type == fault.Internal {
		return fault.Unexpected(nil)
	}
	return &fault.Error{Type: e.Type, Message: e.Message, Details: e.Details, Meta: e.Meta}
}

func encodeResult(run *workflow.Run) []byte {
	result := run.Result
	if len(result) == 0 {
		result = json.RawMessage("null")
	}
	return fmt.Appendf(nil, `{"result":%s,"runId":%q}`, result, run.ID)
}
