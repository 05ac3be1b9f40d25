package sqlstore

import (
	"context"
	"sync"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

// witness remembers what the store's clock showed, to find out that it was set back: by an operator, or because another
// database has taken the place of the first.
type witness struct {
	mu   sync.Mutex
	last time.Time // by the store's clock
	at   time.Time // by the process's, which is never set: not before that
}

// setBackBy is more than clocks that are put right little by little differ by.
const setBackBy = time.Second

// setBack reports whether the clock, which was asked at a moment, shows less than it did and the time that went by since,
// however long the answers took.
func (w *witness) setBack(asked, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	back := !w.last.IsZero() && now.Before(w.last.Add(asked.Sub(w.at)-setBackBy))
	w.last, w.at = now, time.Now()
	return back
}

// What waits for a worker and not for a time: it rests for a moment at most.
const hasty = `next_seq > done_seq AND owner IS NULL AND ready_at < $2 AND
(reason IN ('', '` + svc.ReasonStopped + `', '` + svc.ReasonInterrupted + `', '` + svc.ReasonMemory + `', '` + svc.ReasonDefinition + `') OR abort_seq = done_seq)`

const hastenPostgres = `
WITH t AS MATERIALIZED (SELECT COALESCE($1::bigint, ` + postgresNow + `) AS now),
w AS (
  UPDATE streams SET ready_at = t.now FROM t WHERE id IN (
  SELECT id FROM streams WHERE ready_at > (SELECT now FROM t) AND ` + hasty + ` FOR UPDATE SKIP LOCKED)
), h AS (
  UPDATE streams SET ready_at = t.now + $3::bigint FROM t WHERE id IN (
  SELECT id FROM streams WHERE next_seq > done_seq AND owner IS NOT NULL AND ready_at > (SELECT now FROM t) + $3::bigint AND ready_at < $2
  FOR UPDATE SKIP LOCKED)
)
SELECT now FROM t`

// hasten makes ready what is not only because the clock shows less than when it was written down, and lets no lease last
// longer than one may. Work that waits for a time waits for it.
func (s *Store) hasten(ctx context.Context, o svc.Owner) error {
	if s.db.Dialect() == sqldb.Postgres {
		var now int64
		longest := max(leaseTime(o), workerAge.Milliseconds())
		return s.once(ctx, "make work ready", hastenPostgres, []any{s.clock(), unknown, longest}, []any{&now})
	}
	return s.write(ctx, "make work ready", func(tx *sqldb.Tx) error {
		_, err := tx.Exec(`UPDATE streams SET ready_at = $1 WHERE ready_at > $1 AND `+hasty, s.config.Now().UnixMilli(), unknown)
		return err
	})
}
