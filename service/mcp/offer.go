package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"svc.dev/svc/internal/sqldb"
)

// Bounds of what one agent is given.
const (
	maxGiven      = 128       // tools
	maxGivenBytes = 512 << 10 // of their schemas and descriptions
)

// Offer is a tool that is switched on, of a server of a workspace.
type Offer struct {
	Server, Tool string // their names
	Description  string
	InputSchema  json.RawMessage

	id string // of the server
}

// Called is the name by which models call it.
func (o Offer) Called() string { return CalledBy(o.Server, o.Tool) }

// selectOffers begins a statement that scanOffer reads; calledAs is how models call what it finds.
const (
	selectOffers = `SELECT s.id, s.name, t.name, t.description, t.input_schema FROM mcp_servers s JOIN mcp_tools t ON t.server = s.id`
	calledAs     = "s.name || '" + between + "' || t.name"
)

func scanOffer(row sqldb.Row) (o Offer, err error) {
	var schema string
	err = row.Scan(&o.id, &o.Server, &o.Tool, &o.Description, &schema)
	o.InputSchema = json.RawMessage(schema)
	return o, err
}

// Offers are tools of a scope that are switched on, behind one by the names of its server and of itself, and in whose names there is
// a part.
func (s *Servers) Offers(ctx context.Context, scope, part, server, tool string, most int) ([]Offer, error) {
	all, err := sqldb.ReadAll(ctx, s.DB, scanOffer, selectOffers+` WHERE s.scope = $1 AND t.enabled = 1 AND (s.name, t.name) > ($2, $3)
		AND lower(`+calledAs+`) LIKE $4 ESCAPE '\' ORDER BY s.name, t.name LIMIT $5`, scope, server, tool, sqldb.Contains(strings.ToLower(part)), most)
	if err != nil {
		return nil, fmt.Errorf("list tools that are on: %w", err)
	}
	return all, nil
}

// given are the tools that are switched on of what names stand for: a server, with all that it has, or one tool, as models call it.
// What an agent could not use beside the others is left out.
func (s *Servers) given(ctx context.Context, scope string, names []string) ([]Offer, error) {
	marks, args := sqldb.List(names)
	args = append(args, scope, maxGiven+1)
	all, err := sqldb.ReadAll(ctx, s.DB, scanOffer, selectOffers+fmt.Sprintf(` WHERE (s.name IN (%[1]s) OR %[2]s IN (%[1]s)) AND s.scope = $%[3]d AND t.enabled = 1
		ORDER BY s.name, t.name LIMIT $%[4]d`, marks, calledAs, len(args)-1, len(args)), args...)
	if err != nil {
		return nil, fmt.Errorf("list tools of MCP servers: %w", err)
	}
	size := 0
	for i, o := range all {
		if size += len(o.Description) + len(o.InputSchema); i == maxGiven || size > maxGivenBytes {
			s.Log.WarnContext(ctx, "an agent names more tools of MCP servers than one is given", "scope", scope, "tools", i)
			return all[:i], nil
		}
	}
	return all, nil
}

// Names are those of the servers of a scope.
func (s *Servers) Names(ctx context.Context, scope string) ([]string, error) {
	return sqldb.ReadAll(ctx, s.DB, sqldb.Column[string], "SELECT name FROM mcp_servers WHERE scope = $1 ORDER BY name", scope)
}

// ToolNames are how models call the tools of a scope's servers, switched on or not.
func (s *Servers) ToolNames(ctx context.Context, scope string) ([]string, error) {
	return sqldb.ReadAll(ctx, s.DB, sqldb.Column[string], "SELECT "+calledAs+" FROM mcp_servers s JOIN mcp_tools t ON t.server = s.id WHERE s.scope = $1", scope)
}

// Using is the same servers for somebody who knows which agents use them, by the names of the servers.
func (s *Servers) Using(by map[string][]string) *Servers {
	known := *s
	known.UsedBy = func(context.Context, string) (map[string][]string, error) { return by, nil }
	return &known
}
