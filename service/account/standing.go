package account

import (
	"context"
	"fmt"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// Standing is how a workspace stands. The zero value is one that is not there, or is deleted.
type Standing struct {
	Owner     string // account
	Suspended bool   // the workspace is
	Orphaned  bool   // its owner's account is suspended or deleted
}

// StandingOf is how the workspace of a scope stands, for a process that may know no accounts otherwise. It is asked before every
// request to the runtime, so in one statement.
func StandingOf(ctx context.Context, db *sqldb.DB, address string) (Standing, error) {
	if _, err := scope.Parse(address); err != nil {
		return Standing{}, nil
	}
	return sqldb.Read(ctx, db, func(tx *sqldb.Tx) (Standing, error) {
		s, _, err := sqldb.First(tx, "standing of workspace", scanStanding, `SELECT w.owner, w.suspended_at IS NOT NULL, a.suspended_at IS NOT NULL OR a.deleted_at IS NOT NULL
			FROM workspaces w JOIN accounts a ON a.id = w.owner WHERE w.scope = $1 AND w.deleted_at IS NULL`, address)
		return s, err
	})
}

func scanStanding(row sqldb.Row) (s Standing, err error) {
	err = row.Scan(&s.Owner, &s.Suspended, &s.Orphaned)
	return s, err
}

// CheckStanding refuses claims on a workspace that is not there, or that is suspended: staff may still look into one. A
// webhook has no place in that of an account which is suspended or deleted either.
func CheckStanding(ctx context.Context, db *sqldb.DB, c scope.Claims) error {
	s, err := StandingOf(ctx, db, c.Scope)
	switch {
	case err != nil:
		return err
	case s.Owner == "" || s.Orphaned && !scope.Person(c.Actor):
		return fault.New(fault.WorkspaceNotFound, "There is no such workspace.", "")
	case s.Suspended && c.Authority != scope.StaffAuth:
		return fault.New(fault.WorkspaceSuspended, "This workspace is suspended.", "Ask the people who run this service.")
	}
	return nil
}

// OwnerOf is the account that owns the workspace of a scope; found is false for one that is suspended, deleted or not there,
// or whose owner is.
func (a *Accounts) OwnerOf(ctx context.Context, address string) (owner string, found bool, err error) {
	s, err := StandingOf(ctx, a.DB, address)
	return s.Owner, s.Owner != "" && !s.Suspended && !s.Orphaned, err
}

// Colleagues are who some accounts are to those who work with them. Accounts that are gone are left out.
func (a *Accounts) Colleagues(tx *sqldb.Tx, ids []string) (map[string]workspace.Person, error) {
	found := map[string]workspace.Person{}
	if len(ids) == 0 {
		return found, nil
	}
	marks, args := list(ids)
	_, err := sqldb.Collect(tx, func(row sqldb.Row) (p workspace.Person, err error) {
		var id string
		err = row.Scan(&id, &p.Username, &p.DisplayName, &p.Active, &p.Staff, sqldb.Time(&p.LastSeenAt))
		if p.Staff == RoleNone {
			p.Staff = ""
		}
		found[id] = p
		return p, err
	}, `SELECT a.id, a.username, a.display_name, a.suspended_at IS NULL, a.service_role, (SELECT max(s.last_seen_at) FROM sessions s WHERE s.account = a.id)
		FROM accounts a WHERE a.deleted_at IS NULL AND a.id IN (`+marks+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("find colleagues: %w", err)
	}
	return found, nil
}

// Addresses are the verified e-mail addresses of some accounts. Accounts that are suspended or gone have none.
func (a *Accounts) Addresses(tx *sqldb.Tx, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	marks, args := list(ids)
	addresses, err := sqldb.Collect(tx, sqldb.Column[string], `SELECT email FROM accounts WHERE email IS NOT NULL AND email_verified = 1 AND suspended_at IS NULL AND deleted_at IS NULL
		AND id IN (`+marks+`) ORDER BY id`, args...)
	if err != nil {
		return nil, fmt.Errorf("find addresses: %w", err)
	}
	return addresses, nil
}

// list is the parameters of a statement that asks for some ids.
func list(ids []string) (marks string, args []any) {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i], args = fmt.Sprintf("$%d", i+1), append(args, id)
	}
	return strings.Join(all, ", "), args
}
