package engine

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/workflow"
)

// Prefix begins the paths that only the gateway asks, beside the contract's API.
const Prefix = "/own"

// The paths below Prefix.
const (
	VerificationPath  = Prefix + "/verification"
	AgentsPath        = Prefix + "/agents"
	WorkflowsPath     = Prefix + "/workflows"
	WorkflowPath      = Prefix + "/workflow"
	RunsPath          = Prefix + "/runs"
	CancelPath        = Prefix + "/runs/cancel"
	ConversationsPath = Prefix + "/conversations"
	GitHubPath        = Prefix + "/deliveries/github"
	AboutPath         = Prefix + "/about"

	// What staff see of all workspaces.
	AllAgentsPath    = Prefix + "/all/agents"
	AllWorkflowsPath = Prefix + "/all/workflows"
	AllRunsPath      = Prefix + "/all/runs"
)

// answers are what answers such a path.
var answers = map[string]func(*Engine, http.ResponseWriter, *http.Request) error{
	VerificationPath:  (*Engine).verification,
	AgentsPath:        (*Engine).agents,
	WorkflowsPath:     (*Engine).workflows,
	WorkflowPath:      (*Engine).workflow,
	RunsPath:          (*Engine).runs,
	CancelPath:        (*Engine).cancel,
	ConversationsPath: (*Engine).conversations,
	GitHubPath:        (*Engine).deliver,
	AboutPath:         staffOnly((*Engine).about),
	AllAgentsPath:     staffOnly((*Engine).allAgents),
	AllWorkflowsPath:  staffOnly((*Engine).allWorkflows),
	AllRunsPath:       staffOnly((*Engine).allRuns),
}

// own finds what answers a path below Prefix; nil is a path of the contract's API.
func own(path string) func(*Engine, http.ResponseWriter, *http.Request) error {
	if found := answers[path]; found != nil {
		return found
	}
	if strings.HasPrefix(path, Prefix+"/") {
		return func(_ *Engine, _ http.ResponseWriter, r *http.Request) error { return noRoute(r) }
	}
	return nil
}

// About is how a runtime is set up, for doctor to compare with its gateway.
type About struct {
	Agents      string `json:"agents"` // addresses of surfaces
	Admin       string `json:"admin"`
	Development bool   `json:"development"`
}

func (e *Engine) about(w http.ResponseWriter, _ *http.Request) error {
	write(w, http.StatusOK, e.About)
	return nil
}

func noRoute(r *http.Request) error {
	return fault.New(fault.RouteNotFound, "No route for "+r.Method+" "+r.URL.Path+".", "")
}

// checkQuery refuses values that no database takes for text.
func checkQuery(r *http.Request) error {
	for name, values := range r.URL.Query() {
		if !isText(strings.Join(values, "")) {
			return fault.Invalid("%q is not a text.", name)
		}
	}
	return nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// page is how lists answer.
type page struct {
	Items any    `json:"items"`
	Next  string `json:"nextCursor,omitempty"`
}

// agent is an agent as listed.
type agent struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Exposed     bool   `json:"exposed"`
	Enabled     bool   `json:"enabled"`
	Source      string `json:"source"`
}

func (e *Engine) agents(w http.ResponseWriter, r *http.Request) error {
	write(w, http.StatusOK, page{Items: e.agentsOf(r)})
	return nil
}

// agentsOf are the agents that a request asks for.
func (e *Engine) agentsOf(r *http.Request) []agent {
	items := []agent{}
	for _, a := range e.Runtime.In(claims(r).Scope).ListAgents() {
		source := "code"
		if a.Name == Central {
			source = "built-in"
		}
		if matches(r, a.Name) {
			items = append(items, agent{a.Name, a.Description, a.Transports.HTTP, true, source})
		}
	}
	return items
}

// matches filters a list by name, as q asks.
func matches(r *http.Request, name string) bool {
	return strings.Contains(name, strings.ToLower(r.URL.Query().Get("q")))
}

// flow is a workflow as listed.
type flow struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Exposed     bool            `json:"exposed"`
	RunsExposed bool            `json:"runsExposed"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func flowOf(f *svc.Workflow) flow {
	return flow{f.Name, f.Description, f.Route != nil, f.Runs != nil, f.InputSchema()}
}

func (e *Engine) workflows(w http.ResponseWriter, r *http.Request) error {
	write(w, http.StatusOK, page{Items: e.flowsOf(r)})
	return nil
}

// flowsOf are the workflows that a request asks for.
func (e *Engine) flowsOf(r *http.Request) []flow {
	items := []flow{}
	for _, f := range e.Runtime.Workflows() {
		if matches(r, f.Name) {
			items = append(items, flowOf(f))
		}
	}
	return items
}

func (e *Engine) workflow(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("name")
	found := e.Runtime.Workflow(name)
	if found == nil {
		return fault.New(fault.WorkflowNotFound, "No workflow named "+strconv.Quote(name)+".", "Check the name.")
	}
	write(w, http.StatusOK, flowOf(found))
	return nil
}

// Bounds of a list.
const defaultLimit, maxLimit = 50, 200

// limit is how many items are asked for.
func limit(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		return 0, fault.Invalid("limit must be a number from 1 to %d.", maxLimit)
	}
	return n, nil
}

func (e *Engine) runs(w http.ResponseWriter, r *http.Request) error {
	n, err := limit(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	list, err := e.Runtime.In(claims(r).Scope).ListRuns(r.Context(), svc.RunFilter{
		Status: workflow.Status(q.Get("status")), Workflow: q.Get("workflow"), Limit: n, Cursor: q.Get("cursor"),
	})
	if err != nil {
		return err
	}
	write(w, http.StatusOK, page{Items: list.Runs, Next: list.NextCursor})
	return nil
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
	write(w, http.StatusAccepted, map[string]any{"runId": id, "cancelled": active})
	return nil
}
