package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

// voidAll makes every stream claimable that a process before this one held. Their owner stays named: the next claim counts
// an interruption.
func (s *Store) voidAll(ctx context.Context) error {
	return s.write(ctx, "void leases", func(tx *sqldb.Tx) error {
		_, err := tx.Exec(`UPDATE streams SET ready_at = $1, epoch = epoch + 1 WHERE next_seq > done_seq AND ready_at >= $2`, s.config.Now().UnixMilli(), forever)
		return err
	})
}

// voidBoots does the same for the earlier boots of one node, once per owner.
func (s *Store) voidBoots(ctx context.Context, o svc.Owner) error {
	s.mu.Lock()
	done := s.voided[ownerName(o)]
	s.mu.Unlock()
	if done || s.db.Dialect() == sqldb.SQLite {
		return nil
	}
	prefix := o.Node + "/"
	err := s.write(ctx, "void leases", func(tx *sqldb.Tx) error {
		_, err := tx.Exec(`UPDATE streams SET epoch = epoch + 1, ready_at = `+s.sql.at(1)+` WHERE id IN (SELECT id FROM streams
WHERE next_seq > done_seq AND owner IS NOT NULL AND substr(owner, 1, $2) = $3 AND owner <> $4 ORDER BY id FOR UPDATE)`,
			s.clock(), utf8.RuneCountInString(prefix), prefix, ownerName(o))
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.voided[ownerName(o)] = true
	s.mu.Unlock()
	return nil
}

const leaseColumns = `scope, kind, name, instance, head, part, done_seq, open_from, context_from, messages, attempts`

// found is a stream that is about to be leased.
type found struct {
	lease svc.Lease
	row   int64
	ready int64
}

// Claim leases what has waited longest.
func (s *Store) Claim(ctx context.Context, o svc.Owner, n int) (svc.Claimed, error) {
	if err := s.voidBoots(ctx, o); err != nil {
		return svc.Claimed{}, err
	}
	if n <= 0 {
		return svc.Claimed{}, nil
	}
	var leases []svc.Lease
	var next int64
	err := s.write(ctx, "claim", func(tx *sqldb.Tx) (err error) {
		leases, next = nil, 0
		names, err := s.names(o.Workflows)
		if err != nil {
			return err
		}
		if s.db.Dialect() == sqldb.Postgres {
			leases, err = s.claimPostgres(tx, o, names, n)
		} else {
			leases, err = s.claimSQLite(tx, o, names, n)
		}
		if err != nil || len(leases) == n {
			return err
		}
		next, err = s.nextReady(tx)
		return err
	})
	c := svc.Claimed{Leases: leases}
	if next > 0 && next < forever {
		c.Next = unixMilli(next)
	}
	return c, err
}

// names is the list of workflows as a parameter: JSON for SQLite, an array for PostgreSQL.
func (s *Store) names(workflows []string) (any, error) {
	if s.db.Dialect() == sqldb.Postgres {
		return workflows, nil
	}
	data, err := json.Marshal(workflows)
	return string(data), err
}

func (s *Store) nextReady(tx *sqldb.Tx) (int64, error) {
	var next int64
	err := tx.QueryRow(`SELECT ready_at FROM streams WHERE next_seq > done_seq AND owner IS NULL AND ready_at > `+s.sql.at(1)+`
ORDER BY ready_at LIMIT 1`, s.clock()).Scan(&next)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return next, err
}

func (s *Store) claimSQLite(tx *sqldb.Tx, o svc.Owner, names any, n int) ([]svc.Lease, error) {
	rows, err := tx.Query(`SELECT id FROM streams WHERE next_seq > done_seq AND ready_at <= $1 AND `+s.sql.ours+
		` ORDER BY ready_at LIMIT CAST($4 AS bigint)`, s.clock(), names, o.Agents, n)
	if err != nil {
		return nil, err
	}
	ids, err := collect(rows, func(id *int64) []any { return []any{id} })
	if err != nil {
		return nil, err
	}
	leases := make([]svc.Lease, 0, len(ids))
	for _, id := range ids {
		l, err := s.leaseSQLite(tx, o, id)
		if err != nil {
			return nil, err
		}
		leases = append(leases, l)
	}
	return leases, nil
}

func (s *Store) leaseSQLite(tx *sqldb.Tx, o svc.Owner, row int64) (svc.Lease, error) {
	var interrupted bool
	var reason string
	if err := tx.QueryRow(`SELECT owner IS NOT NULL, reason FROM streams WHERE id = $1`, row).Scan(&interrupted, &reason); err != nil {
		return svc.Lease{}, err
	}
	var f found
	target := f.fields()
	err := tx.QueryRow(`UPDATE streams SET epoch = epoch + 1, owner = $1, ready_at = $2, reason = '',
attempts = attempts + CASE WHEN owner IS NULL THEN 0 ELSE 1 END WHERE id = $3 RETURNING id, epoch, ready_at, `+leaseColumns,
		ownerName(o), forever, row).Scan(target...)
	if err != nil {
		return svc.Lease{}, err
	}
	l := f.finish(o, interrupted, reason)
	err = tx.QueryRow(headSubmission, row, l.Submission.Seq).Scan(submissionFields(&l.Submission)...)
	l.Tail.Aborted = l.Submission.Aborted
	return l, err
}

const headSubmission = `SELECT id, kind, input, admitted_at, abort_at IS NOT NULL FROM submissions WHERE stream = $1 AND seq = $2`

// fields are where a row of id, epoch, ready_at and leaseColumns is scanned to.
func (f *found) fields() []any {
	l := &f.lease
	return []any{
		&f.row, &l.Epoch, &f.ready, &l.Stream.Scope, (*string)(&l.Stream.Kind), &l.Stream.Name, &l.Stream.ID,
		(*int64)(&l.Tail.Head), &l.Tail.Part, &l.Submission.Seq, (*int64)(&l.Tail.OpenFrom), (*int64)(&l.Tail.ContextFrom),
		&l.Tail.Messages, &l.Attempts,
	}
}

func (f *found) finish(o svc.Owner, interrupted bool, reason string) svc.Lease {
	l := f.lease
	l.Row, l.Owner, l.Interrupted = f.row, ownerName(o), interrupted
	if !interrupted {
		l.Reason = reason
	}
	l.Submission.State = svc.StateRunning
	return l
}

// millisTime scans a time kept in milliseconds.
type millisTime time.Time

func (t *millisTime) Scan(v any) error {
	ms, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is %T", v)
	}
	*t = millisTime(unixMilli(ms))
	return nil
}

func submissionFields(b *svc.Submission) []any {
	return []any{&b.ID, (*string)(&b.Kind), &b.Input, (*millisTime)(&b.AdmittedAt), &b.Aborted}
}

const claimPostgres = `
WITH c AS (
  SELECT id, done_seq, ready_at, owner IS NOT NULL AS interrupted, reason FROM streams
  WHERE next_seq > done_seq AND ready_at <= COALESCE($1::bigint, ` + postgresNow + `) AND (kind = 'run' AND name = ANY($2) OR kind = 'agent' AND $3)
  ORDER BY ready_at LIMIT $4 FOR UPDATE SKIP LOCKED
), s AS (
  UPDATE streams SET epoch = epoch + 1, owner = $5, ready_at = COALESCE($1::bigint, ` + postgresNow + `) + $6, reason = '',
    attempts = attempts + CASE WHEN owner IS NULL THEN 0 ELSE 1 END
  FROM c WHERE streams.id = c.id
  RETURNING streams.id AS row, epoch, c.ready_at, scope, kind, name, instance, head, part, streams.done_seq, open_from,
    context_from, messages, attempts, c.interrupted, c.reason
)
SELECT s.*, b.id, b.kind, b.input, b.admitted_at, b.abort_at IS NOT NULL
FROM s JOIN submissions b ON b.stream = s.row AND b.seq = s.done_seq`

func (s *Store) claimPostgres(tx *sqldb.Tx, o svc.Owner, names any, n int) ([]svc.Lease, error) {
	rows, err := tx.Query(claimPostgres, s.clock(), names, o.Agents, n, ownerName(o), leaseTime(o))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []found
	for rows.Next() {
		var f found
		var b svc.Submission
		var interrupted bool
		var reason string
		if err := rows.Scan(append(append(f.fields(), &interrupted, &reason), submissionFields(&b)...)...); err != nil {
			return nil, err
		}
		l := f.finish(o, interrupted, reason)
		b.Seq, b.State = l.Submission.Seq, l.Submission.State
		l.Submission, l.Tail.Aborted = b, b.Aborted
		all = append(all, found{lease: l, ready: f.ready})
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.ready, b.ready) })
	leases := make([]svc.Lease, len(all))
	for i, f := range all {
		leases[i] = f.lease
	}
	return leases, rows.Err()
}

// Renew prolongs the leases that are still the owner's. On SQLite none lapses: it only looks.
func (s *Store) Renew(ctx context.Context, o svc.Owner, held []svc.Lease) (svc.Renewed, error) {
	if len(held) == 0 {
		return svc.Renewed{}, nil
	}
	var kept map[int64]kept
	run, renew := s.write, s.renewPostgres
	if s.db.Dialect() == sqldb.SQLite {
		run, renew = s.read, s.heldSQLite
	}
	err := run(ctx, "renew", func(tx *sqldb.Tx) (err error) {
		kept, err = renew(tx, o, held)
		return err
	})
	if err != nil {
		return svc.Renewed{}, err
	}
	var r svc.Renewed
	for _, l := range held {
		k, ok := kept[l.Row]
		switch {
		case !ok || k.epoch != l.Epoch:
			r.Lost = append(r.Lost, l)
		case k.marked:
			r.Aborted = append(r.Aborted, l)
		}
	}
	return r, nil
}

// kept is a lease that still stands.
type kept struct {
	row, epoch int64
	marked     bool
}

func keptRows(rows *sql.Rows) (map[int64]kept, error) {
	list, err := collect(rows, func(k *kept) []any { return []any{&k.row, &k.epoch, &k.marked} })
	if err != nil {
		return nil, err
	}
	byRow := make(map[int64]kept, len(list))
	for _, k := range list {
		byRow[k.row] = k
	}
	return byRow, nil
}

func (s *Store) renewPostgres(tx *sqldb.Tx, o svc.Owner, held []svc.Lease) (map[int64]kept, error) {
	rows, epochs := make([]int64, len(held)), make([]int64, len(held))
	for i, l := range held {
		rows[i], epochs[i] = l.Row, l.Epoch
	}
	// Rows are locked in order, as the committers do: two that wait for each other would stand still for a second.
	result, err := tx.Query(`
WITH held AS (
  SELECT s.id FROM streams s JOIN unnest($3::bigint[], $4::bigint[]) AS h(id, epoch) ON s.id = h.id AND s.epoch = h.epoch
  WHERE s.owner = $5 ORDER BY s.id FOR UPDATE OF s
)
UPDATE streams SET ready_at = COALESCE($1::bigint, `+postgresNow+`) + $2 FROM held WHERE streams.id = held.id
RETURNING streams.id, streams.epoch, `+marked, s.clock(), leaseTime(o), rows, epochs, ownerName(o))
	if err != nil {
		return nil, err
	}
	return keptRows(result)
}

func (s *Store) heldSQLite(tx *sqldb.Tx, o svc.Owner, held []svc.Lease) (map[int64]kept, error) {
	rows := make([]int64, len(held))
	for i, l := range held {
		rows[i] = l.Row
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	result, err := tx.Query(`
SELECT id, epoch, `+marked+` FROM streams
WHERE id IN (SELECT value FROM json_each($1)) AND owner = $2`, string(list), ownerName(o))
	if err != nil {
		return nil, err
	}
	return keptRows(result)
}

// Release gives a lease back.
func (s *Store) Release(ctx context.Context, l svc.Lease, until time.Time, reason string) error {
	var n int64
	var at any
	if !until.IsZero() {
		at = until.UnixMilli()
	}
	err := s.write(ctx, "release", func(tx *sqldb.Tx) (err error) {
		n, err = tx.Exec(`UPDATE streams SET owner = NULL, reason = $1,
ready_at = CASE WHEN abort_seq = done_seq AND next_seq > done_seq THEN `+s.sql.at(3)+` ELSE COALESCE($2, `+s.sql.at(3)+`) END
WHERE id = $4 AND epoch = $5 AND owner = $6`, reason, at, s.clock(), l.Row, l.Epoch, l.Owner)
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return svc.ErrFenced
	}
	s.hub.signal(svc.Topic{Of: svc.Ready})
	return nil
}

// Abort marks unsettled work.
func (s *Store) Abort(ctx context.Context, a svc.Stream, submission string) (bool, error) {
	if s.db.Dialect() == sqldb.Postgres && (!storableStream(a) || !storable(submission)) {
		return false, nil
	}
	var named int64
	err := s.write(ctx, "abort", func(tx *sqldb.Tx) (err error) {
		named, err = s.abort(tx, a, submission)
		return err
	})
	if err != nil || named == 0 {
		return false, err
	}
	s.hub.signal(svc.Topic{Stream: a, Of: svc.Mark})
	s.hub.signal(svc.Topic{Of: svc.Ready})
	return true, nil
}

func (s *Store) abort(tx *sqldb.Tx, a svc.Stream, submission string) (named int64, err error) {
	p, err := s.lockPlace(tx, a)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	named, err = tx.Exec(`UPDATE submissions SET abort_at = COALESCE(abort_at, `+s.sql.at(1)+`)
WHERE stream = $2 AND seq >= $3 AND seq < $4 AND ($5 = '' OR id = $5)`, s.clock(), p.row, p.done, p.next, submission)
	if err != nil || named == 0 {
		return 0, err
	}
	_, err = tx.Exec(`UPDATE streams SET abort_seq = done_seq,
ready_at = CASE WHEN owner IS NULL AND ready_at > `+s.sql.at(1)+` THEN `+s.sql.at(1)+` ELSE ready_at END
WHERE id = $2 AND EXISTS (SELECT 1 FROM submissions WHERE stream = $2 AND seq = $3 AND abort_at IS NOT NULL)`, s.clock(), p.row, p.done)
	return named, err
}

// collect reads rows into values.
func collect[T any](rows *sql.Rows, fields func(*T) []any) ([]T, error) {
	defer rows.Close()
	var list []T
	for rows.Next() {
		var v T
		if err := rows.Scan(fields(&v)...); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// tailFields are where the columns of tailColumns are scanned to.
func tailFields(t *svc.Tail) []any {
	return []any{(*int64)(&t.Head), &t.Part, &t.Closed, &t.Aborted, (*int64)(&t.OpenFrom), (*int64)(&t.ContextFrom), &t.Messages}
}

const tailColumns = `head, part, closed, ` + marked + `, open_from, context_from, messages`
