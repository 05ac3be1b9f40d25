package operation

import (
	"context"
	"encoding/json"
	"net/url"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/workspace"
)

var (
	readsRuns  = access.May(workspace.Read).Key("runs:read")
	startsRuns = access.May(workspace.Work).Key("workflows:run")
)

const (
	flowPath = W + "/workflows/{name}"
	runPath  = W + "/runs/{run}"
)

// runs are those of a workspace, and the workflows that they are of.
var runs = everywhere("workspace",
	relays[page, engine.Workflow]("listWorkflows", W+"/workflows", readsRuns, engine.WorkflowsPath).says("List the workflows of a workspace."),
	relays[page, engine.Channel]("listChannels", W+"/channels", readsAgents, engine.ChannelsPath).says("List the channels by which providers reach a workspace, with their routes below its API address."),
	asks[engine.Workflow]("GET", flowPath, shows, readsRuns, getWorkflow).says("Read a workflow, with the schema of its input.", fault.WorkflowNotFound),
	asks[runBegun]("POST", flowPath+"/run", begins, startsRuns, runWorkflow).forwards().
		says("Start a run, which goes on by itself. The body is its input.", fault.WorkflowNotFound, fault.InputValidation, fault.InputUnexpected, fault.StorageQuotaExceeded),
	relays[runQuery, engine.RunItem]("listRuns", W+"/runs", readsRuns, engine.RunsPath).says("List the runs of a workspace, the newest first."),
	asks[run]("GET", runPath, shows, readsRuns, getRun).says("Read the record of a run.", fault.RunNotFound),
	asks[[]runEvent]("GET", runPath+"/events", shows, readsRuns, readRunEvents).streams([]runEvent{}).header("ETag", "Events-ETag").says("Read the events of a run, or follow them with `live=sse`.", fault.RunNotFound, fault.InvalidRequest, fault.StreamOffsetGone),
	asks[engine.RunCancelled]("POST", runPath+"/cancel", begins, startsRuns, cancelRun).says("Cancel a run. One that has ended stays as it is.", fault.RunNotFound),
	asks[engine.RunErased]("DELETE", runPath, begins, access.May(workspace.Manage), eraseRun).tells().
		says("Erase a run. All that it recorded is destroyed at once, and whoever works on it is stopped.", fault.RunNotFound),
)

// run is the record of a run.
type run struct {
	engine.RunItem
	Input  json.RawMessage `json:"input,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// runBegun is where a new run can be followed.
type runBegun struct {
	RunID string `json:"runId"`
}

// runEvent is an event as the runtime's contract has it.
type runEvent map[string]any

type named struct {
	Name string `path:"name"`
}

func getWorkflow(_ context.Context, _ Call, in named) (Question, error) {
	return Question{Path: engine.WorkflowPath, Query: url.Values{"name": {in.Name}}}, nil
}

// runWorkflow starts a run and waits for nothing.
func runWorkflow(_ context.Context, _ Call, in named) (Question, error) {
	return Question{Path: "/workflows/" + in.Name, Alone: true}, nil
}

type runQuery struct {
	listing.Query
	Status   string `query:"status"`
	Workflow string `query:"workflow"`
}

type runID struct {
	Run string `path:"run"`
}

func (in runID) query() url.Values { return url.Values{"run": {in.Run}} }

func getRun(_ context.Context, _ Call, in runID) (Question, error) {
	return Question{Path: engine.RunPath, Query: in.query()}, nil
}

func readRunEvents(_ context.Context, _ Call, in runID) (Question, error) {
	return Question{Path: "/runs/" + in.Run}, nil
}

func cancelRun(_ context.Context, _ Call, in runID) (Question, error) {
	return Question{Path: engine.CancelPath, Query: in.query()}, nil
}

func eraseRun(ctx context.Context, c Call, in runID) (Question, error) {
	return c.erase(ctx, Question{Path: engine.RunPath, Query: in.query()}, audit.Event{Action: "run.erased", Target: audit.Target{Kind: "run", ID: in.Run}})
}
