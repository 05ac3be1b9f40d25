package workspace

import (
	"database/sql"
	"errors"
	"fmt"

	"svc.dev/svc/internal/sqldb"
)

// OwnerOf is the account that owns the workspace of a scope; found is false for one that is suspended, deleted or not
// there.
func OwnerOf(tx *sqldb.Tx, address string) (owner string, found bool, err error) {
	if !named(address) {
		return "", false, nil
	}
	err = tx.QueryRow("SELECT owner FROM workspaces WHERE scope = $1 AND suspended_at IS NULL AND deleted_at IS NULL", address).Scan(&owner)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("find owner: %w", err)
	}
	return owner, true, nil
}

// OwnersOf is the workspace of a scope and the accounts that own it. One that is deleted or not there has no ID.
func OwnersOf(tx *sqldb.Tx, address string) (w Workspace, owners []string, err error) {
	if !named(address) {
		return w, nil, nil
	}
	w, found, err := oneWorkspace(tx, "w.scope = $1 AND w.deleted_at IS NULL", address)
	if err != nil || !found {
		return Workspace{}, nil, err
	}
	rows, err := tx.Query("SELECT account FROM members WHERE workspace = $1 AND role = $2 ORDER BY created_at, account", w.ID, Owner)
	if owners, err = collect(rows, err, scanText); err != nil {
		return Workspace{}, nil, fmt.Errorf("find owners: %w", err)
	}
	return w, owners, nil
}
