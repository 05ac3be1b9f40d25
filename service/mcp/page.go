package mcp

import (
	"context"
	"fmt"
	"strings"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
)

// List is the servers of a scope, the newest first, without their tools.
func (s *Servers) List(ctx context.Context, scope string, q listing.Query) (listing.Page[Server], error) {
	page, err := s.list(ctx, "s.scope = $1", scope, q)
	if err != nil || len(page.Items) == 0 {
		return page, err
	}
	used, err := s.UsedBy(ctx, scope)
	for i, one := range page.Items {
		if names := used[one.Name]; names != nil {
			page.Items[i].UsedBy = names
		}
	}
	return page, err
}

// All is the servers of all workspaces, for staff. It does not say which agents use them.
func (s *Servers) All(ctx context.Context, q listing.Query) (listing.Page[Server], error) {
	return s.list(ctx, "s.scope <> $1", "", q)
}

func (s *Servers) list(ctx context.Context, which, scope string, q listing.Query) (page listing.Page[Server], err error) {
	at, id, err := q.Older()
	if err != nil {
		return page, err
	}
	if err := q.Check(); err != nil {
		return page, err
	}
	all, err := sqldb.ReadAll(ctx, s.DB, scanServer, selectServers+" WHERE "+which+` AND (s.created_at, s.id) < ($2, $3) AND s.name LIKE $4 ESCAPE '\'
		ORDER BY s.created_at DESC, s.id DESC LIMIT $5`, scope, at, id, sqldb.Contains(strings.ToLower(q.Q)), q.Size()+1)
	if err != nil {
		return page, fmt.Errorf("list MCP servers: %w", err)
	}
	return listing.Cut(all, q.Size(), func(one Server) []any { return listing.Age(one.CreatedAt.Time, one.ID) }), nil
}

// Get is one server with its tools.
func (s *Servers) Get(ctx context.Context, scope, id string) (Detail, error) {
	d, err := sqldb.Snapshot(ctx, s.DB, func(tx *sqldb.Tx) (Detail, error) { return s.detail(tx, scope, id) })
	return s.told(ctx, d, err)
}
