package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// The paths of the runtime that only the gateway asks.
const (
	verificationPath  = "/own/verification"
	agentsPath        = "/own/agents"
	workflowsPath     = "/own/workflows"
	workflowPath      = "/own/workflow"
	runsPath          = "/own/runs"
	runPath           = "/own/run"
	cancelPath        = "/own/runs/cancel"
	conversationPath  = "/own/conversation"
	conversationsPath = "/own/conversations"
	allAgentsPath     = "/own/all/agents"
	allWorkflowsPath  = "/own/all/workflows"
	allRunsPath       = "/own/all/runs"
)

// adminRoot is where the files of the staff's own workspace are.
const adminRoot = "root-sandbox/admin/"

// verifyWorkspace runs a read-only workflow through gateway and runtime, and reports the account and scope that were
// accepted.
func (x *exchange) verifyWorkspace() error {
	who := x.who.Account
	if err := x.g.verifications.Take(who.ID); err != nil {
		return err
	}
	at := scope.Of(who.Username, cmp.Or(x.r.URL.Query().Get("business"), scope.Personal))
	if err := x.enter(may(workspace.Read), access.Place{Scope: at.String()}); err != nil {
		return err
	}
	if x.r.Method == http.MethodHead {
		x.out.WriteHeader(http.StatusOK)
		return nil
	}
	return x.report(x.v.Claims(x.id), who.ID)
}

// report asks the runtime whom it accepted.
func (x *exchange) report(c scope.Claims, actorID string) error {
	var answer struct {
		RunID    string        `json:"runId"`
		Checks   []scope.Check `json:"checks"`
		Accepted struct {
			Account   string `json:"account"`
			AccountID string `json:"accountId"`
			Actor     string `json:"actor"`
			Scope     string `json:"scope"`
			Authority string `json:"authority"`
		} `json:"accepted"`
		Result struct {
			FilesRead int      `json:"filesRead"`
			Mutated   bool     `json:"mutated"`
			CheckedAt iso.Time `json:"checkedAt"`
		} `json:"result"`
	}
	if err := x.ask(c, verificationPath, &answer); err != nil {
		return err
	}
	got, done := answer.Accepted, answer.Result
	failed := slices.ContainsFunc(answer.Checks, func(check scope.Check) bool { return !check.OK })
	report := map[string]any{
		"ok": !failed && got.Scope == c.Scope && got.Account == c.Account && got.Actor == c.Actor, "surface": x.surface, "authority": got.Authority,
		"account": map[string]string{"id": got.AccountID, "username": got.Account}, "actor": map[string]string{"username": got.Actor},
		"scope": got.Scope, "workflow": "workspace-verification", "runId": answer.RunID, "checks": answer.Checks,
		"filesRead": done.FilesRead, "mutated": done.Mutated, "checkedAt": done.CheckedAt,
	}
	if c.Authority == scope.StaffAuth {
		report["root"] = adminRoot
	}
	return x.json(http.StatusOK, report)
}

// ask puts a question of ours to the runtime and reads its answer.
func (x *exchange) ask(c scope.Claims, path string, into any) error {
	told, err := x.tell(c, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(told.body.Bytes(), into)
}

// tell puts a request of ours to the runtime. Its refusals are errors.
func (x *exchange) tell(c scope.Claims, method, path string, query url.Values) (*memo, error) {
	if x.g.Runtime == nil {
		return nil, fault.NotAvailable("loading").After(time.Second)
	}
	r, err := http.NewRequestWithContext(x.g.with(x.ctx(), c), method, path, nil)
	if err != nil {
		return nil, err
	}
	r.URL = &url.URL{Path: path, RawQuery: query.Encode()}
	var told memo
	x.g.Runtime.ServeHTTP(&told, r)
	switch {
	case told.because != nil:
		return nil, told.because
	case told.status/100 != 2:
		return nil, told.fault()
	}
	return &told, nil
}

// memo is an answer of the runtime that we read ourselves.
type memo struct {
	header  http.Header
	status  int
	body    bytes.Buffer
	because *fault.Error
}

func (m *memo) Header() http.Header {
	if m.header == nil {
		m.header = http.Header{}
	}
	return m.header
}

func (m *memo) WriteHeader(status int) {
	if m.status == 0 {
		m.status = status
	}
}

func (m *memo) Write(b []byte) (int, error) {
	m.WriteHeader(http.StatusOK)
	return m.body.Write(b)
}

func (m *memo) refuse(because *fault.Error) { m.because = because }

// fault is what the runtime refused with.
func (m *memo) fault() error {
	var envelope struct {
		Error struct {
			Type    string         `json:"type"`
			Message string         `json:"message"`
			Details string         `json:"details"`
			Meta    map[string]any `json:"meta"`
		} `json:"error"`
	}
	if json.Unmarshal(m.body.Bytes(), &envelope) != nil || envelope.Error.Type == "" || m.status == http.StatusUnauthorized {
		return fault.New("bad_gateway", "The runtime cannot be reached.", "Try again shortly.")
	}
	e := envelope.Error
	f := &fault.Error{Type: e.Type, Message: e.Message, Details: e.Details, Meta: e.Meta}
	if m.status == http.StatusServiceUnavailable {
		f.RetryAfter = time.Second
	}
	return f
}
