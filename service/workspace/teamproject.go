package workspace

import (
	"context"
	"fmt"
	"slices"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
)

// teamRoles are the roles that a team can give in a project.
var teamRoles = []string{Viewer, Builder, Admin}

// ProjectRole is what a member may do in one project: the greater of their own role and those of their teams. It is empty
// for somebody who is no member.
func ProjectRole(tx *sqldb.Tx, account, workspace, project string) (string, error) {
	direct, err := sqldb.Collect(tx, sqldb.Column[string], `SELECT m.role FROM members m JOIN workspaces w ON w.id = m.workspace
		WHERE m.workspace = $1 AND m.account = $2 AND w.deleted_at IS NULL`, workspace, account)
	if err != nil {
		return "", fmt.Errorf("find role: %w", err)
	}
	if len(direct) == 0 {
		return "", nil
	}
	teams, err := sqldb.Collect(tx, sqldb.Column[string], `SELECT p.role FROM team_members m JOIN team_projects p ON p.team = m.team
		WHERE m.workspace = $1 AND m.account = $2 AND p.workspace = $1 AND p.project = $3`, workspace, account, project)
	if err != nil {
		return "", fmt.Errorf("find roles of teams: %w", err)
	}
	return greatest(append(direct, teams...)...), nil
}

// ForgetProject takes a project from all teams, in the transaction that deletes it: another of its name is another project.
func ForgetProject(tx *sqldb.Tx, workspace, slug string) error {
	if err := lock(tx, "id", workspace); err != nil {
		return err
	}
	return tx.Do("forget project", "DELETE FROM team_projects WHERE workspace = $1 AND project = $2", workspace, slug)
}

// PutProject gives a team a role in a project of the workspace, instead of the one it had.
func (w *Teams) PutProject(ctx context.Context, by Caller, address, team, slug, role string) (Team, error) {
	if !slices.Contains(teamRoles, role) {
		return Team{}, strictjson.Wrong("role", strictjson.Invalid)
	}
	e := audit.Event{Action: "team.project_granted", Changes: []string{"role"}}
	return w.changeTeam(ctx, by, address, team, e, func(tx *sqldb.Tx, s seat, _ Team) (changed int64, err error) {
		if err := w.findProject(tx, s.ID, slug); err != nil {
			return 0, err
		}
		n, err := tx.Exec(`INSERT INTO team_projects (team, project, workspace, role, created_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (team, project) DO UPDATE SET role = excluded.role WHERE team_projects.role <> excluded.role`, team, slug, s.ID, role, w.Now().UnixMilli())
		if err != nil {
			return 0, fmt.Errorf("grant project: %w", err)
		}
		if n == 0 {
			return 0, nil
		}
		// One is counted that is there already.
		return n, refuseFull(tx, "team_projects WHERE team = $1", team, "projects of a team", maxTeamProjects+1)
	})
}

// findProject refuses what is no project of the workspace.
func (w *Teams) findProject(tx *sqldb.Tx, workspace, slug string) error {
	if scope.CheckProject(slug) != nil {
		return itemNotFound()
	}
	found, err := w.HasProject(tx, workspace, slug)
	if err == nil && !found {
		err = itemNotFound()
	}
	return err
}

// DropProject takes a project from a team, also one that is there no more.
func (w *Teams) DropProject(ctx context.Context, by Caller, address, team, slug string) (Team, error) {
	e := audit.Event{Action: "team.project_revoked"}
	return w.changeTeam(ctx, by, address, team, e, func(tx *sqldb.Tx, _ seat, _ Team) (changed int64, err error) {
		if scope.CheckProject(slug) != nil {
			return 0, itemNotFound()
		}
		n, err := tx.Exec("DELETE FROM team_projects WHERE team = $1 AND project = $2", team, slug)
		if err != nil {
			return 0, fmt.Errorf("take project from team: %w", err)
		}
		if n == 0 {
			return 0, itemNotFound()
		}
		return n, nil
	})
}
