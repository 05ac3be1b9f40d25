package workspace

import (
	"context"
	"fmt"
	"slices"
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
func (w *Workspaces) People(ctx context.Context, by Caller, address string, q listing.Query) (listing.Page[Member], error) {
	place := func(m Member) []any { return listing.Age(m.CreatedAt.Time, m.Account) }
	return paged(ctx, w, by, address, Read, q, place, people)
}

// people reads the members that a page may hold. No database folds the letters of all names, so for a text all are read, which
// are not many.
func people(tx *sqldb.Tx, workspace string, sel selection) ([]Member, error) {
	limit := sel.limit + 1
	if sel.text != "" {
		limit = maxPeople
	}
	all, err := sqldb.Collect(tx, scanMember, "SELECT "+memberColumns+` FROM members m WHERE m.workspace = $1 AND (m.created_at, m.account) < ($2, $3)
		ORDER BY m.created_at DESC, m.account DESC LIMIT $4`, workspace, sel.at, sel.id, limit)
	if err != nil {
		return nil, fmt.Errorf("list people: %w", err)
	}
	if err := describe(tx, workspace, all); err != nil || sel.text == "" {
		return all, err
	}
	return slices.DeleteFunc(all, func(m Member) bool {
		return !strings.Contains(m.Username, sel.text) && !strings.Contains(strings.ToLower(m.DisplayName), sel.text)
	}), nil
}

// describe adds to members what others know of them.
func describe(tx *sqldb.Tx, workspace string, all []Member) error {
	ids := make([]string, len(all))
	for i, m := range all {
		ids[i] = m.Account
	}
	known, err := lookup(tx, ids...)
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
func (w *Workspaces) GetMember(ctx context.Context, by Caller, address, account string) (Member, error) {
	need := Read
	if account == by.ID {
		need = Enter
	}
	return read(ctx, w, by, address, need, func(tx *sqldb.Tx, s seat) (Member, error) { return w.member(tx, s.ID, account) })
}

// member is one member, described.
func (w *Workspaces) member(tx *sqldb.Tx, workspace, account string) (Member, error) {
	m, err := findMember(tx, workspace, account)
	if err != nil {
		return m, err
	}
	one := []Member{m}
	err = describe(tx, workspace, one)
	return one[0], err
}

func findMember(tx *sqldb.Tx, workspace, account string) (Member, error) {
	if !isID("acc_", account) {
		return Member{}, itemNotFound()
	}
	m, found, err := sqldb.First(tx, "find member", scanMember, "SELECT "+memberColumns+" FROM members m WHERE m.workspace = $1 AND m.account = $2", workspace, account)
	if err == nil && !found {
		err = itemNotFound()
	}
	return m, err
}
