package engine

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/agent"
)

// Prefix begins the paths that only the gateway asks, beside the contract's API.
const Prefix = "/own"

// MCPPath is where the MCP clients of a workspace are answered.
const MCPPath = "/mcp"

// The paths below Prefix.
const (
	VerificationPath  = Prefix + "/verification"
	AgentsPath        = Prefix + "/agents"
	AgentPath         = Prefix + "/agent"
	UsesPath          = Prefix + "/uses"
	WorkflowsPath     = Prefix + "/workflows"
	WorkflowPath      = Prefix + "/workflow"
	ChannelsPath      = Prefix + "/channels"
	RunsPath          = Prefix + "/runs"
	RunPath           = Prefix + "/run"
	CancelPath        = Prefix + "/runs/cancel"
	ConversationsPath = Prefix + "/conversations"
	ConversationPath  = Prefix + "/conversation"
	GitHubPath        = Prefix + "/deliveries/github"
	AboutPath         = Prefix + "/about"
	// Below it lies what the entrypoint of a project answers: no path that it chooses is one of those above.
	EntrypointPath = Prefix + "/entrypoint"

	// What staff see of all workspaces.
	AllAgentsPath    = Prefix + "/all/agents"
	AllWorkflowsPath = Prefix + "/all/workflows"
	AllRunsPath      = Prefix + "/all/runs"
)

// answer answers one path.
type answer func(*Engine, http.ResponseWriter, *http.Request) error

// answers are what answers such a path.
var answers = map[string]answer{
	VerificationPath:  (*Engine).verification,
	AgentsPath:        (*Engine).agents,
	AgentPath:         (*Engine).agent,
	UsesPath:          (*Engine).uses,
	WorkflowsPath:     lists((*Engine).workflowsOf),
	WorkflowPath:      (*Engine).workflow,
	ChannelsPath:      lists((*Engine).channelsOf),
	RunsPath:          (*Engine).runs,
	RunPath:           (*Engine).run,
	CancelPath:        (*Engine).cancel,
	ConversationsPath: (*Engine).conversations,
	ConversationPath:  (*Engine).conversation,
	GitHubPath:        (*Engine).deliver,
	AboutPath:         staffOnly((*Engine).about),
	AllAgentsPath:     staffOnly((*Engine).allAgents),
	AllWorkflowsPath:  staffOnly(lists((*Engine).allWorkflows)),
	AllRunsPath:       staffOnly((*Engine).allRuns),
}

// own finds what answers a path below Prefix, or an MCP client; nil is a path of the contract's API.
func (e *Engine) own(path string) answer {
	if found := answers[path]; found != nil {
		return found
	}
	if path == MCPPath && e.MCP != nil {
		return func(e *Engine, w http.ResponseWriter, r *http.Request) error { return e.MCP(w, r) }
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
	return write(w, http.StatusOK, e.About)
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

// list answers with a list, unless who asks has it as it is.
func list(w http.ResponseWriter, r *http.Request, p page) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	tag, has := listing.Tag(r.Header, body)
	w.Header().Set("ETag", tag)
	if has {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writeBody(w, http.StatusOK, body)
}

// lists answers with all that is found.
func lists[T any](find func(*Engine, *http.Request) []T) answer {
	return func(e *Engine, w http.ResponseWriter, r *http.Request) error {
		return list(w, r, page{Items: find(e, r)})
	}
}

// matches filters a list by name, as q asks.
func matches(r *http.Request, name string) bool {
	return strings.Contains(name, strings.ToLower(r.URL.Query().Get("q")))
}

// Workflow is a workflow as listed.
type Workflow struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Exposed     bool            `json:"exposed"`
	RunsExposed bool            `json:"runsExposed"`
	InputSchema json.RawMessage `json:"inputSchema" type:"object" null:"it takes any"`
	Source      string          `json:"source" enum:"built-in project"`
}

func (e *Engine) workflowOf(f *svc.Workflow) Workflow {
	return Workflow{f.Name, f.Description, f.Route != nil, f.Runs != nil, f.InputSchema(), e.sourceOf("workflows", f.Name)}
}

// sourceOf is where what every workspace has comes from: the service, or the operator's project. Nobody changes it in a workspace.
func (e *Engine) sourceOf(kind, name string) string {
	if e.Project != nil && e.Project.Declares(kind, name) {
		return agent.Project
	}
	return agent.BuiltIn
}

// workflowsOf are the workflows that a request asks for.
func (e *Engine) workflowsOf(r *http.Request) []Workflow {
	items := []Workflow{}
	for _, f := range e.Runtime.Workflows() {
		if matches(r, f.Name) {
			items = append(items, e.workflowOf(f))
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
	return write(w, http.StatusOK, e.workflowOf(found))
}

// limit is how many items are asked for.
func limit(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return listing.DefaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > listing.MaxLimit {
		return 0, fault.Invalid("limit must be a number from 1 to %d.", listing.MaxLimit)
	}
	return n, nil
}
