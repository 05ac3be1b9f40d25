package workspace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
)

// Delete ends a workspace: from now on it is not there, and after the hold it is erased. Confirm must be its business.
func (w *Workspaces) Delete(ctx context.Context, by Caller, address, confirm string) (eraseAt time.Time, err error) {
	m, err := w.change(ctx, by, address, Own, func(tx *sqldb.Tx, s seat) (string, error) {
		if s.Business == scope.Personal {
			return "", inUse(s.Workspace)
		}
		if confirm != s.Business {
			return "", strictjson.Wrong("confirm", strictjson.Invalid)
		}
		now := w.Now()
		return "workspace.deleted", w.touch(tx, s.ID, "deleted_at = $3, erase_at = $4", now.UnixMilli(), now.Add(w.Hold).UnixMilli())
	})
	return m.EraseAt.Time, err
}

// Restore brings a workspace back within its hold. Only its owners know that it is there; one that is not deleted stays
// as it is.
func (w *Workspaces) Restore(ctx context.Context, by Caller, address string) (Membership, error) {
	if by.Kind != audit.Account {
		return Membership{}, noPerson()
	}
	return sqldb.Write(ctx, w.DB, func(tx *sqldb.Tx) (m Membership, err error) {
		if err := lock(tx, "scope", address); err != nil {
			return m, err
		}
		if m, err = seen(tx, by.ID, address, "w.erased_at IS NULL"); err != nil {
			return m, err
		}
		s := seat{Membership: m, by: by, may: by.role(m.Role)}
		if m.ID == "" || !m.EraseAt.IsZero() && (!Allows(s.may, Own) || !m.restorable(w.Now())) {
			return m, notFound()
		}
		if err := refuseStale(by.Seen, m.Version); err != nil {
			return m, err
		}
		if err := s.check(Own); err != nil || m.EraseAt.IsZero() {
			return m, err
		}
		return w.revive(ctx, tx, s)
	})
}

// restorable reports whether a deleted workspace can still come back.
func (w Workspace) restorable(now time.Time) bool { return w.EraseAt.After(now) }

func (w *Workspaces) revive(ctx context.Context, tx *sqldb.Tx, s seat) (m Membership, err error) {
	if err := w.touch(tx, s.ID, "deleted_at = NULL, erase_at = NULL"); err != nil {
		return m, err
	}
	if m, err = seen(tx, s.by.ID, s.Scope, "true"); err != nil {
		return m, err
	}
	return m, w.tell(ctx, tx, s, audit.Event{Action: "workspace.restored", Target: s.target()})
}

// Abandon gives up everything that an account has here, in the transaction that erases the account: its own workspaces are
// due for erasure, and it is in no other any more.
func Abandon(tx *sqldb.Tx, now time.Time, account string) error {
	if err := lock(tx, "owner", account); err != nil {
		return err
	}
	if err := tx.Do("abandon workspaces", `UPDATE workspaces SET deleted_at = COALESCE(deleted_at, $2), erase_at = 0, version = version + 1, updated_at = $2
		WHERE owner = $1 AND erased_at IS NULL`, account, now.UnixMilli()); err != nil {
		return err
	}
	for _, table := range []string{"team_members", "members"} {
		if err := tx.Do("leave workspaces", "DELETE FROM "+table+" WHERE account = $1 AND workspace NOT IN (SELECT id FROM workspaces WHERE owner = $1)", account); err != nil {
			return err
		}
	}
	return nil
}

// eraseBatch is how many workspaces one Erase takes.
const eraseBatch = 100

// Erase destroys the workspaces whose hold is over, and says how many. What cannot be destroyed keeps nothing else from
// being so, and is tried again.
func (w *Workspaces) Erase(ctx context.Context) (erased int, err error) {
	due, err := sqldb.ReadAll(ctx, w.DB, scanWorkspace, "SELECT "+columns+` FROM workspaces w WHERE w.deleted_at IS NOT NULL AND w.erased_at IS NULL AND w.erase_at BETWEEN 0 AND $1
		ORDER BY w.erase_at, w.id LIMIT $2`, w.Now().UnixMilli(), eraseBatch)
	if err != nil {
		return 0, fmt.Errorf("find workspaces to erase: %w", err)
	}
	failed := []error{w.sweepImports(ctx)}
	for _, one := range due {
		done, err := w.erase(ctx, one)
		if err != nil {
			failed = append(failed, fmt.Errorf("erase %s: %w", one.ID, err))
		}
		if done {
			erased++
		}
	}
	return erased, errors.Join(failed...)
}

func (w *Workspaces) erase(ctx context.Context, one Workspace) (done bool, err error) {
	// Its people go first: whatever happens then, it does not come back half destroyed.
	due, err := w.doom(ctx, one.ID)
	if err != nil || !due {
		return false, err
	}
	if err := w.Destroy(ctx, one); err != nil {
		return false, err
	}
	return sqldb.Write(ctx, w.DB, func(tx *sqldb.Tx) (bool, error) {
		n, err := tx.Exec("UPDATE workspaces SET erased_at = $2, name = '', suspend_reason = '', version = version + 1, updated_at = $2 WHERE id = $1 AND erased_at IS NULL",
			one.ID, w.Now().UnixMilli())
		if err != nil || n == 0 {
			return false, err
		}
		return true, w.Audit.Append(ctx, tx, audit.Event{
			Actor: audit.Actor{Kind: audit.System}, Action: "workspace.erased", Target: one.target(), Scope: one.Scope, Service: true,
		})
	})
}

// doom makes it impossible to restore a workspace that is due, and takes everybody out of it.
func (w *Workspaces) doom(ctx context.Context, id string) (due bool, err error) {
	return sqldb.Write(ctx, w.DB, func(tx *sqldb.Tx) (bool, error) {
		n, err := tx.Exec("UPDATE workspaces SET erase_at = 0 WHERE id = $1 AND deleted_at IS NOT NULL AND erased_at IS NULL AND erase_at BETWEEN 0 AND $2",
			id, w.Now().UnixMilli())
		if err != nil || n == 0 {
			return false, err
		}
		for _, table := range []string{"team_projects", "team_members", "teams", "invitations", "members"} {
			if _, err := tx.Exec("DELETE FROM "+table+" WHERE workspace = $1", id); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}
