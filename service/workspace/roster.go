package workspace

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
)

// Team is some people of a workspace, and what they may do in its projects.
type Team struct {
	ID        string        `json:"id" id:"tem"`
	Name      string        `json:"name"`
	Members   []Colleague   `json:"members"`
	Projects  []TeamProject `json:"projects"`
	CreatedAt iso.Moment    `json:"createdAt"`
	UpdatedAt iso.Moment    `json:"updatedAt"`
	Version   int64         `json:"version"`
}

// TeamProject is the role that a team gives in a project.
type TeamProject struct {
	Slug string `json:"slug"`
	Role string `json:"role"`
}

func (t Team) target() audit.Target { return audit.Target{Kind: "team", ID: t.ID} }

const teamColumns = "t.id, t.name, t.version, t.created_at, t.updated_at"

func scanTeam(row sqldb.Row) (t Team, err error) {
	var created, updated int64
	err = row.Scan(&t.ID, &t.Name, &t.Version, &created, &updated)
	t.CreatedAt, t.UpdatedAt, t.Members, t.Projects = iso.Millis(created), iso.Millis(updated), []Colleague{}, []TeamProject{}
	return t, err
}

// findTeam is a team of the workspace, without its members and projects.
func findTeam(tx *sqldb.Tx, workspace, id string) (Team, error) {
	if !isID("tem_", id) {
		return Team{}, itemNotFound()
	}
	t, found, err := sqldb.First(tx, "find team", scanTeam, "SELECT "+teamColumns+" FROM teams t WHERE t.workspace = $1 AND t.id = $2", workspace, id)
	if err == nil && !found {
		err = itemNotFound()
	}
	return t, err
}

// List is the teams of a workspace.
func (w *Teams) List(ctx context.Context, by Caller, address string, q listing.Query) (listing.Page[Team], error) {
	place := func(t Team) []any { return listing.Age(t.CreatedAt.Time, t.ID) }
	return paged(ctx, w.Workspaces, by, address, Read, q, place, func(tx *sqldb.Tx, workspace string, sel selection) ([]Team, error) {
		all, err := sqldb.Collect(tx, scanTeam, "SELECT "+teamColumns+` FROM teams t WHERE t.workspace = $1 AND LOWER(t.name) LIKE LOWER($5) ESCAPE '\'
			AND (t.created_at, t.id) < ($2, $3) ORDER BY t.created_at DESC, t.id DESC LIMIT $4`, workspace, sel.at, sel.id, sel.limit+1, sel.pattern)
		if err != nil {
			return nil, fmt.Errorf("list teams: %w", err)
		}
		return all, w.fill(tx, workspace, all)
	})
}

// Get is one team.
func (w *Teams) Get(ctx context.Context, by Caller, address, id string) (Team, error) {
	return read(ctx, w.Workspaces, by, address, Read, func(tx *sqldb.Tx, s seat) (Team, error) { return w.team(tx, s.ID, id) })
}

// team is a team with its members and projects.
func (w *Teams) team(tx *sqldb.Tx, workspace, id string) (Team, error) {
	t, err := findTeam(tx, workspace, id)
	if err != nil {
		return t, err
	}
	one := []Team{t}
	err = w.fill(tx, workspace, one)
	return one[0], err
}

// fill adds the members and projects of teams. A page of teams reads those of the whole workspace: they are not many.
func (w *Teams) fill(tx *sqldb.Tx, workspace string, teams []Team) error {
	only, args := "", []any{workspace}
	if len(teams) == 1 {
		only, args = " AND team = $2", append(args, teams[0].ID)
	}
	members, err := pairs(tx, "SELECT team, account, '' FROM team_members WHERE workspace = $1"+only+" ORDER BY created_at, account", args...)
	if err != nil {
		return err
	}
	projects, err := pairs(tx, "SELECT team, project, role FROM team_projects WHERE workspace = $1"+only+" ORDER BY project", args...)
	if err != nil {
		return err
	}
	var ids []string
	for _, t := range teams {
		for _, m := range members[t.ID] {
			ids = append(ids, m[0])
		}
	}
	known, err := lookup(tx, ids...)
	if err != nil {
		return err
	}
	for i := range teams {
		t := &teams[i]
		for _, m := range members[t.ID] {
			t.Members = append(t.Members, colleague(known, m[0]))
		}
		for _, p := range projects[t.ID] {
			t.Projects = append(t.Projects, TeamProject{Slug: p[0], Role: p[1]})
		}
	}
	return nil
}

// pairs reads rows of a team and two texts, by team.
func pairs(tx *sqldb.Tx, query string, args ...any) (map[string][][2]string, error) {
	all := map[string][][2]string{}
	_, err := sqldb.Collect(tx, func(row sqldb.Row) (team string, err error) {
		var pair [2]string
		err = row.Scan(&team, &pair[0], &pair[1])
		all[team] = append(all[team], pair)
		return team, err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read teams: %w", err)
	}
	return all, nil
}
