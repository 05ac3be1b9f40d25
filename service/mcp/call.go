package mcp

import (
	"context"
	"encoding/json"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	client "svc.dev/svc/tool/mcp"
)

// patience is how many times CallTimeout a call with progress may take, as the client has it.
const patience = 10

// Tools are those that are switched on of what names stand for in a scope, as agents call them: a server, with all that it has, or one
// tool, as CalledBy has it. None is connected for it; a name that nothing has is left out, and so is what is more than an agent can be
// given. Each call is judged anew: a tool that was switched off meanwhile, or became another, is refused.
func (s *Servers) Tools(ctx context.Context, scope string, names []string) ([]svc.Tool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	all, err := s.given(ctx, scope, names)
	if err != nil {
		return nil, err
	}
	tools := make([]svc.Tool, 0, len(all))
	for _, o := range all {
		tool := svc.RawTool(o.Called(), o.Description, o.InputSchema, func(ctx context.Context, input json.RawMessage) (svc.ToolResult, error) {
			return s.call(ctx, scope, o.id, o.Tool, input)
		})
		// The bounds of the connection say more, so that of the runtime comes after them.
		tool.Timeout = 2*s.ConnectTimeout + patience*s.CallTimeout + 2*time.Second
		tools = append(tools, tool)
	}
	return tools, nil
}

// call calls a tool that is switched on and still the one that somebody looked at.
func (s *Servers) call(ctx context.Context, scope, id, tool string, input json.RawMessage) (svc.ToolResult, error) {
	at, want, err := s.approved(ctx, scope, id, tool)
	if err != nil {
		return svc.ToolResult{}, err
	}
	if at.Auth == AuthOAuth && at.Status == NeedsSignIn {
		return svc.ToolResult{}, fault.New(client.Unauthorized, "Nobody is signed in to the MCP server.", "Somebody who manages the workspace has to connect it again.")
	}
	link, err := s.connected(ctx, at, want)
	if err != nil {
		return svc.ToolResult{}, err
	}
	defer s.links.give(link)
	result, err := link.server.Call(ctx, tool, input)
	if fault.Is(err, client.Unauthorized) {
		s.note(ctx, at, judged(&way{}, err))
	}
	return result, err
}

// approved is a tool as it was switched on, and its server.
func (s *Servers) approved(ctx context.Context, scope, id, tool string) (Server, Tool, error) {
	type pair struct {
		at   Server
		want Tool
	}
	p, err := sqldb.Read(ctx, s.DB, func(tx *sqldb.Tx) (p pair, err error) {
		if p.at, err = find(tx, scope, id); err != nil {
			return p, err
		}
		p.want, err = enabledTool(tx, id, tool)
		return p, err
	})
	return p.at, p.want, err
}

func enabledTool(tx *sqldb.Tx, server, name string) (Tool, error) {
	t, found, err := sqldb.First(tx, "find tool", scanTool, "SELECT "+toolColumns+" FROM mcp_tools WHERE server = $1 AND name = $2", server, name)
	switch {
	case err != nil:
		return t, err
	case t.Changed && !t.Enabled:
		return t, changed()
	case !found || !t.Enabled:
		return t, fault.New(client.Disabled, "The tool is switched off.", "Somebody who manages the workspace can switch it on.")
	}
	return t, nil
}

func changed() error {
	return fault.New(ToolChanged, "The server has changed this tool, so it is switched off.", "Somebody who manages the workspace has to look at it and switch it on again.")
}

// connected is a connection to a server that still has a tool as it was switched on. A connection that was made before somebody did
// that may know an older list: another one is made. What differs then is switched off.
func (s *Servers) connected(ctx context.Context, at Server, want Tool) (*shared, error) {
	for again := true; ; again = false {
		link, err := s.links.take(ctx, at.key(), func(ctx context.Context) (*client.Server, error) { return s.open(ctx, at) })
		if err != nil {
			return nil, err
		}
		if has(at, link.server, want) {
			return link, nil
		}
		if !again {
			err = s.outdated(ctx, at, link)
		}
		s.links.drop(link)
		s.links.give(link)
		if !again {
			return nil, err
		}
	}
}

// has reports whether a server lists a tool as it was looked at.
func has(at Server, server *client.Server, want Tool) bool {
	tools, _ := sift(at.Name, first(server.Listing()), nil)
	for _, t := range tools {
		if t.Name == want.Name {
			return t.same(want)
		}
	}
	return false
}

func first(all []client.Listed, _ []client.Omitted) []client.Listed { return all }

// outdated keeps what a server has now, by which a tool that became another is switched off.
func (s *Servers) outdated(ctx context.Context, at Server, link *shared) error {
	found := s.seen(at, link.server, &way{}, nil)
	if _, err := s.record(sqldb.Regardless(ctx), system, at, found); err != nil {
		return err
	}
	return changed()
}

// system is who acts where nobody does.
var system = audit.Actor{Kind: audit.System, ID: "mcp"}

// open makes a connection that is going to be shared, and keeps how the server does.
func (s *Servers) open(ctx context.Context, at Server) (*client.Server, error) {
	server, w, err := s.dial(ctx, at)
	if w == nil {
		return nil, err
	}
	if err == nil {
		s.note(ctx, at, s.seen(at, server, w, nil))
		return server, nil
	}
	found := judged(w, err)
	s.note(ctx, at, found)
	if found.Result == forbidden {
		return nil, fault.New(client.Unavailable, found.Message, "").Because(err)
	}
	return nil, err
}

// note keeps how a server does where that is news. What a call has learned must not fail it.
func (s *Servers) note(ctx context.Context, at Server, found finding) {
	if status, _ := found.status(); status == at.Status {
		return
	}
	found.CheckedAt.Time = s.Now()
	if err := s.keepStatus(sqldb.Regardless(ctx), at, found); err != nil {
		s.Log.Warn("how an MCP server does is not kept", "scope", at.Scope, "server", at.ID, "error", err)
	}
}
