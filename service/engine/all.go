package engine

import (
	"net/http"

	"svc.dev/svc/service/scope"
)

// staffOnly answers claims of the staff in their own workspace, which the guard has let pass; for all others there is no
// such path.
func staffOnly(handle answer) answer {
	return func(e *Engine, w http.ResponseWriter, r *http.Request) error {
		if c := claims(r); c.Authority != scope.StaffAuth || c.Scope != scope.Admin {
			return noRoute(r)
		}
		return handle(e, w, r)
	}
}

// WorkflowOfAll is a workflow among those of all workspaces.
type WorkflowOfAll struct {
	Workflow
	Scope *string `json:"scope"`
}

// allWorkflows is the workflows of all workspaces. They come with the code, so each is listed once.
func (e *Engine) allWorkflows(r *http.Request) []WorkflowOfAll {
	items := []WorkflowOfAll{}
	for _, f := range e.workflowsOf(r) {
		items = append(items, WorkflowOfAll{Workflow: f})
	}
	return items
}

// allRuns is the runs of all workspaces, newest first.
func (e *Engine) allRuns(w http.ResponseWriter, r *http.Request) error {
	return listRuns(w, r, e.Runtime.ListAllRuns)
}
