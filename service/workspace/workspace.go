// Package workspace is the businesses that people work in: who is in one, what they may do there, and how others come to it.
//
// What somebody may do is read from the database in the transaction that does it, so a change of role applies to the next
// request. Every verb that changes a workspace or its people locks the workspace's row first: no two of them meet, and
// each judges what the one before has left.
package workspace

import (
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("workspace", migrations)

// Workspace is one business.
type Workspace struct {
	ID        string     `json:"id" id:"wsp"`
	Owner     string     `json:"-"` // the account that the scope names, which always stays an owner
	Scope     string     `json:"scope"`
	Business  string     `json:"business"`
	Name      string     `json:"name"`
	Archived  bool       `json:"archived"`
	Suspended bool       `json:"suspended"`
	EraseAt   iso.Moment `json:"-"` // zero: it is not deleted
	CreatedAt iso.Moment `json:"createdAt"`
	UpdatedAt iso.Moment `json:"updatedAt"`
	Version   int64      `json:"version"`
}

// target is the workspace as what was acted on.
func (w Workspace) target() audit.Target { return audit.Target{Kind: "workspace", ID: w.ID} }

// Membership is a workspace as one of its people sees it.
type Membership struct {
	Workspace
	Role string `json:"role"`
}

// MakePersonal makes the workspace of sign-up, or completes one that was half made, in the caller's transaction.
func MakePersonal(tx *sqldb.Tx, now time.Time, account, username string) (Workspace, error) {
	address := scope.Of(username, scope.Personal).String()
	if _, err := insert(tx, now, account, address, scope.Personal, "Personal"); err != nil {
		return Workspace{}, err
	}
	w, found, err := oneWorkspace(tx, "w.scope = $1 AND w.owner = $2", address, account)
	if err == nil && !found {
		err = errors.New("find workspace: the name is another account's")
	}
	if err != nil {
		return Workspace{}, err
	}
	return w, join(tx, now, w.ID, account, Owner)
}

// insert makes a workspace without people; made is false when the scope was ever given before.
func insert(tx *sqldb.Tx, now time.Time, account, address, business, name string) (made bool, err error) {
	n, err := tx.Exec(`INSERT INTO workspaces (id, owner, scope, business, name, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (scope) DO NOTHING`,
		"wsp_"+ulid.Make().String(), account, address, business, name, now.UnixMilli())
	if err != nil {
		return false, fmt.Errorf("make workspace: %w", err)
	}
	return n == 1, nil
}

// join makes somebody a member. A member stays what they are.
func join(tx *sqldb.Tx, now time.Time, workspace, account, role string) error {
	return tx.Do("make member", `INSERT INTO members (workspace, account, role, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
		ON CONFLICT (workspace, account) DO NOTHING`, workspace, account, role, now.UnixMilli())
}

const columns = `COALESCE(w.id, ''), COALESCE(w.owner, ''), COALESCE(w.scope, ''), COALESCE(w.business, ''), COALESCE(w.name, ''),
	w.archived_at IS NOT NULL, w.suspended_at IS NOT NULL, CASE WHEN w.deleted_at IS NOT NULL THEN COALESCE(w.erase_at, 0) END,
	w.created_at, w.updated_at, COALESCE(w.version, 0)`

func (w *Workspace) fields() []any {
	return []any{
		&w.ID, &w.Owner, &w.Scope, &w.Business, &w.Name, &w.Archived, &w.Suspended, sqldb.Time(&w.EraseAt.Time),
		sqldb.Time(&w.CreatedAt.Time), sqldb.Time(&w.UpdatedAt.Time), &w.Version,
	}
}

func scanWorkspace(row sqldb.Row) (w Workspace, err error) {
	err = row.Scan(w.fields()...)
	return w, err
}

// MemberColumns are those of a Membership, also of none.
const MemberColumns = columns + ", COALESCE(m.role, '')"

// Fields are where MemberColumns go.
func (m *Membership) Fields() []any { return append(m.Workspace.fields(), &m.Role) }

func scanMembership(row sqldb.Row) (m Membership, err error) {
	err = row.Scan(m.Fields()...)
	return m, err
}

func oneWorkspace(tx *sqldb.Tx, where string, args ...any) (Workspace, bool, error) {
	return sqldb.First(tx, "find workspace", scanWorkspace, "SELECT "+columns+" FROM workspaces w WHERE "+where, args...)
}

const memberships = "SELECT " + MemberColumns + ` FROM members m JOIN workspaces w ON w.id = m.workspace
	WHERE m.account = $1 AND w.deleted_at IS NULL`

// Of lists the workspaces of a person, the oldest first.
func Of(tx *sqldb.Tx, account string) ([]Membership, error) {
	all, err := sqldb.Collect(tx, scanMembership, memberships+" ORDER BY w.created_at, w.id", account)
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	return all, nil
}

// OfAll lists the workspaces of some people, by their accounts.
func OfAll(tx *sqldb.Tx, accounts []string) (map[string][]Membership, error) {
	of := map[string][]Membership{}
	if len(accounts) == 0 {
		return of, nil
	}
	marks, args := make([]string, len(accounts)), make([]any, len(accounts))
	for i, account := range accounts {
		marks[i], args[i] = "$"+strconv.Itoa(i+1), account
	}
	add := func(row sqldb.Row) (m Membership, err error) {
		var account string
		err = row.Scan(append(m.Fields(), &account)...)
		of[account] = append(of[account], m)
		return m, err
	}
	_, err := sqldb.Collect(tx, add, "SELECT "+MemberColumns+`, m.account FROM members m JOIN workspaces w ON w.id = m.workspace
		WHERE m.account IN (`+strings.Join(marks, ", ")+") AND w.deleted_at IS NULL ORDER BY w.created_at, w.id", args...)
	if err != nil {
		return nil, fmt.Errorf("list workspaces of people: %w", err)
	}
	return of, nil
}

// Find is the membership of a person in the workspace of that scope; found is false for everybody else, as for a
// workspace that does not exist or is deleted.
func Find(tx *sqldb.Tx, account, address string) (m Membership, found bool, err error) {
	if !named(address) {
		return m, false, nil
	}
	return sqldb.First(tx, "find workspace", scanMembership, memberships+" AND w.scope = $2", account, address)
}

// named reports whether a workspace can have the scope: of one that cannot the database is not asked, which takes no text
// that is none.
func named(address string) bool {
	_, err := scope.Parse(address)
	return err == nil
}

// At is the workspace of that scope, whoever asks; found is false for one that does not exist or is deleted.
func At(tx *sqldb.Tx, address string) (w Workspace, found bool, err error) {
	if !named(address) {
		return w, false, nil
	}
	return oneWorkspace(tx, "w.scope = $1 AND w.deleted_at IS NULL", address)
}

// SharedOf lists the scopes that a person owns and other people work in. It belongs in a Write: nobody comes to the
// person's workspaces until the transaction ends.
func SharedOf(tx *sqldb.Tx, account string) ([]string, error) {
	if err := lock(tx, "owner", account); err != nil {
		return nil, err
	}
	all, err := sqldb.Collect(tx, sqldb.Column[string], `SELECT w.scope FROM workspaces w WHERE w.owner = $1 AND w.deleted_at IS NULL
		AND EXISTS (SELECT 1 FROM members m WHERE m.workspace = w.id AND m.account <> $1) ORDER BY w.scope`, account)
	if err != nil {
		return nil, fmt.Errorf("list shared workspaces: %w", err)
	}
	return all, nil
}
