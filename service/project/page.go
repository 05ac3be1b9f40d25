package project

import (
	"context"
	"fmt"
	"strings"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
)

// List is the projects of a workspace, the newest first.
func (p *Projects) List(ctx context.Context, o Owner, q listing.Query) (listing.Page[Project], error) {
	return p.list(ctx, "p.workspace = $1 AND p.scope = $2", []any{o.Workspace, o.Scope}, q)
}

// All is the projects of all workspaces, the newest first, for staff.
func (p *Projects) All(ctx context.Context, q listing.Query) (listing.Page[Project], error) {
	return p.list(ctx, "p.workspace <> $1 AND p.scope <> $2", []any{"", ""}, q)
}

// Slugs are the names of all projects of a scope.
func (p *Projects) Slugs(ctx context.Context, scope string) ([]string, error) {
	all, err := sqldb.ReadAll(ctx, p.DB, sqldb.Column[string], "SELECT slug FROM projects WHERE scope = $1 AND deleted_at IS NULL ORDER BY slug", scope)
	if err != nil {
		return nil, fmt.Errorf("name projects: %w", err)
	}
	return all, nil
}

func (p *Projects) list(ctx context.Context, which string, args []any, q listing.Query) (page listing.Page[Project], err error) {
	at, id, err := q.Older()
	if err != nil {
		return page, err
	}
	if err := q.Check(); err != nil {
		return page, err
	}
	args = append(args, at, id, sqldb.Contains(strings.ToLower(q.Q)), q.Size()+1)
	all, err := sqldb.ReadAll(ctx, p.DB, scanProject, selectProjects+" WHERE "+which+` AND p.deleted_at IS NULL
		AND (p.created_at, p.id) < ($3, $4) AND p.folded LIKE $5 ESCAPE '\' ORDER BY p.created_at DESC, p.id DESC LIMIT $6`, args...)
	if err != nil {
		return page, fmt.Errorf("list projects: %w", err)
	}
	return listing.Cut(all, q.Size(), func(one Project) []any { return listing.Age(one.CreatedAt.Time, one.ID) }), nil
}
