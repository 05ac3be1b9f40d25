package workspace

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// PutMember makes somebody of the workspace a member of a team. A member stays one.
func (w *Teams) PutMember(ctx context.Context, by Caller, address, team, account string) (Team, error) {
	e := audit.Event{Action: "team.member_added", Subject: &audit.Actor{Kind: audit.Account, ID: account}}
	return w.changeTeam(ctx, by, address, team, e, func(tx *sqldb.Tx, s seat, _ Team) (changed int64, err error) {
		if _, err := findMember(tx, s.ID, account); err != nil {
			return 0, err
		}
		n, err := tx.Exec("INSERT INTO team_members (team, account, workspace, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (team, account) DO NOTHING",
			team, account, s.ID, w.Now().UnixMilli())
		if err != nil {
			return 0, fmt.Errorf("add team member: %w", err)
		}
		if n == 0 {
			return 0, nil
		}
		// One is counted that is there already.
		if err := refuseFull(tx, "team_members WHERE team = $1", team, "members in a team", maxTeamMembers+1); err != nil {
			return 0, err
		}
		return n, w.name(tx, e.Subject)
	})
}

// name adds to an account what it is called.
func (w *Teams) name(tx *sqldb.Tx, who *audit.Actor) error {
	known, err := lookup(tx, who.ID)
	who.Username = known[who.ID].Username
	return err
}

// DropMember takes somebody out of a team.
func (w *Teams) DropMember(ctx context.Context, by Caller, address, team, account string) (Team, error) {
	e := audit.Event{Action: "team.member_removed", Subject: &audit.Actor{Kind: audit.Account, ID: account}}
	return w.changeTeam(ctx, by, address, team, e, func(tx *sqldb.Tx, _ seat, _ Team) (changed int64, err error) {
		if !isID("acc_", account) {
			return 0, itemNotFound()
		}
		n, err := tx.Exec("DELETE FROM team_members WHERE team = $1 AND account = $2", team, account)
		if err != nil {
			return 0, fmt.Errorf("remove team member: %w", err)
		}
		if n == 0 {
			return 0, itemNotFound()
		}
		return n, w.name(tx, e.Subject)
	})
}
