package workspace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
)

// Colleague is somebody as others of the workspace see them.
type Colleague struct {
	Account     string `json:"account" id:"acc"`
	Username    string `json:"username"`
	DisplayName string `json:"displayName"`
}

// Member is one of a workspace's people.
type Member struct {
	Colleague
	Role       string     `json:"role"`
	Teams      []TeamName `json:"teams"` // by name
	LastSeenAt iso.Moment `json:"lastSeenAt" null:"never"`
	CreatedAt  iso.Moment `json:"createdAt"`
	UpdatedAt  iso.Moment `json:"updatedAt"`
	Version    int64      `json:"version"`
}

// TeamName is a team as its members' entries name it.
type TeamName struct {
	ID   string `json:"id" id:"tem"`
	Name string `json:"name"`
}

const memberColumns = "m.account, m.role, m.created_at, m.updated_at, m.version"

func scanMember(row sqldb.Row) (m Member, err error) {
	var created, updated int64
	err = row.Scan(&m.Account, &m.Role, &created, &updated, &m.Version)
	m.CreatedAt, m.UpdatedAt = iso.Millis(created), iso.Millis(max(created, updated))
	return m, err
}

// People is the people of a workspace.
func (w *Workspaces) People(ctx context.Context, by Caller, address string, q listing.Query) (p listing.Page[Member], err error) {
	sel, err := selected(q)
	if err != nil {
		return p, err
	}
	err = w.DB.Snapshot(ctx, func(tx *sqldb.Tx) error {
		s, err := look(tx, by, address, Read)
		if err != nil {
			return err
		}
		all, err := w.people(tx, s.ID, sel)
		p = listing.Cut(all, sel.limit, func(m Member) []any { return listing.Age(m.CreatedAt.Time, m.Account) })
		return err
	})
	if err != nil {
		return listing.Page[Member]{}, err
	}
	return p, nil
}

// people reads the members that a page may hold. How they are called is not known here, so for a text all are read, which
// are not many.
func (w *Workspaces) people(tx *sqldb.Tx, workspace string, sel selection) ([]Member, error) {
	limit := sel.limit + 1
	if sel.text != "" {
		limit = maxPeople
	}
	all, err := sqldb.Collect(tx, scanMember, "SELECT "+memberColumns+` FROM members m WHERE m.workspace = $1 AND (m.created_at, m.account) < ($2, $3)
		ORDER BY m.created_at DESC, m.account DESC LIMIT $4`, workspace, sel.at, sel.id, limit)
	if err != nil {
		return nil, fmt.Errorf("list people: %w", err)
	}
	if err := w.describe(tx, workspace, all); err != nil || sel.text == "" {
		return all, err
	}
	var named []Member
	for _, m := range all {
		if strings.Contains(m.Username, sel.text) || strings.Contains(strings.ToLower(m.DisplayName), sel.text) {
			named = append(named, m)
		}
	}
	return named, nil
}

// describe adds to members what others know of them.
func (w *Workspaces) describe(tx *sqldb.Tx, workspace string, all []Member) error {
	ids := make([]string, len(all))
	for i, m := range all {
		ids[i] = m.Account
	}
	known, err := w.lookup(tx, ids...)
	if err != nil {
		return err
	}
	teams, err := teamNames(tx, workspace)
	if err != nil {
		return err
	}
	for i := range all {
		m := &all[i]
		m.Colleague = colleague(known, m.Account)
		m.LastSeenAt, m.Teams = iso.At(known[m.Account].LastSeenAt), append([]TeamName{}, teams[m.Account]...)
	}
	return nil
}

// lookup is who accounts are; it asks nobody about none.
func (w *Workspaces) lookup(tx *sqldb.Tx, ids ...string) (map[string]Person, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	known, err := w.Lookup(tx, ids)
	if err != nil {
		return nil, fmt.Errorf("look up people: %w", err)
	}
	return known, nil
}

func colleague(known map[string]Person, account string) Colleague {
	return Colleague{Account: account, Username: known[account].Username, DisplayName: known[account].DisplayName}
}

// teamNames is the teams of each member of a workspace.
func teamNames(tx *sqldb.Tx, workspace string) (map[string][]TeamName, error) {
	teams := map[string][]TeamName{}
	_, err := sqldb.Collect(tx, func(row sqldb.Row) (t TeamName, err error) {
		var account string
		err = row.Scan(&t.ID, &t.Name, &account)
		teams[account] = append(teams[account], t)
		return t, err
	}, `SELECT t.id, t.name, m.account FROM teams t JOIN team_members m ON m.team = t.id
		WHERE t.workspace = $1 ORDER BY t.folded`, workspace)
	if err != nil {
		return nil, fmt.Errorf("list teams of people: %w", err)
	}
	return teams, nil
}

// GetMember is one of a workspace's people. Everybody may see their own entry.
func (w *Workspaces) GetMember(ctx context.Context, by Caller, address, account string) (m Member, err error) {
	need := Read
	if account == by.ID {
		need = Enter
	}
	err = w.DB.Snapshot(ctx, func(tx *sqldb.Tx) error {
		s, err := look(tx, by, address, need)
		if err != nil {
			return err
		}
		m, err = w.member(tx, s.ID, account)
		return err
	})
	if err != nil {
		return Member{}, err
	}
	return m, nil
}

// member is one member, described.
func (w *Workspaces) member(tx *sqldb.Tx, workspace, account string) (Member, error) {
	m, err := findMember(tx, workspace, account)
	if err != nil {
		return m, err
	}
	one := []Member{m}
	err = w.describe(tx, workspace, one)
	return one[0], err
}

func findMember(tx *sqldb.Tx, workspace, account string) (Member, error) {
	if !isID("acc_", account) {
		return Member{}, itemNotFound()
	}
	m, err := scanMember(tx.QueryRow("SELECT "+memberColumns+" FROM members m WHERE m.workspace = $1 AND m.account = $2", workspace, account))
	if errors.Is(err, sql.ErrNoRows) {
		return Member{}, itemNotFound()
	}
	if err != nil {
		return Member{}, fmt.Errorf("find member: %w", err)
	}
	return m, nil
}
