package workspace

import (
	"fmt"

	"svc.dev/svc/internal/sqldb"
)

// Reclaimed is a workspace that was left to its owner alone.
type Reclaimed struct {
	Workspace
	Ended int64 // how many memberships and invitations
}

// Reclaim leaves the workspaces of an account to it alone, in the caller's transaction: other people, their places in teams
// and all invitations end. Deleted workspaces count too, because their owners can restore them. What the account has in
// workspaces of others stays theirs to decide about, but for the invitations that it sent there.
func Reclaim(tx *sqldb.Tx, account string) (all []Reclaimed, err error) {
	if err := lock(tx, "owner", account); err != nil {
		return nil, err
	}
	rows, err := tx.Query("SELECT "+columns+" FROM workspaces w WHERE w.owner = $1 AND w.erased_at IS NULL ORDER BY w.id", account)
	own, err := collect(rows, err, func(row scanner) (Workspace, error) { return scanWorkspace(row) })
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	for _, w := range own {
		n, err := w.reclaim(tx)
		if err != nil {
			return nil, err
		}
		all = append(all, Reclaimed{w, n})
	}
	if _, err := tx.Exec("DELETE FROM invitations WHERE inviter = $1", account); err != nil {
		return nil, fmt.Errorf("end invitations: %w", err)
	}
	return all, nil
}

func (w Workspace) reclaim(tx *sqldb.Tx) (ended int64, err error) {
	for _, table := range []string{"team_members", "members"} {
		n, err := tx.Exec("DELETE FROM "+table+" WHERE workspace = $1 AND account <> $2", w.ID, w.Owner)
		if err != nil {
			return ended, fmt.Errorf("end memberships: %w", err)
		}
		ended += n
	}
	n, err := tx.Exec("DELETE FROM invitations WHERE workspace = $1", w.ID)
	if err != nil {
		return ended, fmt.Errorf("end invitations: %w", err)
	}
	return ended + n, nil
}
