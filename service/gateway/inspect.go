package gateway

import (
	"net/url"

	"svc.dev/svc/service/scope"
)

// listed answers a list of a workspace from the runtime.
func listed(path string) func(*exchange) error {
	return func(x *exchange) error { return x.inspect(path, nil) }
}

// inspect lets somebody read what the runtime knows of their workspace, or work with it.
func (x *exchange) inspect(path string, set url.Values) error {
	if set != nil {
		q := x.r.URL.Query()
		for name, values := range set {
			q[name] = values
		}
		x.r.URL.RawQuery = q.Encode()
	}
	return x.forward(errand{claims: x.v.Claims(x.id), path: path, header: allowed(x.r.Header)})
}

// address is the scope that a path below W names.
func (x *exchange) address() string {
	if x.params["username"] == "" {
		return scope.Admin
	}
	return scope.Of(x.params["username"], x.params["business"]).String()
}

func (x *exchange) listConversations() error {
	return x.inspect(conversationsPath, url.Values{"agent": {x.params["name"]}})
}

func (x *exchange) getRun() error {
	return x.inspect(runPath, url.Values{"run": {x.params["run"]}})
}

func (x *exchange) runEvents() error { return x.inspect("/runs/"+x.params["run"], nil) }

func (x *exchange) getWorkflow() error {
	return x.inspect(workflowPath, url.Values{"name": {x.params["name"]}})
}

// runWorkflow starts a run and waits for nothing.
func (x *exchange) runWorkflow() error {
	x.r.URL.RawQuery = ""
	return x.inspect("/workflows/"+x.params["name"], nil)
}

func (x *exchange) cancelRun() error {
	return x.inspect(cancelPath, url.Values{"run": {x.params["run"]}})
}
