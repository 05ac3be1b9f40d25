package workspace

import (
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// Reclaimed is a workspace from which people, or invitations, were taken.
type Reclaimed struct {
	Workspace
	Ended int64 // how many memberships and invitations
}

// Reclaim takes from the workspaces of an account who came there since a time, in the caller's transaction: other people,
// their places in teams, and invitations that were sent. The zero time leaves them to the account alone. Deleted workspaces
// count too, because their owners can restore them. What the account has in workspaces of others stays theirs to decide about,
// but for the invitations that it sent there.
func Reclaim(tx *sqldb.Tx, account string, since time.Time) (all []Reclaimed, err error) {
	if err := lock(tx, "owner", account); err != nil {
		return nil, err
	}
	own, err := sqldb.Collect(tx, scanWorkspace, "SELECT "+columns+" FROM workspaces w WHERE w.owner = $1 AND w.erased_at IS NULL ORDER BY w.id", account)
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	for _, w := range own {
		n, err := w.reclaim(tx, since)
		if err != nil {
			return nil, err
		}
		all = append(all, Reclaimed{w, n})
	}
	return all, tx.Do("end invitations", "DELETE FROM invitations WHERE inviter = $1 AND updated_at >= $2", account, since.UnixMilli())
}

func (w Workspace) reclaim(tx *sqldb.Tx, since time.Time) (ended int64, err error) {
	// Somebody who is no member any more has no place in a team either.
	for _, statement := range []string{
		"DELETE FROM members WHERE workspace = $1 AND account <> $2 AND created_at >= $3",
		`DELETE FROM team_members WHERE workspace = $1 AND account <> $2
			AND (created_at >= $3 OR account NOT IN (SELECT account FROM members WHERE workspace = $1))`,
	} {
		n, err := tx.Exec(statement, w.ID, w.Owner, since.UnixMilli())
		if err != nil {
			return ended, fmt.Errorf("end memberships: %w", err)
		}
		ended += n
	}
	n, err := tx.Exec("DELETE FROM invitations WHERE workspace = $1 AND updated_at >= $2", w.ID, since.UnixMilli())
	if err != nil {
		return ended, fmt.Errorf("end invitations: %w", err)
	}
	return ended + n, nil
}
