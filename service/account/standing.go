package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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

// StandingOf is how the workspace of a scope stands, for a process that may know no accounts otherwise.
func StandingOf(ctx context.Context, db *sqldb.DB, address string) (s Standing, err error) {
	err = db.Read(ctx, func(tx *sqldb.Tx) error {
		w, found, err := workspace.At(tx, address)
		if err != nil || !found {
			return err
		}
		s = Standing{Owner: w.Owner, Suspended: w.Suspended}
		err = tx.QueryRow("SELECT suspended_at IS NOT NULL OR deleted_at IS NOT NULL FROM accounts WHERE id = $1", w.Owner).Scan(&s.Orphaned)
		if errors.Is(err, sql.ErrNoRows) {
			s = Standing{}
			return nil
		}
		return err
	})
	if err != nil {
		return Standing{}, fmt.Errorf("standing of workspace: %w", err)
	}
	return s, nil
}

// CheckStanding refuses claims on a workspace that is not there, or that is suspended: staff may still look into one. A
// webhook has no place in that of an account which is suspended or deleted either.
func CheckStanding(ctx context.Context, db *sqldb.DB, c scope.Claims) error {
	s, err := StandingOf(ctx, db, c.Scope)
	switch {
	case err != nil:
		return err
	case s.Owner == "" || s.Orphaned && !scope.Person(c.Actor):
		return fault.New("workspace_not_found", "There is no such workspace.", "")
	case s.Suspended && c.Authority != scope.StaffAuth:
		return fault.New(WorkspaceSuspended, "This workspace is suspended.", "Ask the people who run this service.")
	}
	return nil
}

// OwnerOf is the account that owns the workspace of a scope; found is false for one that is suspended, deleted or not there,
// or whose owner is.
func (a *Accounts) OwnerOf(ctx context.Context, address string) (owner string, found bool, err error) {
	s, err := StandingOf(ctx, a.db, address)
	return s.Owner, s.Owner != "" && !s.Suspended && !s.Orphaned, err
}
