package account

import (
	"context"
	"fmt"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/scope"
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

// Addresses are the verified e-mail addresses of some accounts. Accounts that are suspended or gone have none.
func (a *Accounts) Addresses(tx *sqldb.Tx, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	marks, args := sqldb.List(ids)
	addresses, err := sqldb.Collect(tx, sqldb.Column[string], `SELECT email FROM accounts WHERE email IS NOT NULL AND email_verified = 1 AND suspended_at IS NULL AND deleted_at IS NULL
		AND id IN (`+marks+`) ORDER BY id`, args...)
	if err != nil {
		return nil, fmt.Errorf("find addresses: %w", err)
	}
	return addresses, nil
}
