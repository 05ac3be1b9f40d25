package offer

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/oklog/ulid/v2"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/scope"
)

// question is what an agent is asked.
type question struct {
	Message string `json:"message" jsonschema:"What to say to the agent."`
	// Conversation is the one to go on with.
	Conversation string `json:"conversation,omitempty" jsonschema:"The conversation of an earlier answer, to go on with it. Leave it out to begin a new one."`
}

// lookUp is which work is meant.
type lookUp struct {
	ID string `json:"id" jsonschema:"The submissionId or runId of an answer."`
}

var (
	questions = formOf[question]()
	named     = formOf[lookUp]()
)

// form is what a tool is asked, and how it is read.
type form[In any] struct{ tool svc.Tool }

func formOf[In any]() form[In] {
	return form[In]{svc.NewTool("", "", func(context.Context, In) (struct{}, error) { return struct{}{}, nil })}
}

func (f form[In]) schema() json.RawMessage { return f.tool.InputSchema() }

// read refuses what does not fit, and says where.
func (f form[In]) read(ctx context.Context, raw json.RawMessage) (in In, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if _, err := f.tool.Call(ctx, raw); err != nil {
		return in, err
	}
	return in, json.Unmarshal(raw, &in)
}

// visit is one call: who makes it, and by which message.
type visit struct {
	claims scope.Claims
	m      *received
	req    *mcp.CallToolRequest
	wishes wishes
}

// wishes are what a client says beside the arguments, in _meta.
type wishes struct {
	key     string        // idempotencyKey: calls with the same one are one
	waiting time.Duration // waitSeconds: how long it waits for the result
}

const (
	maxKey  = 256
	maxWait = 10 * time.Minute
)

func (o *Offer) wishesOf(meta mcp.Meta) (w wishes, err error) {
	w.waiting = o.Patience
	if given, there := meta["idempotencyKey"]; there {
		text, ok := given.(string)
		if !ok || text == "" || len(text) > maxKey || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return w, fault.Invalid("_meta.idempotencyKey is a text of at most %d bytes on one line.", maxKey)
		}
		w.key = text
	}
	if given, there := meta["waitSeconds"]; there {
		seconds, ok := given.(float64)
		if !ok || seconds < 0 || seconds > maxWait.Seconds() {
			return w, fault.Invalid("_meta.waitSeconds is a number from 0 to %d.", int(maxWait.Seconds()))
		}
		w.waiting = time.Duration(seconds * float64(time.Second))
	}
	return w, nil
}

// call does what a tool is called for. What goes wrong in it is a result; a tool that there is not is an error of the protocol.
func (o *Offer) call(ctx context.Context, req *mcp.CallToolRequest) (_ mcp.Result, err error) {
	v := visit{m: messageOf(ctx), req: req}
	v.claims, _ = scope.From(ctx)
	if v.wishes, err = o.wishesOf(req.Params.Meta); err != nil {
		return refused(err), nil
	}
	told, err := o.do(ctx, v)
	if _, protocol := errors.AsType[*jsonrpc.Error](err); protocol || errors.Is(err, errGone) {
		return nil, err
	}
	if err != nil {
		return refused(o.known(ctx, v.claims, err)), nil
	}
	return told, nil
}

// do finds the tool. Those who may not call any of its kind are told so whether it is there or not.
func (o *Offer) do(ctx context.Context, v visit) (*mcp.CallToolResult, error) {
	switch name := v.req.Params.Name; {
	case !isTool(name):
		return nil, noTool(name)
	case name == toolResult:
		return o.result(ctx, v)
	case name == toolCancel:
		return o.cancel(ctx, v)
	case strings.HasPrefix(name, askPrefix):
		return o.ask(ctx, v)
	case strings.HasPrefix(name, runPrefix):
		return o.run(ctx, v)
	default:
		return nil, noTool(name)
	}
}

// ask prompts an agent and waits for its reply.
func (o *Offer) ask(ctx context.Context, v visit) (*mcp.CallToolResult, error) {
	if err := o.May(ctx, v.claims, asks); err != nil {
		return nil, err
	}
	name, found, err := o.agentOf(ctx, v.claims.Scope, v.req.Params.Name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, noTool(v.req.Params.Name)
	}
	in, err := questions.read(ctx, v.req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	if in.Conversation == "" {
		in.Conversation = v.fresh(name)
	}
	if !isInstance(in.Conversation) {
		return nil, fault.Invalid("conversation is no name of one.").With("issues", []any{map[string]any{"path": []any{"conversation"}, "message": "is no name of a conversation"}})
	}
	t, err := o.begin(ctx, v, task{kind: svc.KindAgent, name: name, instance: in.Conversation}, func(t *task) error {
		p, err := o.Runtime.In(v.claims.Scope).Prompt(ctx, name, t.instance, svc.Prompt{
			Message: conversation.Message{Kind: conversation.KindUser, Body: in.Message}, Key: v.key(), By: v.claims.By().String(),
		})
		t.id, t.start = p.SubmissionID, p.Offset
		return err
	})
	if err != nil {
		return nil, err
	}
	return o.await(ctx, v, t, asks)
}

// run starts a workflow and waits for its result.
func (o *Offer) run(ctx context.Context, v visit) (*mcp.CallToolResult, error) {
	if err := o.May(ctx, v.claims, runs); err != nil {
		return nil, err
	}
	f := o.workflowOf(v.req.Params.Name)
	if f == nil {
		return nil, noTool(v.req.Params.Name)
	}
	input, err := givenTo(f, v.req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	if err := f.CheckInput(ctx, input); err != nil {
		return nil, err
	}
	t, err := o.begin(ctx, v, task{kind: svc.KindRun, name: f.Name}, func(t *task) error {
		begun, err := o.Runtime.In(v.claims.Scope).Invoke(ctx, f.Name, svc.Invocation{Input: input, Key: v.key(), StartedBy: v.claims.By().String()})
		t.id, t.start = begun.RunID, -1
		return err
	})
	if err != nil {
		return nil, err
	}
	return o.await(ctx, v, t, runs)
}

// givenTo is the input of a workflow among the arguments of its tool.
func givenTo(f *svc.Workflow, arguments json.RawMessage) (json.RawMessage, error) {
	if string(arguments) == "null" {
		arguments = nil
	}
	if _, wrapped := inputOf(f); wrapped {
		var fields struct {
			Input json.RawMessage `json:"input"`
		}
		if err := json.Unmarshal(arguments, &fields); err != nil || fields.Input == nil {
			return nil, fault.New(fault.InputValidation, "The input does not fit.", "Give it as the field input.")
		}
		return fields.Input, nil
	}
	var fields map[string]json.RawMessage
	if f.InputSchema() == nil && json.Unmarshal(arguments, &fields) == nil && len(fields) == 0 {
		return nil, nil // most clients send an empty object where nothing is asked for
	}
	return arguments, nil
}

// begin admits the work of a call, and writes down whose it is. One that was cancelled meanwhile is stopped.
func (o *Offer) begin(ctx context.Context, v visit, t task, admit func(*task) error) (task, error) {
	if err := o.Admit(ctx, v.claims); err != nil {
		return t, err
	}
	r, err := o.announce(ctx, v.claims, v.m, t)
	if err != nil {
		return t, err
	}
	if err := admit(&r.task); err != nil {
		return t, err
	}
	cancelled, err := o.admitted(ctx, v.claims, r)
	if err != nil {
		return t, err
	}
	if cancelled {
		_, err = o.stop(ctx, v.claims, r.task)
	}
	return r.task, err
}

// key makes calls with one idempotency key one. It is the holder's own: what two of them call the same stays two.
func (v visit) key() string {
	if v.wishes.key == "" {
		return ""
	}
	return "mcp " + holder(v.claims) + " " + v.wishes.key
}

var letters = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// fresh is the name of a new conversation with an agent. A call that comes again has the same.
func (v visit) fresh(agent string) string {
	if v.wishes.key == "" {
		return "mcp-" + strings.ToLower(ulid.Make().String())
	}
	sum := sha256.Sum256([]byte(agent + "\n" + v.key()))
	return "mcp-" + letters.EncodeToString(sum[:16])
}

// isInstance reports whether a text can be the id of an instance, by the rule of paths below {base_url}.
func isInstance(id string) bool {
	return len(id) <= 255 && utf8.ValidString(id) && strings.TrimSpace(id) != "" && id != "." && id != ".." &&
		!strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' })
}

// result waits for what an earlier call began.
func (o *Offer) result(ctx context.Context, v visit) (*mcp.CallToolResult, error) {
	t, need, err := o.meant(ctx, v, reads, looks)
	if err != nil {
		return nil, err
	}
	return o.await(ctx, v, t, need)
}

// cancel stops what an earlier call began.
func (o *Offer) cancel(ctx context.Context, v visit) (*mcp.CallToolResult, error) {
	t, _, err := o.meant(ctx, v, asks, runs)
	if err != nil {
		return nil, err
	}
	stopped, err := o.stop(ctx, v.claims, t)
	if err != nil {
		return nil, err
	}
	text := "There was nothing to stop: it is done."
	if stopped {
		text = "It is being stopped."
	}
	return structured(text, map[string]any{"id": t.id, "cancelled": stopped}, false)
}

// meant is the work that an id stands for, which takes one need of agents and another of runs. That of another workspace is not
// there, as is what this one never had.
func (o *Offer) meant(ctx context.Context, v visit, ofAgents, ofRuns access.Need) (t task, need access.Need, err error) {
	in, err := named.read(ctx, v.req.Params.Arguments)
	if err != nil {
		return t, need, err
	}
	isRun := strings.HasPrefix(in.ID, "run_")
	if need = ofAgents; isRun {
		need = ofRuns
	}
	if err := o.May(ctx, v.claims, need); err != nil {
		return t, need, err
	}
	if !isLabel(in.ID) {
		return t, need, nothing()
	}
	t, found, err := o.found(ctx, v.claims.Scope, in.ID)
	switch {
	case err != nil:
		return t, need, err
	case found && t.kind == svc.KindAgent:
		return t, need, o.readable(ctx, v.claims, t)
	case found:
		return t, need, nil
	case !isRun:
		return t, need, nothing()
	}
	t, err = o.shownRun(ctx, v.claims, in.ID)
	return t, need, err
}

func nothing() error {
	return fault.New(fault.ItemNotFound, "There is no such submission or run.", "Use the submissionId or runId of an answer.")
}

// readable refuses the work of an agent that is not offered any more. One that was only switched off can be read.
func (o *Offer) readable(ctx context.Context, c scope.Claims, t task) error {
	a, err := o.Runtime.In(c.Scope).Agent(ctx, t.name)
	if err == nil && (a == nil || a.Route == nil) {
		err = nothing()
	}
	return err
}

// shownRun is a run that was not begun here, of a workflow whose runs are shown to everybody.
func (o *Offer) shownRun(ctx context.Context, c scope.Claims, id string) (task, error) {
	at, _, err := o.Runtime.In(c.Scope).FindRun(ctx, id)
	if fault.Is(err, fault.RunNotFound) {
		return task{}, nothing()
	}
	if err != nil {
		return task{}, err
	}
	if f := o.Runtime.Workflow(at.Name); f == nil || f.Route == nil || f.Runs == nil {
		return task{}, nothing()
	}
	return task{kind: svc.KindRun, name: at.Name, id: id, start: -1}, nil
}

// stop asks that work be stopped, and reports whether there was any.
func (o *Offer) stop(ctx context.Context, c scope.Claims, t task) (bool, error) {
	in := o.Runtime.In(c.Scope)
	if t.kind == svc.KindRun {
		return in.CancelRun(ctx, t.id)
	}
	stopped, err := in.Abort(ctx, t.name, t.instance, t.id)
	if errors.Is(err, svc.ErrNoStream) {
		return false, nothing()
	}
	return stopped, err
}

// cancelled stops the work of a request that its client cancels. What is not known, or done, is none of the client's concern.
func (o *Offer) cancelled(ctx context.Context, c scope.Claims, m *received) error {
	var params struct {
		Request json.RawMessage `json:"requestId"`
	}
	if err := json.Unmarshal(m.params, &params); err != nil || len(params.Request) == 0 || !isLabel(string(params.Request)) {
		return fault.Invalid("A notification that cancels says requestId.")
	}
	t, known, err := o.mark(ctx, c, m, string(params.Request))
	if err != nil || !known {
		return err
	}
	need := asks
	if t.kind == svc.KindRun {
		need = runs
	}
	if err := o.May(ctx, c, need); err != nil {
		return err
	}
	if _, err := o.stop(ctx, c, t); err != nil && !fault.Is(err, fault.ItemNotFound) {
		return err
	}
	return nil
}

// known is the fault of an error: one that nobody foresaw is logged.
func (o *Offer) known(ctx context.Context, c scope.Claims, err error) error {
	if sqldb.Unavailable(err) || errors.Is(err, svc.ErrUnavailable) || errors.Is(err, svc.ErrBusy) {
		if _, told := errors.AsType[*fault.Error](err); !told {
			return fault.NotAvailable("busy").Because(err)
		}
		return err
	}
	f := fault.From(err)
	if _, told := errors.AsType[*fault.Error](err); !told {
		o.Log.ErrorContext(ctx, "call failed", "request_id", c.RequestID, "scope", c.Scope, "account", c.Account, "actor", c.Actor, "error", err)
		f = fault.Unexpected(err)
	}
	return f
}

// failed is an error of the protocol for what could not be listed.
func (o *Offer) failed(ctx context.Context, c scope.Claims, err error) error {
	f := fault.From(o.known(ctx, c, err))
	code := int64(jsonrpc.CodeInternalError)
	if status, known := fault.Status(f.Type); known && status < 500 {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: strings.TrimSpace(f.Message + " " + f.Details)}
}

// refused is a refusal as a model sees it: what is wrong, and where.
func refused(err error) *mcp.CallToolResult {
	f := fault.From(err)
	text := strings.TrimSpace(f.Message + " " + f.Details)
	if issues, there := f.Meta["issues"]; there {
		list, _ := json.Marshal(issues)
		text += "\n" + string(list)
	}
	told := map[string]any{"type": f.Type, "message": f.Message}
	if f.Details != "" {
		told["details"] = f.Details
	}
	if len(f.Meta) > 0 {
		told["meta"] = f.Meta
	}
	result, err := structured(text, map[string]any{"error": told}, true)
	if err != nil { // a fact that has no JSON
		result, _ = structured(text, map[string]any{"error": map[string]any{"type": f.Type, "message": f.Message}}, true)
	}
	return result
}

// structured is a result for models, as text, and for programs.
func structured(text string, v any, failed bool) (*mcp.CallToolResult, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write result: %w", err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: json.RawMessage(data), IsError: failed}, nil
}

// quoted is a name that somebody sent, at most so much of it that it can be told.
func quoted(name string) string {
	const most = 100
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return strconv.Quote(name)
}
