package operation

import (
	"context"
	"maps"
	"net/url"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/workspace"
)

var readsAgents = access.May(workspace.Read).Key("agents:read")

const (
	conversationsPath = W + "/agents/{name}/conversations"
	conversationPath  = conversationsPath + "/{instance...}"
)

// agents are those of a workspace, and what was said to them.
var agents = everywhere("workspace",
	relays[page, engine.Agent]("listAgents", W+"/agents", readsAgents, engine.AgentsPath).says("List the agents of a workspace."),
	asks[engine.Agent]("GET", W+"/agents/{name}", shows, readsAgents, getAgent).says("Read an agent.", fault.ItemNotFound),
	asks[listing.Page[engine.Conversation]]("GET", conversationsPath, lists, readsAgents, listConversations).says("List the conversations of an agent, the last used first."),
	asks[engine.ConversationErased]("DELETE", conversationPath, begins, access.May(workspace.Manage), eraseConversation).tells().
		says("Erase a conversation. Its history, queue and attachments are destroyed at once, and the next message begins a new one.", fault.ItemNotFound),
)

func getAgent(_ context.Context, _ Call, in named) (Question, error) {
	return Question{Path: engine.AgentPath, Query: url.Values{"name": {in.Name}}, Alone: true}, nil
}

type agentPage struct {
	listing.Query
	Name string `path:"name"`
}

func listConversations(_ context.Context, _ Call, in agentPage) (Question, error) {
	return Question{Path: engine.ConversationsPath, Query: url.Values{"agent": {in.Name}}}, nil
}

type conversationID struct {
	Agent    string `path:"name"`
	Instance string `path:"instance"`
}

func eraseConversation(ctx context.Context, c Call, in conversationID) (Question, error) {
	return c.erase(ctx, Question{Path: engine.ConversationPath, Query: url.Values{"agent": {in.Agent}, "id": {in.Instance}}}, audit.Event{
		Action: "conversation.erased", Target: audit.Target{Kind: "conversation", ID: in.Agent + "/" + in.Instance},
	})
}

// erase destroys something of a workspace in the runtime. What is there to be erased is told before it is: what cannot be told is
// not done.
func (c Call) erase(ctx context.Context, q Question, e audit.Event) (Question, error) {
	q.Alone = true
	there := Question{Path: q.Path, Query: url.Values{"there": {""}}}
	maps.Copy(there.Query, q.Query)
	if err := c.Ask(ctx, there, nil); err != nil {
		return q, err
	}
	e.Actor, e.Scope, e.Service = c.Actor(), c.Scope, c.isStaff()
	return q, c.Accounts.Staff.Note(ctx, e)
}
