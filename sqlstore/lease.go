package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

// voidAll makes every stream claimable that a process before this one held. Their owner stays named: the next claim counts
// an interruption.
func (s *Store) voidAll(ctx context.Context) error {
	return s.write(ctx, "void leases", func(tx *sqldb.Tx) error {
		_, err := tx.Exec(`UPDATE streams SET ready_at = $1, epoch = epoch + 1 WHERE next_seq > done_seq AND owner IS NOT NULL AND ready_at >= $2`,
			s.config.Now().UnixMilli(), forever)
		return err
	})
}

// millisTime scans a time kept in milliseconds; of what has not happened yet, that is none.
type millisTime time.Time

func (t *millisTime) Scan(v any) error {
	if v == nil {
		*t = millisTime{}
		return nil
	}
	ms, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is %T", v)
	}
	*t = millisTime(unixMilli(ms))
	return nil
}

// Renew prolongs the leases that are still the owner's. On SQLite none lapses: it only looks.
func (s *Store) Renew(ctx context.Context, o svc.Owner, held []svc.Lease) (svc.Renewed, error) {
	if s.db.Dialect() == sqldb.SQLite && len(held) == 0 {
		return svc.Renewed{Now: s.config.Now()}, nil
	}
	var kept map[int64]kept
	var now int64
	renew := either(s, s.heldSQLite, s.renewPostgres)
	err := s.db.Urgent(ctx, func(tx *sqldb.Tx) (err error) {
		kept, now, err = renew(tx, o, held)
		return err
	})
	if err != nil {
		return svc.Renewed{}, fmt.Errorf("renew: %w", unavailable(err))
	}
	return renewed(held, kept, now), nil
}

func renewed(held []svc.Lease, all map[int64]kept, now int64) svc.Renewed {
	r := svc.Renewed{Now: unixMilli(now)}
	for _, l := range held {
		k, ok := all[l.Row]
		if !ok || k.epoch != l.Epoch {
			r.Lost = append(r.Lost, l)
			continue
		}
		if k.busy {
			r.Busy = append(r.Busy, l)
		}
		if k.marked {
			r.Aborted = append(r.Aborted, l)
		}
	}
	return r
}

// kept is a lease that still stands.
type kept struct {
	row, epoch   int64
	marked, busy bool
}

// renewLeases passes over the rows that others have locked, and says so: a renewal that waited for one of them would let all
// the others lapse.
const renewLeases = `
WITH t AS (SELECT COALESCE($1::bigint, ` + postgresNow + `) AS now),
h AS (SELECT id, epoch FROM unnest($3::bigint[], $4::bigint[]) AS h(id, epoch)),
free AS (
  SELECT s.id FROM streams s JOIN h ON s.id = h.id AND s.epoch = h.epoch WHERE s.owner = $5 FOR UPDATE OF s SKIP LOCKED
), u AS (
  UPDATE streams SET ready_at = t.now + $2 FROM free, t WHERE streams.id = free.id RETURNING streams.id
), w AS (
  UPDATE workers SET seen_at = t.now FROM t WHERE workers.owner = $5
)
SELECT t.now, COALESCE(streams.id, 0), COALESCE(streams.epoch, 0), COALESCE(` + marked + `, FALSE), u.id IS NULL
FROM t LEFT JOIN (streams JOIN h ON streams.id = h.id AND streams.epoch = h.epoch AND streams.owner = $5) ON TRUE LEFT JOIN u ON u.id = streams.id`

func (s *Store) renewPostgres(tx *sqldb.Tx, o svc.Owner, held []svc.Lease) (map[int64]kept, int64, error) {
	rows, epochs := make([]int64, len(held)), make([]int64, len(held))
	for i, l := range held {
		rows[i], epochs[i] = l.Row, l.Epoch
	}
	var now int64
	list, err := collect(tx, func(k *kept) []any { return []any{&now, &k.row, &k.epoch, &k.marked, &k.busy} },
		renewLeases, s.clock(), leaseTime(o), rows, epochs, ownerName(o))
	return byRow(list), now, err
}

func (s *Store) heldSQLite(tx *sqldb.Tx, o svc.Owner, held []svc.Lease) (map[int64]kept, int64, error) {
	rows := make([]int64, len(held))
	for i, l := range held {
		rows[i] = l.Row
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return nil, 0, err
	}
	found, err := collect(tx, func(k *kept) []any { return []any{&k.row, &k.epoch, &k.marked} }, `
SELECT id, epoch, `+marked+` FROM streams
WHERE id IN (SELECT value FROM json_each($1)) AND owner = $2`, string(list), ownerName(o))
	return byRow(found), s.config.Now().UnixMilli(), err
}

func byRow(list []kept) map[int64]kept {
	all := make(map[int64]kept, len(list))
	for _, k := range list {
		all[k.row] = k
	}
	return all
}

// Release gives a lease back.
func (s *Store) Release(ctx context.Context, l svc.Lease, r svc.Release) error {
	query := `UPDATE streams SET owner = NULL, reason = $1, attempts = attempts + $2,
ready_at = ` + s.sql.at(3) + ` + CASE WHEN abort_seq = done_seq AND next_seq > done_seq THEN 0 ELSE $4 END
WHERE id = $5 AND epoch = $6 AND owner = $7 RETURNING id`
	var row int64
	args := []any{r.Reason, sqldb.Bit(r.Failed), s.clock(), max(r.After, 0).Milliseconds(), l.Row, l.Epoch, l.Owner}
	err := s.change(ctx, "release", &statement{query: query, args: args, stream: l.Stream, dest: []any{&row}})
	if errors.Is(err, sql.ErrNoRows) {
		return svc.ErrFenced
	}
	if err != nil {
		return err
	}
	s.hub.signal(svc.Topic{Of: svc.Ready})
	return nil
}

// giveBack releases leases that nobody holds, and asks again while the database is too slow for it.
func (s *Store) giveBack(leases []svc.Lease) {
	for _, l := range leases {
		for s.slow(s.Release(context.Background(), l, svc.Release{})) {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// slow reports whether the same may succeed later.
func (s *Store) slow(err error) bool {
	gone := errors.Is(err, sqldb.ErrClosed) || s.db.Err() != nil
	return !gone && (errors.Is(err, svc.ErrBusy) || errors.Is(err, svc.ErrUnavailable))
}

// change runs one statement that answers with at most one row; sql.ErrNoRows is its refusal.
func (s *Store) change(ctx context.Context, doing string, st *statement) error {
	if s.db.Dialect() == sqldb.Postgres {
		return wrap(doing, s.committer.do(ctx, st))
	}
	refused := false
	err := s.write(ctx, doing, func(tx *sqldb.Tx) error {
		err := tx.QueryRow(st.query, st.args...).Scan(st.dest...)
		if refused = errors.Is(err, sql.ErrNoRows); refused {
			return nil
		}
		return err
	})
	if err == nil && refused {
		return sql.ErrNoRows
	}
	return err
}

// Abort marks unsettled work.
func (s *Store) Abort(ctx context.Context, a svc.Stream, submission string) (bool, error) {
	if !storableStream(a) || !sqldb.Storable(submission) {
		return false, nil
	}
	abort := either(s, s.abortSQLite, s.abortPostgres)
	named, err := abort(ctx, a, submission)
	if err != nil || named == 0 {
		return false, err
	}
	s.hub.signal(svc.Topic{Stream: a, Of: svc.Mark})
	s.hub.signal(svc.Topic{Of: svc.Ready})
	return true, nil
}

func (s *Store) abortSQLite(ctx context.Context, a svc.Stream, submission string) (named int64, err error) {
	err = s.write(ctx, "abort", func(tx *sqldb.Tx) error {
		p, err := s.findRow(tx, a)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		now := s.config.Now().UnixMilli()
		named, err = tx.Exec(`UPDATE submissions SET abort_at = COALESCE(abort_at, $1)
WHERE stream = $2 AND seq >= $3 AND seq < $4 AND ($5 = '' OR id = $5)`, now, p.row, p.done, p.next, submission)
		if err != nil || named == 0 {
			return err
		}
		_, err = tx.Exec(`UPDATE streams SET abort_seq = done_seq,
ready_at = CASE WHEN owner IS NULL AND ready_at > $1 THEN $1 ELSE ready_at END
WHERE id = $2 AND EXISTS (SELECT 1 FROM submissions WHERE stream = $2 AND seq = $3 AND abort_at IS NOT NULL)`, now, p.row, p.done)
		return err
	})
	if err != nil {
		return 0, err
	}
	return named, nil
}

// markWork marks what its snapshot shows of the queue as the locked row has it; waits is whether work is there at all.
const markWork = `
WITH t AS (SELECT COALESCE($1::bigint, ` + postgresNow + `) AS now),
p AS (SELECT id, done_seq, next_seq FROM streams WHERE scope = $2 AND kind = $3 AND name = $4 AND instance = $5 FOR UPDATE),
b AS (
  UPDATE submissions SET abort_at = COALESCE(abort_at, t.now) FROM p, t
  WHERE stream = p.id AND seq >= p.done_seq AND seq < p.next_seq AND ($6 = '' OR submissions.id = $6) RETURNING seq
), s AS (
  UPDATE streams SET abort_seq = p.done_seq, ready_at = CASE WHEN owner IS NULL AND ready_at > t.now THEN t.now ELSE ready_at END
  FROM p, t WHERE streams.id = p.id AND EXISTS (SELECT 1 FROM b WHERE b.seq = p.done_seq)
)
SELECT (SELECT count(*) FROM b), COALESCE((SELECT next_seq > done_seq FROM p), FALSE)`

// abortPostgres looks again when work is there that its snapshot did not show: it was admitted while the row was locked.
func (s *Store) abortPostgres(ctx context.Context, a svc.Stream, submission string) (int64, error) {
	for try := 0; ; try++ {
		var named int64
		var waits bool
		err := s.change(ctx, "abort", &statement{
			query: markWork, stream: a, dest: []any{&named, &waits},
			args: []any{s.clock(), a.Scope, string(a.Kind), a.Name, a.ID, submission},
		})
		if err != nil {
			return 0, err
		}
		if named > 0 || !waits || try == 2 {
			return named, nil
		}
	}
}

// collect reads the rows of a statement into the fields of values.
func collect[T any](tx *sqldb.Tx, fields func(*T) []any, query string, args ...any) ([]T, error) {
	return sqldb.Collect(tx, func(row sqldb.Row) (v T, err error) {
		err = row.Scan(fields(&v)...)
		return v, err
	}, query, args...)
}

// tailFields are where the columns of tailColumns are scanned to.
func tailFields(t *svc.Tail) []any {
	return []any{(*int64)(&t.Head), &t.Part, &t.Closed, &t.Aborted, (*int64)(&t.OpenFrom), (*int64)(&t.ContextFrom), &t.Messages}
}

const tailColumns = `head, part, closed, ` + marked + `, open_from, context_from, messages`
