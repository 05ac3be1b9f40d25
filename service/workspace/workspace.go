// Package workspace is the businesses that people work in. It begins with the one that every person has.
package workspace

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/scope"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.Room{Name: "workspace", FS: sub(migrations, "migrations")}

func sub(f fs.FS, dir string) fs.FS {
	s, err := fs.Sub(f, dir)
	if err != nil {
		panic(err)
	}
	return s
}

// The roles of a workspace.
const (
	Owner   = "owner"
	Admin   = "admin"
	Builder = "builder"
	Viewer  = "viewer"
	Billing = "billing"
)

// Workspace is one business.
type Workspace struct {
	ID       string
	Owner    string // account
	Scope    string
	Business string
}

// Membership is a workspace as one of its people sees it.
type Membership struct {
	Workspace
	Role      string
	Suspended bool
}

// MakePersonal makes the workspace of sign-up, or completes one that was half made, in the caller's transaction.
func MakePersonal(tx *sqldb.Tx, now time.Time, account, username string) (Workspace, error) {
	address := scope.Of(username, scope.Personal).String()
	_, err := tx.Exec(`INSERT INTO workspaces (id, owner, scope, business, name, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (scope) DO NOTHING`,
		"wsp_"+ulid.Make().String(), account, address, scope.Personal, "Personal", now.UnixMilli())
	if err != nil {
		return Workspace{}, fmt.Errorf("make workspace: %w", err)
	}
	w := Workspace{Owner: account, Scope: address, Business: scope.Personal}
	if err := tx.QueryRow("SELECT id FROM workspaces WHERE scope = $1 AND owner = $2", address, account).Scan(&w.ID); err != nil {
		return Workspace{}, fmt.Errorf("find workspace: %w", err)
	}
	_, err = tx.Exec(`INSERT INTO members (workspace, account, role, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (workspace, account) DO NOTHING`, w.ID, account, Owner, now.UnixMilli())
	if err != nil {
		return Workspace{}, fmt.Errorf("make member: %w", err)
	}
	return w, nil
}

const memberships = `SELECT w.id, w.owner, w.scope, w.business, m.role, w.suspended_at IS NOT NULL
	FROM members m JOIN workspaces w ON w.id = m.workspace WHERE m.account = $1`

// Of lists the workspaces of a person, the oldest first.
func Of(tx *sqldb.Tx, account string) ([]Membership, error) {
	rows, err := tx.Query(memberships+" ORDER BY w.created_at, w.id", account)
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	defer rows.Close()
	var all []Membership
	for rows.Next() {
		var m Membership
		if err := rows.Scan(&m.ID, &m.Owner, &m.Scope, &m.Business, &m.Role, &m.Suspended); err != nil {
			return nil, fmt.Errorf("list workspaces: %w", err)
		}
		all = append(all, m)
	}
	return all, rows.Err()
}

// Find is the membership of a person in the workspace of that scope; found is false for everybody else, as for a
// workspace that does not exist.
func Find(tx *sqldb.Tx, account, address string) (m Membership, found bool, err error) {
	err = tx.QueryRow(memberships+" AND w.scope = $2", account, address).
		Scan(&m.ID, &m.Owner, &m.Scope, &m.Business, &m.Role, &m.Suspended)
	if errors.Is(err, sql.ErrNoRows) {
		return m, false, nil
	}
	if err != nil {
		return m, false, fmt.Errorf("find workspace: %w", err)
	}
	return m, true, nil
}

// SharedOf lists the scopes that a person owns and other people work in.
func SharedOf(tx *sqldb.Tx, account string) ([]string, error) {
	rows, err := tx.Query(`SELECT w.scope FROM workspaces w WHERE w.owner = $1
		AND EXISTS (SELECT 1 FROM members m WHERE m.workspace = w.id AND m.account <> $1) ORDER BY w.scope`, account)
	if err != nil {
		return nil, fmt.Errorf("list shared workspaces: %w", err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var address string
		if err := rows.Scan(&address); err != nil {
			return nil, fmt.Errorf("list shared workspaces: %w", err)
		}
		all = append(all, address)
	}
	return all, rows.Err()
}
