package workspace

import (
	"context"
	"strings"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/strictjson"
)

// Create makes a team without members. Its name is its own in the workspace, in whatever case.
func (w *Teams) Create(ctx context.Context, by Caller, address, name string) (Team, error) {
	name = strings.TrimSpace(name)
	if err := strictjson.Wrong("name", checkText(name, maxName)); err != nil {
		return Team{}, err
	}
	return act(ctx, w.Workspaces, by, address, Manage, func(tx *sqldb.Tx, s seat) (t Team, err error) {
		if err := refuseFull(tx, "teams WHERE workspace = $1", s.ID, "teams in a workspace", maxTeams); err != nil {
			return t, err
		}
		id, now := "tem_"+ulid.Make().String(), w.Now().UnixMilli()
		n, err := tx.Exec(`INSERT INTO teams (id, workspace, name, folded, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (workspace, folded) DO NOTHING`,
			id, s.ID, name, strings.ToLower(name), now)
		if err != nil {
			return t, err
		}
		if n == 0 {
			return t, teamNameTaken()
		}
		if t, err = findTeam(tx, s.ID, id); err != nil {
			return t, err
		}
		return t, w.tell(ctx, tx, s, audit.Event{Action: "team.created", Target: t.target()})
	})
}

func teamNameTaken() error { return nameTaken("The workspace has a team of this name.") }

// Rename gives a team another name.
func (w *Teams) Rename(ctx context.Context, by Caller, address, id, name string, version int64) (Team, error) {
	name = strings.TrimSpace(name)
	if err := strictjson.Wrong("name", checkText(name, maxName)); err != nil {
		return Team{}, err
	}
	e := audit.Event{Action: "team.changed", Changes: []string{"name"}}
	return w.changeTeam(ctx, by, address, id, e, func(tx *sqldb.Tx, s seat, t Team) (changed int64, err error) {
		if err := refuseStale(version, t.Version); err != nil {
			return 0, err
		}
		other, err := sqldb.Value[bool](tx, "find team by name", "SELECT EXISTS (SELECT 1 FROM teams WHERE workspace = $1 AND folded = $2 AND id <> $3)", s.ID, strings.ToLower(name), id)
		if err == nil && other {
			err = teamNameTaken()
		}
		if err != nil {
			return 0, err
		}
		return tx.Exec("UPDATE teams SET name = $2, folded = $3 WHERE id = $1", id, name, strings.ToLower(name))
	})
}

// Delete ends a team, and what its members could do by it.
func (w *Teams) Delete(ctx context.Context, by Caller, address, id string, version int64) error {
	return w.DB.Write(ctx, func(tx *sqldb.Tx) error {
		s, err := enter(tx, by, address, Manage)
		if err != nil {
			return err
		}
		t, err := findTeam(tx, s.ID, id)
		if err != nil {
			return err
		}
		if err := refuseStale(version, t.Version); err != nil {
			return err
		}
		for _, statement := range []string{
			"DELETE FROM team_projects WHERE team = $1", "DELETE FROM team_members WHERE team = $1", "DELETE FROM teams WHERE id = $1",
		} {
			if err := tx.Do("delete team", statement, id); err != nil {
				return err
			}
		}
		return w.tell(ctx, tx, s, audit.Event{Action: "team.deleted", Target: t.target()})
	})
}

// changeTeam does one thing to a team and gives the team as it is then. Where no row changed, it is not told of.
func (w *Teams) changeTeam(ctx context.Context, by Caller, address, id string, e audit.Event, fn func(*sqldb.Tx, seat, Team) (changed int64, err error)) (Team, error) {
	return act(ctx, w.Workspaces, by, address, Manage, func(tx *sqldb.Tx, s seat) (Team, error) {
		t, err := findTeam(tx, s.ID, id)
		if err != nil {
			return t, err
		}
		if err := refuseStale(by.Seen, t.Version); err != nil {
			return t, err
		}
		changed, err := fn(tx, s, t)
		if err != nil {
			return t, err
		}
		if changed == 0 {
			return w.team(tx, s.ID, id)
		}
		if err := tx.Do("change team", "UPDATE teams SET version = version + 1, updated_at = $2 WHERE id = $1", id, w.Now().UnixMilli()); err != nil {
			return t, err
		}
		if t, err = w.team(tx, s.ID, id); err != nil {
			return t, err
		}
		e.Target = t.target()
		return t, w.tell(ctx, tx, s, e)
	})
}

// refuseFull refuses one more of what there are enough of.
func refuseFull(tx *sqldb.Tx, from, id, what string, most int) error {
	n, err := sqldb.Value[int](tx, "count "+what, "SELECT count(*) FROM "+from, id)
	if err == nil && n >= most {
		err = tooMany(what, most)
	}
	return err
}
