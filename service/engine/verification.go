package engine

import (
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
	write(w, http.StatusOK, map[string]any{
		"runId": done.RunID, "result": done.Run.Result, "checks": c.Checks(),
		"accepted": map[string]string{"account": c.Account, "accountId": c.AccountID, "actor": c.Actor, "scope": c.Scope, "authority": c.Authority},
	})
	return nil
}
