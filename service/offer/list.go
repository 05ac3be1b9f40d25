package offer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// The needs of what can be done here: those of the same thing below {base_url}.
var (
	asks  = access.May(workspace.Work).Key("agents:write")
	reads = access.May(workspace.Read).Key("agents:read")
	runs  = access.May(workspace.Work).Key("workflows:run")
	looks = access.May(workspace.Read).Key("runs:read")
)

// The names of tools.
const (
	askPrefix  = "ask_"
	runPrefix  = "run_"
	toolResult = "get_result"
	toolCancel = "cancel"

	// longestTool is as long as a tool's name may be for the models that call it.
	longestTool = 64
)

func isLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// isTool reports whether a name can be that of a tool.
func isTool(name string) bool {
	return len(name) <= longestTool && !strings.ContainsFunc(name, func(r rune) bool { return !isLetter(r) })
}

// toolName is the name of the tool of an agent or workflow. What is too long, or has characters that no tool's name has, is cut and
// told apart by a hash.
func toolName(prefix, name string) string {
	plain := strings.Map(func(r rune) rune {
		if isLetter(r) {
			return r
		}
		return '_'
	}, name)
	if plain == name && len(prefix)+len(name) <= longestTool {
		return prefix + name
	}
	sum := sha256.Sum256([]byte(name))
	const digits = 8
	return prefix + plain[:min(len(plain), longestTool-len(prefix)-digits-1)] + "-" + hex.EncodeToString(sum[:digits/2])
}

// list is the tools of a workspace that those who ask may call now: in the first page all but the agents, of which there can be
// many.
func (o *Offer) list(ctx context.Context, r *mcp.ListToolsRequest) (mcp.Result, error) {
	c, _ := scope.From(ctx)
	q := listing.Query{Limit: listing.MaxLimit}
	if r.Params != nil {
		q.Cursor = r.Params.Cursor
	}
	told := &mcp.ListToolsResult{Tools: []*mcp.Tool{}}
	may, err := o.rights(ctx, c)
	if err != nil {
		return nil, o.failed(ctx, c, err)
	}
	if q.Cursor == "" {
		told.Tools = o.fixed(may)
	}
	if !may.ask {
		return told, nil
	}
	found, err := o.Agents.List(ctx, c.Scope, o.Runtime.ListAgents(), q)
	if err != nil {
		return nil, o.failed(ctx, c, err)
	}
	for _, a := range found.Items {
		if offered(a) {
			told.Tools = append(told.Tools, agentTool(a))
		}
	}
	told.NextCursor = found.Next
	return told, nil
}

// offered reports whether an agent is a tool.
func offered(a agent.Listed) bool { return a.Exposed && a.Enabled && a.Shadowed == "" }

// rights are what those who ask may do now.
type rights struct{ ask, read, run, look bool }

func (o *Offer) rights(ctx context.Context, c scope.Claims) (may rights, err error) {
	for _, one := range []struct {
		need access.Need
		has  *bool
	}{{asks, &may.ask}, {reads, &may.read}, {runs, &may.run}, {looks, &may.look}} {
		err := o.May(ctx, c, one.need)
		if _, refused := errors.AsType[*fault.Error](err); err != nil && !refused {
			return may, err
		}
		*one.has = err == nil
	}
	return may, nil
}

// fixed are the tools that are no agents.
func (o *Offer) fixed(may rights) []*mcp.Tool {
	all := []*mcp.Tool{}
	if may.read || may.look {
		all = append(all, resultTool())
	}
	if may.ask || may.run {
		all = append(all, cancelTool())
	}
	if !may.run {
		return all
	}
	for _, f := range o.Runtime.Workflows() {
		if f.Route != nil {
			all = append(all, workflowTool(f))
		}
	}
	return all
}

func agentTool(a agent.Listed) *mcp.Tool {
	about := a.Description
	if about == "" {
		about = "The agent " + a.Name + " of the workspace."
	}
	return &mcp.Tool{
		Name: toolName(askPrefix, a.Name), Title: a.Name, InputSchema: questions.schema(), OutputSchema: answerSchema,
		Description: about + "\nAnswers with the agent's reply. To go on with a conversation, say which: every answer names its own.",
	}
}

func workflowTool(f *svc.Workflow) *mcp.Tool {
	about := f.Description
	if about == "" {
		about = "The workflow " + f.Name + " of the workspace."
	}
	input, _ := inputOf(f)
	return &mcp.Tool{
		Name: toolName(runPrefix, f.Name), Title: f.Name, InputSchema: input, OutputSchema: runSchema,
		Description: about + "\nStarts a run and answers with its result.",
	}
}

func resultTool() *mcp.Tool {
	return &mcp.Tool{
		Name: toolResult, Title: "Get a result", InputSchema: named.schema(), OutputSchema: anySchema,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true},
		Description: "Get what came of an earlier call, by the submissionId or runId of its answer. Waits for what is not done yet, and can be called again.",
	}
}

func cancelTool() *mcp.Tool {
	return &mcp.Tool{
		Name: toolCancel, Title: "Cancel", InputSchema: named.schema(), OutputSchema: cancelSchema, Annotations: &mcp.ToolAnnotations{IdempotentHint: true},
		Description: "Stop the work of an earlier call, by the submissionId or runId of its answer. What is done already stays done.",
	}
}

var (
	// noInput is the schema of a tool that takes nothing.
	noInput = json.RawMessage(`{"type":"object","additionalProperties":false}`)

	answerSchema = json.RawMessage(`{"type":"object","required":["submissionId","agent","conversation","state"],"properties":{
"submissionId":{"type":"string","description":"By this id get_result fetches the answer again."},
"agent":{"type":"string"},
"conversation":{"type":"string","description":"Give it to the agent again to go on with the conversation."},
"state":{"type":"string","enum":["running","completed","failed","aborted"]},
"text":{"type":"string","description":"What the agent has answered, so far."},
"result":{"description":"The answer of an agent that answers in a form of its own."},
"error":{"type":"object"}}}`)
	runSchema = json.RawMessage(`{"type":"object","required":["runId","workflow","status"],"properties":{
"runId":{"type":"string","description":"By this id get_result fetches the result again."},
"workflow":{"type":"string"},
"status":{"type":"string","enum":["active","completed","errored"]},
"result":{},
"error":{"type":"object"}}}`)
	anySchema    = json.RawMessage(`{"type":"object"}`)
	cancelSchema = json.RawMessage(`{"type":"object","required":["id","cancelled"],"properties":{"id":{"type":"string"},
"cancelled":{"type":"boolean","description":"Whether there was something to stop."}}}`)
)

// inputOf is the schema of a workflow's tool. MCP knows objects alone: any other input is a field of one, wrapped.
func inputOf(f *svc.Workflow) (schema json.RawMessage, wrapped bool) {
	input := f.InputSchema()
	if input == nil {
		return noInput, false
	}
	var top struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(input, &top) == nil && top.Type == "object" {
		return input, false
	}
	schema, _ = json.Marshal(map[string]any{"type": "object", "required": []string{"input"}, "properties": map[string]any{"input": input}})
	return schema, true
}

// workflowOf is the workflow of a tool, nil if there is none.
func (o *Offer) workflowOf(tool string) *svc.Workflow {
	for _, f := range o.Runtime.Workflows() {
		if f.Route != nil && toolName(runPrefix, f.Name) == tool {
			return f
		}
	}
	return nil
}

// agentOf is the name of the agent of a tool, if that is offered now.
func (o *Offer) agentOf(ctx context.Context, scope, tool string) (name string, found bool, err error) {
	name = strings.TrimPrefix(tool, askPrefix)
	a, err := o.Agents.Get(ctx, scope, name, o.Runtime.ListAgents())
	switch {
	case err == nil && toolName(askPrefix, name) == tool:
		return name, offered(a.Listed), nil
	case err != nil && !fault.Is(err, fault.AgentNotFound) && !fault.Is(err, fault.ItemNotFound):
		return "", false, err
	case len(tool) != longestTool:
		return "", false, nil
	}
	return o.agentOfCut(ctx, scope, tool)
}

// agentOfCut looks for the agent whose name was too long for a tool, among those that begin like it.
func (o *Offer) agentOfCut(ctx context.Context, scope, tool string) (string, bool, error) {
	const hashed = 9
	q := listing.Query{Limit: listing.MaxLimit, Q: tool[len(askPrefix) : longestTool-hashed]}
	for {
		found, err := o.Agents.List(ctx, scope, o.Runtime.ListAgents(), q)
		if err != nil {
			return "", false, err
		}
		for _, a := range found.Items {
			if toolName(askPrefix, a.Name) == tool {
				return a.Name, offered(a), nil
			}
		}
		if q.Cursor = found.Next; q.Cursor == "" {
			return "", false, nil
		}
	}
}

// noTool is the answer for a tool that there is not, or not for everybody.
func noTool(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown tool " + quoted(name)}
}
