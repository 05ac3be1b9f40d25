package workspace

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// PutMember makes somebody of the workspace a member of a team. A member stays one.
func (w *Teams) PutMember(ctx context.Context, by Caller, address, team, account string) (Team, error) {
	return w.changeTeam(ctx, by, address, func(tx *sqldb.Tx, s seat) (string, audit.Event, error) {
		e := audit.Event{Action: "team.member_added"}
		if _, err := findTeam(tx, s.ID, team); err != nil {
			return team, e, err
		}
		if _, err := findMember(tx, s.ID, account); err != nil {
			return team, e, err
		}
		n, err := tx.Exec("INSERT INTO team_members (team, account, workspace, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (team, account) DO NOTHING",
			team, account, s.ID, w.Now().UnixMilli())
		if err != nil {
			return team, e, fmt.Errorf("add team member: %w", err)
		}
		if n == 0 {
			return team, audit.Event{}, nil
		}
		e, err = w.of(tx, e, account)
		if err != nil {
			return team, e, err
		}
		// One is counted that is there already.
		if err := refuseFull(tx, "team_members WHERE team = $1", team, "members in a team", maxTeamMembers+1); err != nil {
			return team, e, err
		}
		return team, e, w.touchTeam(tx, team, "")
	})
}

// of names the person whom an act is about.
func (w *Teams) of(tx *sqldb.Tx, e audit.Event, account string) (audit.Event, error) {
	known, err := w.lookup(tx, account)
	e.Subject = &audit.Actor{Kind: audit.Account, ID: account, Username: known[account].Username}
	return e, err
}

// DropMember takes somebody out of a team.
func (w *Teams) DropMember(ctx context.Context, by Caller, address, team, account string) (Team, error) {
	return w.changeTeam(ctx, by, address, func(tx *sqldb.Tx, s seat) (string, audit.Event, error) {
		e := audit.Event{Action: "team.member_removed"}
		if _, err := findTeam(tx, s.ID, team); err != nil {
			return team, e, err
		}
		if !isID("acc_", account) {
			return team, e, itemNotFound()
		}
		n, err := tx.Exec("DELETE FROM team_members WHERE team = $1 AND account = $2", team, account)
		if err != nil {
			return team, e, fmt.Errorf("remove team member: %w", err)
		}
		if n == 0 {
			return team, e, itemNotFound()
		}
		if e, err = w.of(tx, e, account); err != nil {
			return team, e, err
		}
		return team, e, w.touchTeam(tx, team, "")
	})
}
