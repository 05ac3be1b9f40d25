package operation

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/toolbox"
	"svc.dev/svc/service/workspace"
)

var (
	readsAgents = access.May(workspace.Read).Key("agents:read")
	makesAgents = access.May(workspace.Work)
)

const (
	agentPath         = W + "/agents/{name}"
	versionsPath      = agentPath + "/versions"
	versionPath       = versionsPath + "/{version}"
	conversationsPath = agentPath + "/conversations"
	conversationPath  = conversationsPath + "/{instance...}"
)

// maxAgentBody holds the longest definition in JSON, every character of it escaped.
const maxAgentBody = 6 * (agent.MaxInstructions + 128<<10)

// agents are those of a workspace, and what was said to them. The runtime knows all of them, of code and of files too; the database's
// are changed here.
var agents = everywhere("workspace",
	relays[page, agentItem]("listAgents", W+"/agents", readsAgents, engine.AgentsPath).says("List the agents of a workspace, those that it did not make first. One whose name stands for another says why."),
	create(W+"/agents", makesAgents, createAgent).most(maxAgentBody).says("Make an agent.", fault.NameTaken, fault.StorageQuotaExceeded).consults(),
	asks[agent.Agent]("GET", agentPath, shows, readsAgents, getAgent).says("Read an agent.", fault.ItemNotFound),
	change(agentPath, makesAgents, patchAgent).most(maxAgentBody).says("Change an agent. Every change makes a version; work that has begun goes on by the one that it began with.", fault.ItemNotFound, agent.ReadOnly, fault.StorageQuotaExceeded).consults(),
	drop(agentPath, makesAgents, deleteAgent).says("Delete an agent. Its conversations can be read, and what was admitted is worked on.", fault.ItemNotFound, agent.ReadOnly).consults(),
	verb(agentPath+"/enable", makesAgents, enableAgent).says("Let an agent be prompted again.", fault.ItemNotFound, agent.ReadOnly).consults(),
	verb(agentPath+"/disable", makesAgents, disableAgent).says("Let an agent be prompted no more. What was admitted is worked on.", fault.ItemNotFound, agent.ReadOnly).consults(),
	list(versionsPath, readsAgents, listAgentVersions).told().says("List the versions of an agent, the newest first.", fault.ItemNotFound).consults(),
	get(versionPath, readsAgents, getAgentVersion).told().says("Read a version of an agent.", fault.ItemNotFound).consults(),
	get(versionPath+"/diff", readsAgents, compareAgentVersions).told().says("Say what differs between a version and a later one, or the present one.", fault.ItemNotFound).consults(),
	verb(versionPath+"/restore", makesAgents, restoreAgentVersion).says("Make a version of what an earlier one was. The first of one that is built in is what it came as.", fault.ItemNotFound, agent.ReadOnly, fault.InvalidRequest, fault.StorageQuotaExceeded).consults(),
	get(agentPath+"/export", readsAgents, exportAgent).told().says("Get an agent as a file: settings, and its instructions.", fault.ItemNotFound).consults(),
	verb(W+"/agents/import", makesAgents, importAgent).apart().says("Save what a file says: a new agent, or a new version of one that is there.", agent.ReadOnly, fault.StorageQuotaExceeded).consults(),
	asks[listing.Page[engine.Conversation]]("GET", conversationsPath, lists, readsAgents, listConversations).says("List the conversations of an agent, the last used first."),
	asks[engine.ConversationErased]("DELETE", conversationPath, begins, access.May(workspace.Manage), eraseConversation).tells().
		says("Erase a conversation. Its history, queue and attachments are destroyed at once, and the next message begins a new one.", fault.ItemNotFound),
)

// consults is an operation that asks the runtime before it does something itself.
func (r Row) consults() Row {
	r.Faults = append(slices.Clip(r.Faults), fault.BadGateway, fault.RuntimeTimeout)
	return r
}

// agentItem is an agent in a list, without its texts.
type agentItem struct{ agent.Listed }

func getAgent(_ context.Context, _ Call, in named) (Question, error) {
	return Question{Path: engine.AgentPath, Query: url.Values{"name": {in.Name}}, Alone: true}, nil
}

// agent is what a name stands for, which only the runtime knows: it has the files, and what was declared in code.
func (c Call) agent(ctx context.Context, name string) (found agent.Agent, err error) {
	return found, c.Ask(ctx, Question{Path: engine.AgentPath, Query: url.Values{"name": {name}}}, &found)
}

// uses are which agents name what, which the runtime knows alike.
func (c Call) uses(ctx context.Context) (found agent.Uses, err error) {
	return found, c.Ask(ctx, Question{Path: engine.UsesPath}, &found)
}

// writable refuses to change an agent that wins over those of the database. One that is not there is none.
func (c Call) writable(ctx context.Context, name string) error {
	found, err := c.agent(ctx, name)
	switch {
	case fault.Is(err, fault.ItemNotFound):
		return nil
	case err != nil:
		return err
	}
	return agent.CheckWritable(found.Source)
}

// checkAsks refuses tools by which agents would ask each other for ever, by way of those that only the runtime has among them; nil
// stay what they are.
func (c Call) checkAsks(ctx context.Context, name string, tools *[]string) error {
	names := func(entry string) bool {
		_, of := agent.Tool(entry)
		return of != ""
	}
	if tools == nil || !slices.ContainsFunc(*tools, names) {
		return nil
	}
	given, err := c.given(ctx)
	if err != nil {
		return err
	}
	return c.Agents.CheckAsks(ctx, c.Scope, name, *tools, given)
}

// given are the agents that a workspace did not make, which stand first in its list.
func (c Call) given(ctx context.Context) (all []agent.Listed, err error) {
	for query := (url.Values{"limit": {strconv.Itoa(listing.MaxLimit)}}); ; {
		var found struct {
			Items []agent.Listed `json:"items"`
			Next  string         `json:"nextCursor"`
		}
		if err := c.Ask(ctx, Question{Path: engine.AgentsPath, Query: query}, &found); err != nil {
			return nil, err
		}
		for _, one := range found.Items {
			if one.Source == agent.Database {
				return all, nil
			}
			all = append(all, one)
		}
		if found.Next == "" {
			return all, nil
		}
		query.Set("cursor", found.Next)
	}
}

// write changes an agent of the database to one with these tools; nil are those that it has. Which others ask it is known before.
func (c Call) write(ctx context.Context, name string, tools *[]string, do func() (agent.Agent, error)) (written agent.Agent, err error) {
	if err := c.writable(ctx, name); err != nil {
		return written, err
	}
	if err := c.checkAsks(ctx, name, tools); err != nil {
		return written, err
	}
	uses, err := c.uses(ctx)
	if err != nil {
		return written, err
	}
	written, err = do()
	written.UsedBy = uses.Of(name)
	return written, err
}

// agentDraft is what a new agent is made of.
type agentDraft struct{ agent.Draft }

type newAgent struct{ Body agentDraft }

func createAgent(ctx context.Context, c Call, in newAgent) (agent.Agent, error) {
	made, err := c.write(ctx, in.Body.Name, in.Body.Tools, func() (agent.Agent, error) { return c.Agents.Create(ctx, c.Actor(), c.Scope, in.Body.Draft) })
	if fault.Is(err, agent.ReadOnly) {
		err = agent.NameTaken()
	}
	return made, err
}

// agentEdit is what changes of an agent.
type agentEdit struct{ agent.Edit }

type agentChange struct {
	Name  string `path:"name"`
	Match Match
	Body  agentEdit
}

func patchAgent(ctx context.Context, c Call, in agentChange) (agent.Agent, error) {
	return c.write(ctx, in.Name, in.Body.Tools, func() (agent.Agent, error) {
		return c.Agents.Patch(ctx, c.Actor(), c.Scope, in.Name, int64(in.Match), in.Body.Edit)
	})
}

type agentMatch struct {
	Name  string `path:"name"`
	Match Match
}

func deleteAgent(ctx context.Context, c Call, in agentMatch) error {
	refused := c.writable(ctx, in.Name)
	if refused != nil && !fault.Is(refused, agent.ReadOnly) {
		return refused
	}
	// One that lost its name to another is the workspace's own all the same.
	err := c.Agents.Delete(ctx, c.Actor(), c.Scope, in.Name, int64(in.Match))
	if refused != nil && fault.Is(err, fault.ItemNotFound) {
		return refused
	}
	return err
}

func enableAgent(ctx context.Context, c Call, in agentMatch) (agent.Agent, error) {
	return c.switchAgent(ctx, in, true)
}

func disableAgent(ctx context.Context, c Call, in agentMatch) (agent.Agent, error) {
	return c.switchAgent(ctx, in, false)
}

func (c Call) switchAgent(ctx context.Context, in agentMatch, on bool) (agent.Agent, error) {
	return c.write(ctx, in.Name, nil, func() (agent.Agent, error) {
		return c.Agents.Switch(ctx, c.Actor(), c.Scope, in.Name, int64(in.Match), on)
	})
}

type versionPage struct {
	Name    string `path:"name"`
	Stretch stretch
}

// agentVersion is when a version was made, and by whom.
type agentVersion struct{ agent.Made }

func listAgentVersions(ctx context.Context, c Call, in versionPage) (shown listing.Page[agentVersion], err error) {
	found, err := c.agent(ctx, in.Name)
	if err != nil {
		return shown, err
	}
	all, err := c.Agents.Versions(ctx, c.Scope, in.Name, found.Source, listing.Query(in.Stretch))
	return listing.Map(all, func(m agent.Made) agentVersion { return agentVersion{m} }), err
}

type versionOf struct {
	Name    string `path:"name"`
	Version string `path:"version"`
}

// agentPast is a version of an agent with all that it says.
type agentPast struct{ agent.Past }

func getAgentVersion(ctx context.Context, c Call, in versionOf) (agentPast, error) {
	found, err := c.agent(ctx, in.Name)
	if err != nil {
		return agentPast{}, err
	}
	past, err := c.past(ctx, found, in.Version)
	return agentPast{past}, err
}

// past is the version of an agent that a text names.
func (c Call) past(ctx context.Context, of agent.Agent, text string) (agent.Past, error) {
	return c.Agents.PastOf(ctx, c.Scope, of, number(text))
}

// number is that of a version; -1: it is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return -1
	}
	return n
}

type comparison struct {
	Name    string `path:"name"`
	Version string `path:"version"`
	With    string `query:"with"` // empty: the present one
}

// agentDiff is what differs between two versions.
type agentDiff struct {
	Fields []agentField `json:"fields"`
}

// agentField is a field before and after.
type agentField struct{ agent.Change }

func compareAgentVersions(ctx context.Context, c Call, in comparison) (diff agentDiff, err error) {
	found, err := c.agent(ctx, in.Name)
	if err != nil {
		return diff, err
	}
	with := in.With
	if with == "" {
		with = strconv.FormatInt(found.Listed.Version, 10)
	}
	before, err := c.past(ctx, found, in.Version)
	if err != nil {
		return diff, err
	}
	after, err := c.past(ctx, found, with)
	if err != nil {
		return diff, err
	}
	diff.Fields = []agentField{}
	for _, change := range agent.Diff(before.Definition, after.Definition) {
		diff.Fields = append(diff.Fields, agentField{change})
	}
	return diff, nil
}

type restoration struct {
	Name    string `path:"name"`
	Version string `path:"version"`
	Match   Match
}

func restoreAgentVersion(ctx context.Context, c Call, in restoration) (agent.Agent, error) {
	past, err := c.Agents.Past(ctx, c.Scope, in.Name, number(in.Version))
	if err != nil {
		return agent.Agent{}, cmp.Or(c.writable(ctx, in.Name), err)
	}
	return c.write(ctx, in.Name, &past.Tools, func() (agent.Agent, error) {
		return c.Agents.Restore(ctx, c.Actor(), c.Scope, in.Name, number(in.Version), int64(in.Match))
	})
}

// Markdown is an agent on its way to a client, as a file.
type Markdown struct {
	Name string
	Text []byte
}

func exportAgent(ctx context.Context, c Call, in named) (Markdown, error) {
	found, err := c.agent(ctx, in.Name)
	if err != nil {
		return Markdown{}, err
	}
	text, err := agent.Print(found.Definition())
	return Markdown{found.Name + ".md", text}, err
}

// agentFile is the file of an agent.
type agentFile struct{ project.Upload }

func importAgent(ctx context.Context, c Call, in agentFile) (imported agent.Agent, err error) {
	release, err := c.Transfer()
	if err != nil {
		return imported, err
	}
	defer release()
	if err := checkMatched(in.Match); err != nil {
		return imported, err
	}
	text, err := io.ReadAll(io.LimitReader(in.Body, agent.MaxFile+1))
	if err != nil {
		return imported, fault.Invalid("The body broke off.").Because(err)
	}
	d, err := agent.Parse("", text)
	if err != nil {
		return imported, err
	}
	return c.write(ctx, d.Name, &d.Tools, func() (agent.Agent, error) {
		return c.Agents.Import(ctx, c.Actor(), c.Scope, func(version int64) bool { return in.Holds(tag(version)) }, d)
	})
}

// checkMatched refuses an If-Match that names no version.
func checkMatched(header string) error {
	n := number(strings.Trim(header, `"`))
	if header == "" || header == "*" || n > 0 && header == strconv.Quote(tag(n)) {
		return nil
	}
	return fault.New(fault.InvalidHeader, "If-Match names no version.", "")
}

// tag is the etag of a version, without quotes; 0 has none.
func tag(version int64) string {
	if version == 0 {
		return ""
	}
	return strconv.FormatInt(version, 10)
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

// tools are what the agents of a workspace may be given.
var tools = everywhere("workspace",
	list(W+"/tools", readsAgents, listTools).says("List the tools that agents may be given, with the JSON Schema of what each is asked."),
)

// tool is something that a model may call.
type tool struct{ toolbox.Entry }

// offered is a tool, and its place in the list: that among those of everybody, or behind them by its names.
type offered struct {
	tool
	at           int
	server, name string
}

// toolOfMCP is the source of the tools of MCP servers.
const toolOfMCP = "mcp"

// listTools has those of everybody first, then those of the workspace's MCP servers that are switched on.
func listTools(ctx context.Context, c Call, in page) (shown listing.Page[tool], err error) {
	var after offered
	if err := cmp.Or(in.After(&after.at, &after.server, &after.name), in.Check()); err != nil {
		return shown, err
	}
	var all []offered
	for i, e := range toolbox.Catalogue() {
		if i >= after.at && strings.Contains(e.Name, strings.ToLower(in.Q)) {
			all = append(all, offered{tool: tool{e}, at: i + 1})
		}
	}
	if room := in.Size() + 1 - len(all); room > 0 {
		of, err := c.MCPs.Offers(ctx, c.Scope, in.Q, after.server, after.name, room)
		if err != nil {
			return shown, err
		}
		for _, o := range of {
			all = append(all, offered{tool{toolbox.Entry{Name: o.Called(), Description: o.Description, Source: toolOfMCP, InputSchema: o.InputSchema}}, len(toolbox.Catalogue()), o.Server, o.Tool})
		}
	}
	found := listing.Cut(all, in.Size(), func(o offered) []any { return []any{o.at, o.server, o.name} })
	return listing.Map(found, func(o offered) tool { return o.tool }), nil
}
