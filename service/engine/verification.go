package engine

import (
	"encoding/json"
	"net/http"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/workflow"
)

// verification runs the workflow and reports whom the guard has let in. The run is the service's own: a customer's runs,
// storage and usage stay as they are.
func (e *Engine) verification(w http.ResponseWriter, r *http.Request) error {
	c := claims(r)
	done, err := e.Runtime.In(scope.Service).Invoke(r.Context(), Verification, svc.Invocation{Wait: true, StartedBy: c.Actor})
	if err != nil {
		return err
	}
	if done.Run == nil || done.Run.Status != workflow.Completed {
		return fault.NotAvailable("failed")
	}
	v := Verified{RunID: done.RunID, Checks: c.Checks(), Accepted: Accepted{c.Account, c.AccountID, c.Actor, c.Scope, c.Authority}}
	if err := json.Unmarshal(done.Run.Result, &v.Result); err != nil {
		return err
	}
	return write(w, http.StatusOK, v)
}

// Verified is what a verification comes to.
type Verified struct {
	RunID    string        `json:"runId"`
	Checks   []scope.Check `json:"checks"`
	Accepted Accepted      `json:"accepted"`
	Result   verified      `json:"result"`
}

// Accepted is whom the guard has let in.
type Accepted struct {
	Account   string `json:"account"`
	AccountID string `json:"accountId"`
	Actor     string `json:"actor"`
	Scope     string `json:"scope"`
	Authority string `json:"authority"`
}
