package throttle

import (
	"context"
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// batch is how many rows are swept in one transaction.
const batch = 500

// Sweep deletes the rows that no longer say anything, in small batches, and returns how many. It deletes nothing that
// could still refuse a call on a node whose clock is a minute behind.
func Sweep(ctx context.Context, db *sqldb.DB, now time.Time) (int64, error) {
	old := now.UnixMilli() - tolerance
	rates, err := sweep(ctx, db, "throttles", "tat", old)
	if err != nil {
		return rates, err
	}
	failures, err := sweep(ctx, db, "backoffs", "forget_at", old)
	return rates + failures, err
}

// sweep leaves rows alone that somebody has locked: they are in use.
func sweep(ctx context.Context, db *sqldb.DB, table, column string, old int64) (int64, error) {
	total, err := sqldb.Drain(ctx, db, batch, func(tx *sqldb.Tx) (int64, error) {
		return tx.Exec(`WITH old AS (SELECT key FROM `+table+` WHERE `+column+` < $1 ORDER BY `+column+` LIMIT $2`+
			tx.SkipLocked()+`) DELETE FROM `+table+` WHERE key IN (SELECT key FROM old) AND `+column+` < $1`, old, batch)
	})
	if err != nil {
		return total, fmt.Errorf("sweep %s: %w", table, err)
	}
	return total, nil
}
