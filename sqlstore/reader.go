package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"iter"
	"log/slog"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

// NewReader gives a store for those who only read: it voids no lease, sweeps nothing and hears of nothing. Its database may be one
// that is opened to be read, and others may work on it.
func NewReader(db *sqldb.DB, c Config) *Store {
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Now == nil && db.Dialect() == sqldb.SQLite {
		c.Now = time.Now
	}
	return &Store{
		db: db, config: c, workers: map[string]*worker{}, sql: statementsFor(db.Dialect()), stop: func() {},
		hub: hub{remote: func(...string) {}, watchers: map[uint64]map[*watcher]struct{}{}},
	}
}

// OpenReader opens the database at an address to be read, and gives a store as NewReader does that owns it. A SQLite file belongs to
// one process: nobody else may have it open.
func OpenReader(ctx context.Context, address string, c Config) (*Store, error) {
	db, err := sqldb.Open(ctx, address, sqldb.Options{Folder: c.Folder, Log: c.Log, Timeout: c.Timeout, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	s := NewReader(db, c)
	s.owned = true
	return s, nil
}

// unfinished are the streams on which there is work to do, each part from an index of its own.
const unfinished = `SELECT id FROM streams WHERE next_seq > done_seq AND owner IS NULL UNION ALL
SELECT id FROM streams WHERE next_seq > done_seq AND owner IS NOT NULL`

// Unfinished are the streams on which there is work to do, as leases that nobody holds. What is finished meanwhile may be left out.
func (s *Store) Unfinished(ctx context.Context) iter.Seq2[svc.Lease, error] {
	return func(yield func(svc.Lease, error) bool) {
		rows, err := sqldb.ReadAll(ctx, s.db, sqldb.Column[int64], unfinished)
		if err != nil {
			yield(svc.Lease{}, wrap("find unfinished work", err))
			return
		}
		for _, row := range rows {
			l, err := lookAt(ctx, s.db, row)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if !yield(l, wrap("look at unfinished work", err)) || err != nil {
				return
			}
		}
	}
}

// lookAt reads a stream as a claim would find it.
func lookAt(ctx context.Context, db *sqldb.DB, row int64) (svc.Lease, error) {
	return sqldb.Snapshot(ctx, db, func(tx *sqldb.Tx) (svc.Lease, error) {
		var f found
		err := tx.QueryRow(`SELECT id, epoch, `+leaseColumns+`, reason FROM streams WHERE id = $1 AND next_seq > done_seq`, row).
			Scan(append(f.fields(), &f.reason)...)
		if err != nil {
			return svc.Lease{}, err
		}
		var b svc.Submission
		if err := tx.QueryRow(headSubmission, row, f.lease.Submission.Seq).Scan(submissionFields(&b)...); err != nil {
			return svc.Lease{}, err
		}
		return f.finish(svc.Owner{}, b, 0), nil
	})
}
