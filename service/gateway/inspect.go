package gateway

import (
	"net/url"

	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// listed answers a list of a workspace from the runtime.
func listed(path, keyScope string) func(*exchange) error {
	return func(x *exchange) error { return x.inspect(path, keyScope, nil) }
}

// inspect lets somebody read what the runtime knows of their workspace, or work with it.
func (x *exchange) inspect(path, keyScope string, set url.Values) error {
	address, need := x.address(), workspace.Read
	if !safe(x.r.Method) {
		need = workspace.Work
	}
	who, err := x.authorize(address, need, keyScope)
	if err != nil {
		return err
	}
	if err := x.note(address, x.below()); err != nil {
		return err
	}
	if set != nil {
		q := x.r.URL.Query()
		for name, values := range set {
			q[name] = values
		}
		x.r.URL.RawQuery = q.Encode()
	}
	return x.forward(errand{claims: who.claims(x.id, address), path: path, header: allowed(x.r.Header), watch: who.watch})
}

// address is the scope that a path below W names.
func (x *exchange) address() string {
	if x.params["username"] == "" {
		return scope.Admin
	}
	return scope.Of(x.params["username"], x.params["business"]).String()
}

func (x *exchange) listConversations() error {
	return x.inspect(conversationsPath, "agents:read", url.Values{"agent": {x.params["name"]}})
}

func (x *exchange) getRun() error {
	return x.inspect(runPath, "runs:read", url.Values{"run": {x.params["run"]}})
}

func (x *exchange) runEvents() error { return x.inspect("/runs/"+x.params["run"], "runs:read", nil) }

func (x *exchange) getWorkflow() error {
	return x.inspect(workflowPath, "runs:read", url.Values{"name": {x.params["name"]}})
}

// runWorkflow starts a run and waits for nothing.
func (x *exchange) runWorkflow() error {
	x.r.URL.RawQuery = ""
	return x.inspect("/workflows/"+x.params["name"], "workflows:run", nil)
}

func (x *exchange) cancelRun() error {
	return x.inspect(cancelPath, "workflows:run", url.Values{"run": {x.params["run"]}})
}
