package workspace

import (
	"context"
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// Create makes a team without members. Its name is its own in the workspace, in whatever case.
func (w *Teams) Create(ctx context.Context, by Caller, address, name string) (Team, error) {
	name = strings.TrimSpace(name)
	if err := wrong("name", checkText(name, maxName)); err != nil {
		return Team{}, err
	}
	return w.changeTeam(ctx, by, address, func(tx *sqldb.Tx, s seat) (string, audit.Event, error) {
		e := audit.Event{Action: "team.created"}
		if err := refuseFull(tx, "teams WHERE workspace = $1", s.ID, "teams in a workspace", maxTeams); err != nil {
			return "", e, err
		}
		id, now := "tem_"+ulid.Make().String(), w.Now().UnixMilli()
		n, err := tx.Exec(`INSERT INTO teams (id, workspace, name, folded, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (workspace, folded) DO NOTHING`,
			id, s.ID, name, strings.ToLower(name), now)
		if err == nil && n == 0 {
			err = nameTaken("The workspace has a team of this name.")
		}
		return id, e, err
	})
}

// Rename gives a team another name.
func (w *Teams) Rename(ctx context.Context, by Caller, address, id, name string, version int64) (Team, error) {
	name = strings.TrimSpace(name)
	if err := wrong("name", checkText(name, maxName)); err != nil {
		return Team{}, err
	}
	return w.changeTeam(ctx, by, address, func(tx *sqldb.Tx, s seat) (string, audit.Event, error) {
		e := audit.Event{Action: "team.changed", Changes: []string{"name"}}
		t, err := findTeam(tx, s.ID, id)
		if err != nil {
			return id, e, err
		}
		if err := refuseStale(version, t.Version); err != nil {
			return id, e, err
		}
		var other bool
		err = tx.QueryRow("SELECT EXISTS (SELECT 1 FROM teams WHERE workspace = $1 AND folded = $2 AND id <> $3)", s.ID, strings.ToLower(name), id).Scan(&other)
		if err != nil {
			return id, e, fmt.Errorf("find team by name: %w", err)
		}
		if other {
			return id, e, nameTaken("The workspace has a team of this name.")
		}
		return id, e, w.touchTeam(tx, id, "name = $3, folded = $4", name, strings.ToLower(name))
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
			if _, err := tx.Exec(statement, id); err != nil {
				return fmt.Errorf("delete team: %w", err)
			}
		}
		return w.tell(ctx, tx, s, audit.Event{Action: "team.deleted", Target: t.target()})
	})
}

// changeTeam does one thing to a team and gives the team as it is then.
func (w *Teams) changeTeam(ctx context.Context, by Caller, address string, fn func(*sqldb.Tx, seat) (id string, e audit.Event, err error)) (t Team, err error) {
	err = w.DB.Write(ctx, func(tx *sqldb.Tx) error {
		s, err := enter(tx, by, address, Manage)
		if err != nil {
			return err
		}
		id, e, err := fn(tx, s)
		if err != nil {
			return err
		}
		if t, err = w.team(tx, s.ID, id); err != nil || e.Action == "" {
			return err
		}
		e.Target = t.target()
		return w.tell(ctx, tx, s, e)
	})
	if err != nil {
		return Team{}, err
	}
	return t, nil
}

// touchTeam counts a change of a team.
func (w *Teams) touchTeam(tx *sqldb.Tx, id, set string, args ...any) error {
	if set != "" {
		set += ", "
	}
	return tx.Do("change team", "UPDATE teams SET "+set+"version = version + 1, updated_at = $2 WHERE id = $1", append([]any{id, w.Now().UnixMilli()}, args...)...)
}

// refuseFull refuses one more of what there are enough of.
func refuseFull(tx *sqldb.Tx, from, id, what string, most int) error {
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM "+from, id).Scan(&n); err != nil {
		return fmt.Errorf("count %s: %w", what, err)
	}
	if n >= most {
		return tooMany(what, most)
	}
	return nil
}
