package operation

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/iso"
	"svc.dev/svc/model"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/workspace"
)

// Base is where the API of the contract begins that the runtime of a workspace answers itself, and BaseOwn that of the staff's own. The
// gateway lets people in by these rows, and passes on what they send as it is.
const (
	Base    = "/v1/{username}/{business}"
	BaseOwn = "/v1/admin"

	talkPath = Base + "/agents/{name}/{id}"
)

var usesAgents = access.May(workspace.Work).Key("agents:write")

var conversations = everywhere("conversation",
	passes[sendMessage, messageTaken]("sendMessage", "POST", talkPath, begins, usesAgents).once().header("Location", "Location").header("Stream-Next-Offset", "Stream-Next-Offset").
		says("Say something to an agent. Whoever follows the conversation from `offset` on sees all that comes of it.", fault.AgentNotFound, fault.StorageQuotaExceeded),
	passes[readConversation, history]("readConversation", "GET", talkPath, shows, readsAgents).streams([]update{}).
		says("Read a conversation, or what is new in it since an offset. With `live` the answer waits for news, or goes on with them.",
			fault.AgentNotFound, fault.StreamNotFound, fault.InvalidRequest, fault.StreamOffsetGone),
	passes[abortConversation, abortedConversation]("abortConversation", "POST", talkPath+"/abort", shows, usesAgents).
		says("Abort what an agent works on in a conversation, or one submission of it.", fault.AgentNotFound, fault.InvalidRequest),
	passes[struct{}, submissionsShown]("listSubmissions", "GET", talkPath+"/submissions", shows, readsAgents).
		says("List what is not settled yet, in its order.", fault.AgentNotFound, fault.InvalidRequest),
	passes[struct{}, attachment]("readAttachment", "GET", talkPath+"/attachments/{attachment}", shows, readsAgents).
		says("Read a file that was sent with a message.", fault.StreamNotFound, fault.AttachmentNotFound),
)

var invocations = everywhere("run",
	passes[invocation, runBegun]("invokeWorkflow", "POST", Base+"/workflows/{name}", begins, startsRuns).forwards().answers(http.StatusOK, runEnded{}).
		says("Start a run. With `wait=result` the answer is what comes of it.", fault.WorkflowNotFound, fault.InputValidation, fault.InputUnexpected, fault.StorageQuotaExceeded),
	passes[runQuery, listing.Page[engine.RunItem]]("findRuns", "GET", Base+"/runs", lists, readsRuns).says("List the runs of a workspace, the newest first."),
	passes[readRun, runRecord]("followRun", "GET", Base+"/runs/{run}", shows, readsRuns).streams([]runEvent{}).header("ETag", "Events-ETag").
		answers(http.StatusNoContent, nil).answers(http.StatusNotModified, nil).
		says("Read the events of a run from an offset on, or with `meta` its record. With `live` the answer waits for events, or goes on with them.", fault.RunNotFound, fault.InvalidRequest),
)

var webhooks = everywhere("channel",
	passes[struct{}, webhookTaken]("takeWebhook", "POST", Base+"/channels/{name}/{path...}", shows, access.Public).anywhere().
		says("Take what a provider sends. Its signature is the credential; what is answered is the provider's to know.", fault.BodyTooLarge),
)

// offers is what MCP clients ask: everything through one door, behind which each tool asks for its own scope.
var offers = everywhere("mcp",
	passes[rpcMessage, rpcAnswer]("callMCP", "POST", Base+"/mcp", shows, access.May(workspace.Read).AnyKey("agents:read", "agents:write", "runs:read", "workflows:run")).
		answers(http.StatusAccepted, nil).header("Mcp-Session-Id", "Mcp-Session-Id").
		says("Speak MCP, by streamable HTTP and without a session. The tools are the exposed agents and workflows that the key's scopes allow, `get_result` and `cancel`.", fault.InvalidJSON, fault.InvalidRequest),
)

// The entrypoint of a project answers where no row does. What it does there is its own, agents and runs among it: so a key must be made
// for all of that.
var (
	ReadsEntrypoint = access.May(workspace.Read).EveryKey("agents:read", "runs:read")
	UsesEntrypoint  = access.May(workspace.Work).EveryKey("agents:write", "workflows:run")
)

// Passed are the operations that the runtime answers itself.
func Passed() []Row { return slices.Concat(conversations, invocations, webhooks, offers) }

// passes is an operation that is only let through. In and Out are what its description tells.
func passes[In, Out any](id, method, path string, k kind, need access.Need) Row {
	return Row{
		On: []access.Surface{access.Agents, access.Admin}, Method: method, Path: path, Need: need, ID: id, kind: k,
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), Told: true, Apart: true, asked: true,
	}
}

// once is an operation that is done once for all requests with one Idempotency-Key.
func (r Row) once() Row {
	r.keyed = true
	return r
}

// streams is an operation whose answer can be followed: it holds what is new since an offset, and where that ends.
func (r Row) streams(news any) Row {
	r.news = reflect.TypeOf(news)
	for _, name := range []string{"Stream-Next-Offset", "Stream-Up-To-Date", "Stream-Cursor", "Stream-Closed"} {
		r = r.header(name, name)
	}
	return r
}

type sendMessage struct {
	Body message
}

// message is what is said: by a user, with text and images, or by a program, as a signal.
type message struct {
	Kind        string            `json:"kind" enum:"user signal"`
	Body        string            `json:"body"`
	Attachments []image           `json:"attachments,omitempty"`
	Type        string            `json:"type,omitempty"` // of a signal
	Attributes  map[string]string `json:"attributes,omitempty"`
	TagName     string            `json:"tagName,omitempty"`
}

type image struct {
	Type     string `json:"type" enum:"image"`
	Data     string `json:"data"` // in base64
	MIMEType string `json:"mimeType"`
	Filename string `json:"filename,omitempty"`
}

// messageTaken is where what comes of a message can be followed.
type messageTaken struct {
	StreamURL    string `json:"streamUrl"`
	Offset       string `json:"offset"`
	SubmissionID string `json:"submissionId"`
}

type readConversation struct {
	View   string `query:"view" enum:"history updates"`
	Offset string `query:"offset"`
	Live   string `query:"live" enum:"long-poll sse"`
	Cursor string `query:"cursor"`
}

// history is a conversation as it stands.
type history struct {
	V            int                       `json:"v"`
	Conversation string                    `json:"conversationId"`
	Offset       string                    `json:"offset"`
	Messages     []conversation.View       `json:"messages"`
	Settlements  []conversation.Settlement `json:"settlements"`
}

// update is what readers bring a conversation up to date with.
type update struct {
	Type         string                  `json:"type" enum:"conversation-reset message-appended message-started message-delta tool-input tool-output tool-output-error message-completed submission-settled"`
	Conversation string                  `json:"conversationId"`
	Snapshot     *history                `json:"snapshot,omitempty"`
	Message      *conversation.View      `json:"message,omitempty"`
	MessageID    string                  `json:"messageId,omitempty"`
	Kind         string                  `json:"kind,omitempty" enum:"text reasoning"`
	Delta        *string                 `json:"delta,omitempty"`
	ToolCallID   string                  `json:"toolCallId,omitempty"`
	ToolName     string                  `json:"toolName,omitempty"`
	Input        json.RawMessage         `json:"input,omitempty"`
	Output       json.RawMessage         `json:"output,omitempty"`
	ErrorText    *string                 `json:"errorText,omitempty"`
	DurationMs   *int64                  `json:"durationMs,omitempty"`
	Timestamp    string                  `json:"timestamp,omitempty"`
	Submission   string                  `json:"submissionId,omitempty"`
	Turn         string                  `json:"turnId,omitempty"`
	Model        *conversation.ModelName `json:"model,omitempty"`
	AgentVersion string                  `json:"agentVersion,omitempty"`
	Usage        *model.Usage            `json:"usage,omitempty"`
	Outcome      string                  `json:"outcome,omitempty" enum:"completed failed aborted"`
	Error        *conversation.Error     `json:"error,omitempty"`
	Position     struct {
		Batch int64 `json:"batch"`
		Index int   `json:"index"`
	} `json:"position"`
}

type abortConversation struct {
	Submission string `query:"submission"` // empty: all of them
}

type abortedConversation struct {
	Aborted bool `json:"aborted"` // something was not settled
}

type submissionsShown struct {
	Submissions []submission `json:"submissions"`
}

type submission struct {
	ID         string   `json:"submissionId"`
	Kind       string   `json:"kind" enum:"direct dispatch"`
	Preview    string   `json:"preview"`
	AdmittedAt iso.Time `json:"admittedAt"`
	State      string   `json:"state" enum:"queued running aborting parked"`
	Reason     string   `json:"reason,omitempty"`
}

// attachment is a file of the type that it was sent with.
type attachment struct{}

type invocation struct {
	Wait string `query:"wait" enum:"result"`
}

// runEnded is what came of a run.
type runEnded struct {
	Result json.RawMessage `json:"result"`
	RunID  string          `json:"runId"`
}

type readRun struct {
	Meta   string `query:"meta"`
	Offset string `query:"offset"`
	Tail   string `query:"tail"`
	Live   string `query:"live" enum:"long-poll sse"`
	Cursor string `query:"cursor"`
}

// runRecord is a run as the contract shows it.
type runRecord struct {
	RunID      string           `json:"runId"`
	Workflow   string           `json:"workflowName"`
	Status     string           `json:"status" enum:"active completed errored"`
	StartedAt  iso.Time         `json:"startedAt"`
	Input      json.RawMessage  `json:"input,omitempty"`
	EndedAt    *iso.Time        `json:"endedAt,omitempty"`
	IsError    *bool            `json:"isError,omitempty"`
	DurationMs *int64           `json:"durationMs,omitempty"`
	Result     json.RawMessage  `json:"result,omitempty"`
	Error      *engine.RunError `json:"error,omitempty"`
}

// rpcMessage is a message of JSON-RPC, as MCP has them.
type rpcMessage struct {
	Body rpc
}

type rpc struct {
	Version string          `json:"jsonrpc" enum:"2.0"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// rpcAnswer is the messages that come back, one by one as events, or one alone.
type rpcAnswer map[string]any

// webhookTaken is what a provider is told.
type webhookTaken struct{}
