package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// Load is how much work there is, of all scopes.
type Load struct {
	Waiting int64            // streams that could be worked on now, and that nobody has
	Oldest  time.Duration    // how long the first of them has waited
	Held    map[string]int64 // streams that are worked on, by node
}

// Look says how much work there is now. It counts by the indexes of what waits and what is held.
func Look(ctx context.Context, db *sqldb.DB) (Load, error) {
	return sqldb.Read(ctx, db, func(tx *sqldb.Tx) (l Load, err error) {
		now := "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
		if db.Dialect() == sqldb.Postgres {
			now = postgresNow
		}
		var oldest int64
		if err := tx.QueryRow(`SELECT COUNT(*), CAST(COALESCE(MAX(`+now+` - ready_at), 0) AS bigint) FROM streams
WHERE next_seq > done_seq AND owner IS NULL AND ready_at <= `+now).Scan(&l.Waiting, &oldest); err != nil {
			return l, fmt.Errorf("look at what waits: %w", err)
		}
		l.Oldest, l.Held = time.Duration(oldest)*time.Millisecond, map[string]int64{}
		add := func(row sqldb.Row) (n int64, err error) {
			var owner string
			err = row.Scan(&owner, &n)
			node, _, _ := strings.Cut(owner, "/")
			l.Held[node] += n
			return n, err
		}
		if _, err := sqldb.Collect(tx, add, "SELECT owner, COUNT(*) FROM streams WHERE next_seq > done_seq AND owner IS NOT NULL AND ready_at > "+now+" GROUP BY owner"); err != nil {
			return l, fmt.Errorf("look at what is held: %w", err)
		}
		return l, nil
	})
}
