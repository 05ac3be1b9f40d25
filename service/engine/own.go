package engine

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/workflow"
)

// Prefix begins the paths that only the gateway asks, beside the contract's API.
const Prefix = "/own"

// The paths below Prefix.
const (
	VerificationPath  = Prefix + "/verification"
	AgentsPath        = Prefix + "/agents"
	WorkflowsPath     = Prefix + "/workflows"
	RunsPath          = Prefix + "/runs"
	ConversationsPath = Prefix + "/conversations"
)

// own finds what answers such a path.
func own(path string) func(*Engine, http.ResponseWriter, *http.Request) error {
	switch path {
	case VerificationPath:
		return (*Engine).verification
	case AgentsPath:
		return (*Engine).agents
	case WorkflowsPath:
		return (*Engine).workflows
	case RunsPath:
		return (*Engine).runs
	case ConversationsPath:
		return (*Engine).conversations
	}
	if strings.HasPrefix(path, Prefix+"/") {
		return func(_ *Engine, _ http.ResponseWriter, r *http.Request) error {
			return fault.New(fault.RouteNotFound, "No route for "+r.Method+" "+r.URL.Path+".", "")
		}
	}
	return nil
}

// verification runs the workflow over the claims that were let in.
func (e *Engine) verification(w http.ResponseWriter, r *http.Request) error {
	c := claims(r)
	input, err := json.Marshal(accepted{c.Account, c.AccountID, c.Actor, c.Scope, c.Authority})
	if err != nil {
		return err
	}
	done, err := e.Runtime.In(c.Scope).Invoke(r.Context(), Verification, svc.Invocation{Input: input, Wait: true})
	if err != nil {
		return err
	}
	if done.Run == nil || done.Run.Status != workflow.Completed {
		return fault.NotAvailable("failed")
	}
	write(w, http.StatusOK, map[string]any{"runId": done.RunID, "result": done.Run.Result})
	return nil
}

// page is how lists answer.
type page struct {
	Items any    `json:"items"`
	Next  string `json:"nextCursor,omitempty"`
}

func (e *Engine) agents(w http.ResponseWriter, r *http.Request) error {
	type agent struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Exposed     bool   `json:"exposed"`
		Enabled     bool   `json:"enabled"`
		Source      string `json:"source"`
	}
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
	write(w, http.StatusOK, page{Items: items})
	return nil
}

// matches filters a list by name, as q asks.
func matches(r *http.Request, name string) bool {
	return strings.Contains(name, strings.ToLower(r.URL.Query().Get("q")))
}

func (e *Engine) workflows(w http.ResponseWriter, r *http.Request) error {
	type flow struct {
		Name        string          `json:"name"`
		Exposed     bool            `json:"exposed"`
		RunsExposed bool            `json:"runsExposed"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	items := []flow{}
	for _, f := range e.Runtime.Workflows() {
		if matches(r, f.Name) {
			items = append(items, flow{f.Name, f.Route != nil, f.Runs != nil, f.InputSchema()})
		}
	}
	write(w, http.StatusOK, page{Items: items})
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

func (e *Engine) conversations(w http.ResponseWriter, r *http.Request) error {
	n, err := limit(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	list, err := e.Runtime.In(claims(r).Scope).Conversations(r.Context(), q.Get("agent"), parseCursor(q.Get("cursor")), n)
	if err != nil {
		return err
	}
	type conversation struct {
		Agent  string    `json:"agent"`
		ID     string    `json:"id"`
		UsedAt time.Time `json:"usedAt"`
	}
	items := []conversation{}
	for _, c := range list.Conversations {
		items = append(items, conversation{c.Agent, c.ID, c.UsedAt.UTC()})
	}
	answer := page{Items: items}
	if list.More {
		answer.Next = cursor(list.Conversations[len(list.Conversations)-1])
	}
	write(w, http.StatusOK, answer)
	return nil
}

// place is where a list of conversations goes on.
type place struct {
	Agent  string `json:"a"`
	ID     string `json:"i"`
	UsedAt int64  `json:"u"`
}

func cursor(c svc.Conversation) string {
	text, _ := json.Marshal(place{c.Agent, c.ID, c.UsedAt.UnixMilli()}) // strings and a number always have JSON
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor starts at the top for what no list gave.
func parseCursor(text string) *svc.Conversation {
	data, err := base64.RawURLEncoding.DecodeString(text)
	var p place
	if text == "" || err != nil || json.Unmarshal(data, &p) != nil {
		return nil
	}
	return &svc.Conversation{Agent: p.Agent, ID: p.ID, UsedAt: time.UnixMilli(p.UsedAt)}
}

// Public is where clients find the work of claims, on the surface of its authority.
func Public(agents, admin string) func(scope.Claims) string {
	return func(c scope.Claims) string {
		base := agents
		if c.Authority == scope.StaffAuth {
			base = admin
		}
		return base + "/v1/" + strings.TrimPrefix(c.Scope, "users/")
	}
}
