// Package toolbox is the tools that every agent may be given: the files of projects, pages of the web, other agents, workflows.
// Each call does what the one who prompted may do at that moment, takes a bounded time, and answers with as much text as a model
// can use. What goes wrong is a result that the model sees.
package toolbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/outward"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/workspace"
)

// Projects are the verbs of the room of projects that tools use.
type Projects interface {
	List(ctx context.Context, o project.Owner, q listing.Query) (listing.Page[project.Project], error)
	Files(ctx context.Context, o project.Owner, slug string, q project.FileQuery) (listing.Page[project.File], error)
	Open(ctx context.Context, o project.Owner, slug, path string) (*project.Content, error)
	Write(ctx context.Context, by audit.Actor, o project.Owner, slug, path string, u project.Upload) (project.File, bool, error)
}

// Config is what tools need. Runtime, Fetch and May are required.
type Config struct {
	// Projects are whose files are used. Defaults to none: tools say so.
	Projects Projects
	// Runtime is the one whose agents are given tools. It may come to be after the box.
	Runtime func() *svc.Runtime
	// Fetch is the way to the web. It must follow no redirects: they are judged here too.
	Fetch *outward.Guard
	// May judges anew, at each call, the one whose prompt it works for, in the workspace of the call and in a project where one is
	// named.
	May func(ctx context.Context, call svc.Call, need access.Need, project string) (access.Acting, error)
	// Partners are the agents of a workspace that may be asked, as ask_agent names them. Defaults to naming those of the Grant.
	Partners func(ctx context.Context, scope string) ([]Partner, error)
	// Admit refuses new work in a workspace that is full. Defaults to no such question.
	Admit func(ctx context.Context, scope string) error
	// MaxInput is the longest input of a workflow, in bytes. Defaults to 8 MiB.
	MaxInput int64
	// Log hears of failures that nobody foresaw. Defaults to slog.Default().
	Log *slog.Logger
}

// Partner is an agent that may be asked.
type Partner struct {
	Name         string
	Description  string
	OutputSchema json.RawMessage // nil: its answers are text
}

// Box makes the tools of agents.
type Box struct {
	config Config
	turns  *memory.Turns // of searches, by holder
}

// New is a box of tools.
func New(c Config) (*Box, error) {
	if c.Runtime == nil || c.Fetch == nil || c.May == nil {
		return nil, errors.New("a toolbox needs a runtime, a way to the web and somebody who judges")
	}
	if c.Admit == nil {
		c.Admit = func(context.Context, string) error { return nil }
	}
	c.MaxInput = cmp.Or(max(c.MaxInput, 0), 8<<20)
	c.Log = cmp.Or(c.Log, slog.Default())
	return &Box{c, memory.NewTurns(1, memory.Half())}, nil
}

// All stands in a Grant for every project, or every agent, of the workspace.
const All = "*"

// Grant is what one agent is given.
type Grant struct {
	Agent string // its name
	// Tools are names of the catalogue. Those with "__" in them are of other rooms, and are left out here, as those are that nobody
	// knows.
	Tools []string
	// Hosts are those that http_fetch may go to: example.com, *.example.com for all below it, example.com:8443 for another port than
	// the usual.
	Hosts []string
	// Projects are the slugs of those whose files may be used, or All.
	Projects []string
	// Agents are the names of those who may be asked. Defaults to all.
	Agents []string
}

func granted(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, All)
}

// Entry is a tool as it is listed.
type Entry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Source      string          `json:"source"` // built-in, or the room that it comes from
	InputSchema json.RawMessage `json:"inputSchema" type:"object"`
}

// BuiltIn is the source of the tools of this room.
const BuiltIn = "built-in"

// Catalogue lists the tools that there are.
func Catalogue() []Entry {
	var all []Entry
	for _, maker := range makers {
		t := maker(hand{Box: &Box{}})
		all = append(all, Entry{t.Name, t.Description, BuiltIn, t.InputSchema()})
	}
	return all
}

// makers make each tool for one agent.
var makers = []func(hand) svc.Tool{
	hand.listFiles, hand.readFile, hand.writeFile, hand.editFile, hand.searchFiles, hand.httpFetch, hand.askAgent, hand.runWorkflow,
}

// Tools are those that an agent of a scope is given.
func (b *Box) Tools(ctx context.Context, scope string, g Grant) (tools []svc.Tool, err error) {
	made := map[string]svc.Tool{}
	h := hand{Box: b, scope: scope, grant: g}
	if b.config.Partners != nil && slices.Contains(g.Tools, askAgent) {
		if h.partners, err = b.config.Partners(ctx, scope); err != nil {
			return nil, err
		}
	}
	for _, maker := range makers {
		t := maker(h)
		made[t.Name] = t
	}
	for _, name := range g.Tools {
		t, known := made[name]
		switch {
		case known:
			tools = append(tools, t)
		case !strings.Contains(name, "__"):
			// Another version of the service may have it: the agent does what it can without.
			b.config.Log.WarnContext(ctx, "an agent has a tool that is not known here", "scope", scope, "agent", g.Agent, "tool", name)
		}
	}
	return tools, nil
}

// Lend is a tool of another room, called by the rights of whoever prompted.
func (b *Box) Lend(scope string, t svc.Tool) svc.Tool {
	h := hand{Box: b, scope: scope}
	lent := svc.RawTool(t.Name, t.Description, t.InputSchema(), func(ctx context.Context, input json.RawMessage) (svc.ToolResult, error) {
		if _, _, err := h.acting(ctx, prompts, ""); err != nil {
			return svc.ToolResult{}, h.told(ctx, t.Name, err)
		}
		result, err := t.Call(ctx, input)
		return result, h.told(ctx, t.Name, err)
	})
	lent.Timeout, lent.Repeats = t.Timeout, t.Repeats
	return lent
}

// hand is what one agent of a scope may reach.
type hand struct {
	*Box
	scope string
	grant Grant

	partners []Partner
}

// The needs of tools: what their caller could do by themselves.
var (
	readsProjects  = access.May(workspace.Read).InProject().Key("projects:read")
	writesProjects = access.May(workspace.Work).InProject().Key("projects:write")
	prompts        = access.May(workspace.Work).Key("agents:write")
	runs           = access.May(workspace.Work).Key("workflows:run")
	readsRuns      = access.May(workspace.Read).Key("runs:read")
)

// acting judges the one whose prompt a call works for.
func (h hand) acting(ctx context.Context, need access.Need, project string) (svc.Call, access.Acting, error) {
	call, ok := svc.CallOf(ctx)
	if !ok || call.Scope != h.scope {
		return call, access.Acting{}, fault.New(fault.Forbidden, "The tool was called for nobody.", "")
	}
	by, err := h.config.May(ctx, call, need, project)
	return call, by, err
}

// room takes memory from the share of the workspace when there is some. Where no runtime is there is no such question.
func (h hand) room(ctx context.Context, n int64) (release func(), err error) {
	rt := h.config.Runtime()
	if rt == nil {
		return func() {}, nil
	}
	grant, err := rt.In(h.scope).AwaitRoom(ctx, memory.Work, n)
	if errors.Is(err, memory.ErrTooLarge) {
		return nil, fault.New(fault.Unavailable, "There is no room for this.", "")
	}
	return grant.Release, err
}

// holder is whose share, and whose turn, a call takes.
func (h hand) holder() string {
	if rt := h.config.Runtime(); rt != nil {
		return rt.In(h.scope).Holder()
	}
	return h.scope
}

// told is what a model hears of an error: a refusal as it is, and nothing of our insides.
func (h hand) told(ctx context.Context, tool string, err error) error {
	_, refused := errors.AsType[*fault.Error](err)
	switch {
	case err == nil, refused, ctx.Err() != nil:
		return err
	case errors.Is(err, svc.ErrUnavailable), sqldb.Unavailable(err):
		return fmt.Errorf("%s: %w: %w", tool, svc.ErrUnavailable, err)
	}
	call, _ := svc.CallOf(ctx)
	h.config.Log.ErrorContext(ctx, "tool failed", "tool", tool, "scope", call.Scope, "agent", call.Agent, "error", err)
	return errors.New("the tool failed inside")
}
