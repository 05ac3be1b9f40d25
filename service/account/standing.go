package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

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
	rows, err := tx.Query(`SELECT a.id, a.username, a.display_name, a.suspended_at IS NULL, a.service_role, (SELECT max(s.last_seen_at) FROM sessions s WHERE s.account = a.id)
		FROM accounts a WHERE a.deleted_at IS NULL AND a.id IN (`+marks+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("find colleagues: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var p workspace.Person
		var seen sql.NullInt64
		if err := rows.Scan(&id, &p.Username, &p.DisplayName, &p.Active, &p.Staff, &seen); err != nil {
			return nil, fmt.Errorf("find colleagues: %w", err)
		}
		if p.Staff == RoleNone {
			p.Staff = ""
		}
		if seen.Valid {
			p.LastSeenAt = time.UnixMilli(seen.Int64)
		}
		found[id] = p
	}
	return found, rows.Err()
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
