package workspace

import (
	"fmt"

	"svc.dev/svc/internal/sqldb"
)

// OwnersOf is the workspace of a scope and the accounts that own it. One that is deleted or not there has no ID.
func OwnersOf(tx *sqldb.Tx, address string) (w Workspace, owners []string, err error) {
	w, found, err := At(tx, address)
	if err != nil || !found {
		return Workspace{}, nil, err
	}
	if owners, err = sqldb.Collect(tx, sqldb.Column[string], "SELECT account FROM members WHERE workspace = $1 AND role = $2 ORDER BY created_at, account", w.ID, Owner); err != nil {
		return Workspace{}, nil, fmt.Errorf("find owners: %w", err)
	}
	return w, owners, nil
}
