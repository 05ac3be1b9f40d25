package secret

import (
	"context"

	"svc.dev/svc/internal/sqldb"
)

// Prove reports with ErrKeyMismatch why Open would refuse the keys, for the same reason, on a migrated database. Unlike Open it
// only reads. A key that the database has not met is no fault: Open leaves a canary for it.
func Prove(ctx context.Context, db *sqldb.DB, keys KeyProvider) error {
	return db.Snapshot(ctx, func(tx *sqldb.Tx) error {
		_, err := examine(tx, keys)
		return err
	})
}
