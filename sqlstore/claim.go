package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

// Claim leases what has waited longest.
func (s *Store) Claim(ctx context.Context, o svc.Owner, n int) (svc.Claimed, error) {
	w, err := s.register(ctx, o)
	if err != nil || n <= 0 {
		return svc.Claimed{}, err
	}
	more, err := parking{s}.unpark(ctx, w)
	if err != nil {
		return svc.Claimed{}, err
	}
	claim := either(s, s.claimSQLite, s.claimPostgres)
	asked := time.Now()
	c, err := claim(ctx, o, n)
	if err != nil {
		return svc.Claimed{}, wrap("claim", err)
	}
	if s.shown.setBack(asked, c.Now) {
		if err := s.hasten(ctx, o); err != nil {
			s.config.Log.Warn("claim after the clock was set back", "error", err)
		}
		more = true
	}
	switch {
	case len(c.Leases) == 0:
		more = parking{s}.parkUnknown(ctx) || more
	case len(c.Leases) < n:
		// The next claim parks: nobody renews these leases before they are handed on.
		more = parking{s}.mayPark() || more
	}
	if more {
		c.Next = time.Millisecond
	}
	return c, nil
}

// names is the list of workflows as a parameter: JSON for SQLite, an array for PostgreSQL. Of an owner that has none it is an empty
// one: what is not in null is not known, neither to be theirs nor to be nobody's.
func (s *Store) names(workflows []string) (any, error) {
	if workflows == nil {
		workflows = []string{}
	}
	if s.db.Dialect() == sqldb.Postgres {
		return workflows, nil
	}
	data, err := json.Marshal(workflows)
	return string(data), err
}

const leaseColumns = `scope, kind, name, instance, head, part, done_seq, open_from, context_from, messages, attempts, bytes`

// found is a stream that was leased.
type found struct {
	lease       svc.Lease
	ready       int64
	interrupted bool
	reason      string
}

// fields are where a row of id, epoch and leaseColumns is scanned to.
func (f *found) fields() []any {
	l := &f.lease
	return []any{
		&l.Row, &l.Epoch, &l.Stream.Scope, (*string)(&l.Stream.Kind), &l.Stream.Name, &l.Stream.ID,
		(*int64)(&l.Tail.Head), &l.Tail.Part, &l.Submission.Seq, (*int64)(&l.Tail.OpenFrom), (*int64)(&l.Tail.ContextFrom),
		&l.Tail.Messages, &l.Attempts, &l.Stored,
	}
}

// finish makes the lease of a stream with the submission at the head of its queue.
func (f *found) finish(o svc.Owner, b svc.Submission, now int64) svc.Lease {
	l := f.lease
	b.Seq, b.State = l.Submission.Seq, svc.StateRunning
	l.Owner, l.Now, l.Interrupted, l.Submission, l.Tail.Aborted = ownerName(o), unixMilli(now), f.interrupted, b, b.Aborted
	if !f.interrupted {
		l.Reason = f.reason
	}
	return l
}

// claimable is what waits, and what an owner held too long, each from an index of its own.
func (q statements) claimable(held bool, now string) string {
	owner := "owner IS NULL"
	if held {
		owner = "owner IS NOT NULL"
	}
	return `SELECT id, ready_at, owner IS NOT NULL AS interrupted, reason FROM streams
WHERE next_seq > done_seq AND ` + owner + ` AND ready_at <= ` + now + ` AND ` + q.ours + ` ORDER BY ready_at LIMIT $4`
}

// nextReady finds when work becomes ready that waits for a time and for nobody.
func nextReady(now, never string) string {
	return `SELECT ready_at FROM streams WHERE next_seq > done_seq AND owner IS NULL AND ready_at > ` + now + ` AND ready_at < ` + never +
		` ORDER BY ready_at LIMIT 1`
}

func (s *Store) claimSQLite(ctx context.Context, o svc.Owner, n int) (svc.Claimed, error) {
	var c svc.Claimed
	err := s.writeLeases(ctx, func(tx *sqldb.Tx) error {
		now := s.config.Now().UnixMilli()
		c = svc.Claimed{Now: unixMilli(now)}
		all, err := s.findSQLite(tx, o, n, now)
		if err != nil {
			return err
		}
		for _, f := range all {
			l, err := s.takeSQLite(tx, o, f, now)
			if err != nil {
				return err
			}
			c.Leases = append(c.Leases, l)
		}
		if len(all) == n {
			return nil
		}
		var next int64
		err = tx.QueryRow(nextReady("$1", "$2"), now, unknown).Scan(&next)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		c.Next = until(now, next)
		return err
	}, func() []svc.Lease { return c.Leases })
	if err != nil {
		return svc.Claimed{}, err
	}
	return c, nil
}

// until is how long it is from one time to another.
func until(now, then int64) time.Duration { return time.Duration(then-now) * time.Millisecond }

func (s *Store) findSQLite(tx *sqldb.Tx, o svc.Owner, n int, now int64) (all []found, err error) {
	names, err := s.names(o.Workflows)
	if err != nil {
		return nil, err
	}
	for _, held := range []bool{false, true} {
		some, err := collect(tx, func(f *found) []any { return []any{&f.lease.Row, &f.ready, &f.interrupted, &f.reason} },
			s.sql.claimable(held, "$1"), now, names, o.Agents, n)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.ready, b.ready) })
	return all[:min(n, len(all))], nil
}

func (s *Store) takeSQLite(tx *sqldb.Tx, o svc.Owner, f found, now int64) (svc.Lease, error) {
	err := tx.QueryRow(`UPDATE streams SET epoch = epoch + 1, owner = $1, ready_at = $2, reason = '', attempts = attempts + CASE WHEN $3 AND owner <> $1 THEN 1 ELSE 0 END
WHERE id = $4 RETURNING id, epoch, `+leaseColumns, ownerName(o), forever, f.interrupted, f.lease.Row).Scan(f.fields()...)
	if err != nil {
		return svc.Lease{}, err
	}
	var b svc.Submission
	if err := tx.QueryRow(headSubmission, f.lease.Row, f.lease.Submission.Seq).Scan(submissionFields(&b)...); err != nil {
		return svc.Lease{}, err
	}
	return f.finish(o, b, now), nil
}

// claimStreams does all of it in one statement. A lease that lapsed in the hands of the owner that claims now counts no attempt: the
// process lives, and its claim went unanswered or the database did not hear of it for a while. There is always a row, which tells the time and when the next work is ready.
func (q statements) claimStreams() string {
	const now = "(SELECT now FROM t)"
	return `
WITH t AS MATERIALIZED (SELECT COALESCE($1::bigint, ` + postgresNow + `) AS now),
waiting AS (` + q.claimable(false, now) + q.skip + `), lapsed AS (` + q.claimable(true, now) + q.skip + `),
c AS (SELECT * FROM waiting UNION ALL SELECT * FROM lapsed ORDER BY ready_at LIMIT $4),
u AS (
  UPDATE streams SET epoch = epoch + 1, owner = $5, ready_at = t.now + $6::bigint, reason = '',
    attempts = attempts + CASE WHEN c.interrupted AND owner <> $5 THEN 1 ELSE 0 END
  FROM c, t WHERE streams.id = c.id
  RETURNING c.ready_at AS since, c.interrupted, c.reason AS because, streams.id, epoch, ` + leaseColumns + `
)
SELECT t.now, COALESCE((` + nextReady(now, "$7") + `), 0), COALESCE(u.interrupted, FALSE), COALESCE(u.because, ''),
  COALESCE(u.id, 0), COALESCE(u.epoch, 0), COALESCE(u.scope, ''), COALESCE(u.kind, ''), COALESCE(u.name, ''), COALESCE(u.instance, ''),
  COALESCE(u.head, 0), COALESCE(u.part, 0), COALESCE(u.done_seq, 0), COALESCE(u.open_from, 0), COALESCE(u.context_from, 0),
  COALESCE(u.messages, 0), COALESCE(u.attempts, 0), COALESCE(u.bytes, 0),
  COALESCE(b.id, ''), COALESCE(b.kind, ''), COALESCE(b.size, 0), COALESCE(b.admitted_at, 0), b.abort_at IS NOT NULL
FROM t LEFT JOIN u ON TRUE LEFT JOIN submissions b ON b.stream = u.id AND b.seq = u.done_seq ORDER BY u.since`
}

func (s *Store) claimPostgres(ctx context.Context, o svc.Owner, n int) (c svc.Claimed, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.db.Timeout())
	defer cancel()
	rows, err := s.db.Pool().Query(ctx, s.sql.claimStreams(), s.clock(), o.Workflows, o.Agents, n, ownerName(o), leaseTime(o), unknown)
	if err != nil {
		return c, err
	}
	defer rows.Close()
	var now, next int64
	for rows.Next() {
		var f found
		var b svc.Submission
		if err := rows.Scan(append(append([]any{&now, &next, &f.interrupted, &f.reason}, f.fields()...), submissionFields(&b)...)...); err != nil {
			return svc.Claimed{}, err
		}
		if f.lease.Row != 0 {
			c.Leases = append(c.Leases, f.finish(o, b, now))
		}
	}
	if err := rows.Err(); err != nil {
		return svc.Claimed{}, err
	}
	c.Now = unixMilli(now)
	if next > 0 && len(c.Leases) < n {
		c.Next = until(now, next)
	}
	return c, s.complete(ctx, c.Leases)
}

// complete reads the submissions that a claim did not show: its locks may be younger than its snapshot.
func (s *Store) complete(ctx context.Context, leases []svc.Lease) error {
	for i := range leases {
		l := &leases[i]
		if l.Submission.ID != "" {
			continue
		}
		err := s.read(ctx, "claim", func(tx *sqldb.Tx) error {
			b := l.Submission
			err := tx.QueryRow(headSubmission, l.Row, l.Submission.Seq).Scan(submissionFields(&b)...)
			l.Submission, l.Tail.Aborted = b, b.Aborted
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const submissionColumns = `b.id, b.kind, b.size, b.admitted_at, b.abort_at IS NOT NULL`

const headSubmission = `SELECT ` + submissionColumns + ` FROM submissions b WHERE b.stream = $1 AND b.seq = $2`

func submissionFields(b *svc.Submission) []any {
	return []any{&b.ID, (*string)(&b.Kind), &b.Bytes, (*millisTime)(&b.AdmittedAt), &b.Aborted}
}

// Input is what a submission was given.
func (s *Store) Input(ctx context.Context, l svc.Lease, b svc.Submission) ([]byte, error) {
	dropped := svc.ErrFenced
	return readRow(ctx, s, "read input", dropped, func(input *[]byte) []any { return []any{input} },
		`SELECT COALESCE(i.data, b.input) FROM submissions b `+joinInput+` WHERE b.stream = $1 AND b.seq = $2 AND b.id = $3`, l.Row, b.Seq, b.ID)
}
