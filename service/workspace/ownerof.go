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
	err = tx.QueryRow("SELECT owner FROM workspaces WHERE scope = $1 AND suspended_at IS NULL AND deleted_at IS NULL", address).Scan(&owner)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("find owner: %w", err)
	}
	return owner, true, nil
}
