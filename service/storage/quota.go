package storage

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math/bits"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
)

// Quota is the row of a workspace.
type Quota struct {
	scope                string
	limit                int64
	used, reserved       int64
	attachments, streams int64
	measuredAt           int64
	warned               int64 // the threshold that its owners were told of last, 0 for none
}

// total is what counts against the limit and is there already.
func (q Quota) total() int64 { return q.used + q.attachments + q.streams }

// Free is how many bytes more can be reserved; it is negative for a workspace that is over its limit.
func (q Quota) Free() int64 { return q.limit - q.total() - q.reserved }

// against compares what is there with a part of the limit, in percent, however large both are.
func (q Quota) against(percent int64) int {
	aHigh, aLow := bits.Mul64(uint64(max(q.total(), 0)), 100)
	bHigh, bLow := bits.Mul64(uint64(q.limit), uint64(percent))
	return cmp.Or(cmp.Compare(aHigh, bHigh), cmp.Compare(aLow, bLow))
}

// maxOverdraft bounds the overdraft where one percent of the limit is more.
const maxOverdraft = 64 << 20

// overdraft is how far work that was admitted may pass the limit.
func (q Quota) overdraft() int64 { return min(q.limit/100, maxOverdraft) }

// Refuse says that there is no room for so many bytes.
func (q Quota) Refuse(asked int64) error {
	return fault.New(fault.StorageQuotaExceeded, "The workspace has no room for this.", "Delete something, or ask for a higher limit.").
		With("limitBytes", q.limit).With("usedBytes", q.total()).With("requestedBytes", asked)
}

// quotaColumns need the limit of a row without its own as $2.
const quotaColumns = "scope, COALESCE(limit_bytes, $2), used, reserved, attachments, streams, measured_at, warned"

func scanQuota(row sqldb.Row) (q Quota, err error) {
	err = row.Scan(&q.scope, &q.limit, &q.used, &q.reserved, &q.attachments, &q.streams, &q.measuredAt, &q.warned)
	return q, err
}

// row is the row of a scope, and zeros where it never stored anything.
func (g *Gauge) row(tx *sqldb.Tx, scope, suffix string) (q Quota, found bool, err error) {
	q, found, err = sqldb.First(tx, "read quota", scanQuota, "SELECT "+quotaColumns+" FROM storage_quotas WHERE scope = $1"+suffix, scope, g.limit)
	if !found {
		q = Quota{scope: scope, limit: g.limit}
	}
	return q, found, err
}

// Read is the quota of a scope as its row says.
func (g *Gauge) Read(ctx context.Context, scope string) (Quota, error) {
	return sqldb.Read(ctx, g.db, func(tx *sqldb.Tx) (Quota, error) {
		q, _, err := g.row(tx, scope, "")
		return q, err
	})
}

// Lock runs fn in a transaction that has locked the row of a scope: nobody else changes the quota, the reservations, the files
// and the announced changes of the scope meanwhile.
func (s *Quotas) Lock(ctx context.Context, scope string, fn func(tx *sqldb.Tx, q *Quota) error) error {
	done, err := s.turn(ctx, scope)
	if err != nil {
		return err
	}
	defer done()
	return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		q, err := s.lock(tx, scope)
		if err != nil {
			return err
		}
		return fn(tx, &q)
	})
}

// turn waits for a scope's turn where the database has many connections: whoever waits for a row inside a transaction takes one of
// them from everybody else, and the row is not given to the first of many that want it.
func (s *Quotas) turn(ctx context.Context, scope string) (done func(), err error) {
	if !s.DB.Shared() {
		return func() {}, nil
	}
	patient, cancel := context.WithTimeout(ctx, s.DB.Timeout())
	defer cancel()
	done, err = s.turns.Wait(patient, scope)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("wait for the quota of %s: %w", scope, sqldb.ErrBusy)
	}
	return done, err
}

// lock makes the row if need be.
func (s *Quotas) lock(tx *sqldb.Tx, scope string) (Quota, error) {
	q, found, err := s.row(tx, scope, tx.ForUpdate())
	if err != nil || found {
		return q, err
	}
	if err := tx.Do("make quota", "INSERT INTO storage_quotas (scope) VALUES ($1) ON CONFLICT (scope) DO NOTHING", scope); err != nil {
		return q, err
	}
	q, _, err = s.row(tx, scope, tx.ForUpdate())
	return q, err
}

// Change is Lock for what changes how much is stored: it warns the owners afterwards where that is news to them.
func (s *Quotas) Change(ctx context.Context, scope string, fn func(tx *sqldb.Tx, q *Quota) error) error {
	var is Quota
	err := s.Lock(ctx, scope, func(tx *sqldb.Tx, q *Quota) error {
		err := fn(tx, q)
		is = *q
		return err
	})
	if err == nil {
		s.heed(ctx, is)
	}
	return err
}

// Store counts files that an operation made larger by so many bytes, some of which it had reserved.
func (q *Quota) Store(tx *sqldb.Tx, op string, bytes, reserved int64) error {
	if reserved > 0 {
		// Its life stays as it is: this may be another who completes what the owner could not.
		if err := tx.Do("spend reservation", "UPDATE storage_reservations SET bytes = bytes - $2 WHERE id = $1", op, reserved); err != nil {
			return err
		}
	}
	return q.count(tx, bytes, -reserved)
}

// Drop frees what the files of a project took, and what is reserved for more of them.
func (q *Quota) Drop(tx *sqldb.Tx, project string, bytes int64) error {
	reserved, err := sumReserved(tx, "project = $1", project)
	if err != nil {
		return err
	}
	return cmp.Or(
		tx.Do("drop reservations", "DELETE FROM storage_reservations WHERE project = $1", project),
		q.count(tx, -bytes, -reserved),
	)
}

// Recount puts right what is used, which was counted, and what is reserved, and reports how much too many bytes each was.
func (q *Quota) Recount(tx *sqldb.Tx, bytes int64) (used, reserved int64, err error) {
	if reserved, err = sumReserved(tx, "scope = $1", q.scope); err != nil {
		return 0, 0, err
	}
	used, reserved = q.used-bytes, q.reserved-reserved
	return used, reserved, q.count(tx, -used, -reserved)
}

// count adds to what is used and what is reserved.
func (q *Quota) count(tx *sqldb.Tx, used, reserved int64) error {
	if used == 0 && reserved == 0 {
		return nil
	}
	q.used, q.reserved = q.used+used, q.reserved+reserved
	return tx.Do("count bytes", "UPDATE storage_quotas SET used = used + $2, reserved = reserved + $3 WHERE scope = $1", q.scope, used, reserved)
}

// Forget deletes the quota of a scope that stores nothing any more.
func Forget(tx *sqldb.Tx, scope string) error {
	return tx.Do("forget quota", "DELETE FROM storage_quotas WHERE scope = $1", scope)
}

// scopesAtOnce is how many scopes are read at once.
const scopesAtOnce = 200

// Scopes are those of all workspaces that ever stored anything, by their names. An error is the last.
func (s *Quotas) Scopes(ctx context.Context) iter.Seq2[string, error] { return s.scopes(ctx, "") }

// scopes are those that a condition holds for, whose arguments begin with $3.
func (s *Quotas) scopes(ctx context.Context, which string, args ...any) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for after := ""; ; {
			some, err := sqldb.ReadAll(ctx, s.DB, sqldb.Column[string], "SELECT scope FROM storage_quotas WHERE scope > $1"+which+" ORDER BY scope LIMIT $2",
				append([]any{after, scopesAtOnce}, args...)...)
			if err != nil {
				yield("", fmt.Errorf("list scopes: %w", err))
			}
			if err != nil || len(some) == 0 {
				return
			}
			for _, scope := range some {
				if after = scope; !yield(scope, ctx.Err()) || ctx.Err() != nil {
					return
				}
			}
		}
	}
}
