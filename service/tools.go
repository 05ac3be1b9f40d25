package service

import (
	"context"
	"slices"

	"svc.dev/svc"
	"svc.dev/svc/internal/build"
	"svc.dev/svc/internal/outward"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/offer"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/toolbox"
)

// openTools opens what agents may be given. A runtime alone opens the files by itself, if it has an audit log to tell of what it
// changes; without one it has none.
func (n *node) openTools() (err error) {
	fetch, err := outward.New(outward.Config{})
	if err != nil {
		return err
	}
	c := toolbox.Config{
		Runtime: func() *svc.Runtime { return n.rt }, Fetch: fetch, May: n.may, Partners: n.partners, Admit: n.gauge.Admit,
		MaxInput: n.config.LimitInput, Log: n.log,
	}
	if n.projects == nil && n.audit != nil {
		if err := n.openFiles(); err != nil {
			return err
		}
	}
	if n.projects != nil {
		c.Projects = n.projects
	}
	n.tools, err = toolbox.New(c)
	return err
}

// build makes the tools that a definition names. An agent that names others to be asked may ask nobody else. No MCP server is asked
// for it: one that does not answer fails the calls of its tools.
func (n *node) build(ctx context.Context, scope string, d agent.Definition) ([]svc.Tool, error) {
	g := toolbox.Grant{Agent: d.Name, Hosts: d.Hosts, Projects: d.Projects}
	for _, entry := range d.Tools {
		name, asked := agent.Tool(entry)
		if !slices.Contains(g.Tools, name) {
			g.Tools = append(g.Tools, name)
		}
		if asked != "" {
			g.Agents = append(g.Agents, asked)
		}
	}
	tools, err := n.tools.Tools(ctx, scope, g)
	if err != nil {
		return nil, err
	}
	offered, err := n.mcps.Tools(ctx, scope, d.Offers())
	for _, t := range offered {
		tools = append(tools, n.tools.Lend(scope, t))
	}
	return tools, err
}

// maxPartners is how many agents one is told of that may ask them.
const maxPartners = 200

// partners are the agents of a workspace that others may ask.
func (n *node) partners(ctx context.Context, scope string) (all []toolbox.Partner, err error) {
	found, err := n.agents.Askable(ctx, scope, n.rt.In(scope).ListAgents(), maxPartners)
	for _, a := range found {
		all = append(all, toolbox.Partner(a))
	}
	return all, err
}

// byKey reports whether a request comes with an API key, or a tool works for the prompt of one.
func byKey(ctx context.Context) bool {
	if call, ok := svc.CallOf(ctx); ok && scope.ParseBy(call.By).Key != "" {
		return true
	}
	c, _ := scope.From(ctx)
	return c.Key != ""
}

// openOffer makes the workspaces MCP servers.
func (n *node) openOffer() (*offer.Offer, error) {
	return offer.New(offer.Config{
		DB: n.db, Runtime: n.rt, Agents: n.agents, MaxBody: min(n.config.LimitBody, n.config.LimitInput+offer.Envelope), Version: build.This().Version, Log: n.log,
		Admit: func(ctx context.Context, c scope.Claims) error { return unanswered(n.gauge.Admit(ctx, c.Scope)) },
		May: func(ctx context.Context, c scope.Claims, need access.Need) error {
			_, err := access.Act(ctx, n.db, c.By(), need, access.Place{Scope: c.Scope})
			return err
		},
	})
}

// may judges the one whose prompt or run a tool works for.
func (n *node) may(ctx context.Context, call svc.Call, need access.Need, project string) (access.Acting, error) {
	return access.Act(ctx, n.db, scope.ParseBy(call.By), need, access.Place{Scope: call.Scope, Project: project})
}
