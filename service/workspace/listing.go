package workspace

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// called is the condition that a workspace is called so, and listed what follows the conditions of every list of them.
const (
	called = `LOWER(w.name) LIKE LOWER($4) ESCAPE '\' OR w.business LIKE LOWER($4) ESCAPE '\'`
	listed = ` AND (w.created_at, w.id) < ($1, $2) ORDER BY w.created_at DESC, w.id DESC LIMIT $3`
)

// List is the workspaces that the caller is a member of, the suspended ones too.
func (w *Workspaces) List(ctx context.Context, by Caller, q listing.Query) (listing.Page[Membership], error) {
	return w.list(ctx, by, q, "w.deleted_at IS NULL")
}

// Deleted is the workspaces that the caller can restore.
func (w *Workspaces) Deleted(ctx context.Context, by Caller, q listing.Query) (listing.Page[Membership], error) {
	return w.list(ctx, by, q, "w.deleted_at IS NOT NULL AND w.erase_at > $6 AND m.role = $7", w.Now().UnixMilli(), Owner)
}

func (w *Workspaces) list(ctx context.Context, by Caller, q listing.Query, condition string, args ...any) (p listing.Page[Membership], err error) {
	if by.Kind != audit.Account {
		return p, noPerson()
	}
	s, err := selected(q)
	if err != nil {
		return p, err
	}
	all, err := sqldb.ReadAll(ctx, w.DB, scanMembership, "SELECT "+MemberColumns+` FROM members m JOIN workspaces w ON w.id = m.workspace
		WHERE m.account = $5 AND `+condition+" AND ("+called+")"+listed, append([]any{s.at, s.id, s.limit + 1, s.pattern, by.ID}, args...)...)
	if err != nil {
		return p, fmt.Errorf("list workspaces: %w", err)
	}
	return listing.Cut(all, s.limit, func(m Membership) []any { return listing.Age(m.CreatedAt.Time, m.ID) }), nil
}

// Case is a workspace as staff see it.
type Case struct {
	Workspace
	Reason string // why it is suspended
}

func scanCase(row sqldb.Row) (c Case, err error) {
	err = row.Scan(append(c.fields(), &c.Reason)...)
	return c, err
}

// All is the workspaces of everybody, those that wait for their erasure too, for staff. They are found by their owner's
// username too.
func (w *Workspaces) All(ctx context.Context, by Caller, q listing.Query) (p listing.Page[Case], err error) {
	if by.Kind != audit.Account || !Allows(by.role(""), Review) {
		return p, adminRequired()
	}
	s, err := selected(q)
	if err != nil {
		return p, err
	}
	all, err := sqldb.ReadAll(ctx, w.DB, scanCase, "SELECT "+columns+", w.suspend_reason FROM workspaces w WHERE w.erased_at IS NULL AND NOT "+isComing+" AND ("+called+` OR w.scope LIKE LOWER($4) ESCAPE '\')`+listed,
		s.at, s.id, s.limit+1, s.pattern)
	if err != nil {
		return p, fmt.Errorf("list all workspaces: %w", err)
	}
	return listing.Cut(all, s.limit, func(c Case) []any { return listing.Age(c.CreatedAt.Time, c.ID) }), nil
}
