package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// errRaced undoes an admission whose key another one has just used.
var errRaced = errors.New("idempotency key raced")

// Admit adds one submission to a stream.
func (s *Store) Admit(ctx context.Context, a svc.Admission) (svc.Receipt, error) {
	if s.db.Dialect() == sqldb.Postgres {
		if !storableStream(a.Stream) {
			return svc.Receipt{}, fmt.Errorf("admit: a name or id that cannot be stored")
		}
		if a.Run && a.Key == nil && len(a.Blobs) == 0 && !a.Replay {
			receipt, err := s.admitRunPostgres(ctx, a)
			if !errors.Is(err, pgx.ErrNoRows) {
				return receipt, err
			}
		}
	}
	for {
		receipt, held, err := s.admit(ctx, a)
		if errors.Is(err, errRaced) {
			continue
		}
		if err == nil && !receipt.Replayed {
			if !held {
				s.admitted(receipt)
			}
			if a.Opening != nil {
				s.hub.signal(svc.Topic{Stream: a.Stream, Of: svc.Head})
			}
		}
		return receipt, err
	}
}

// admitted wakes who waits for work, unless the work came with its lease.
func (s *Store) admitted(r svc.Receipt) {
	if r.Lease == nil {
		s.hub.signal(svc.Topic{Of: svc.Ready})
	}
}

// admit says too whether the work waits behind other work that somebody holds: its settlement brings it, and a claim would
// find nothing.
func (s *Store) admit(ctx context.Context, a svc.Admission) (receipt svc.Receipt, held bool, err error) {
	var refused error
	err = s.write(ctx, "admit", func(tx *sqldb.Tx) (err error) {
		receipt, held, refused = svc.Receipt{}, false, nil
		now, err := s.now(tx)
		if err != nil {
			return err
		}
		if a.Key != nil {
			var found bool
			receipt, found, refused, err = s.replayed(tx, a, now)
			if err != nil || found {
				return err
			}
		}
		if a.Replay {
			refused = svc.ErrNotFound
			return nil
		}
		receipt, held, err = s.enqueue(tx, a, now)
		return err
	})
	if refused != nil {
		return svc.Receipt{}, false, refused
	}
	return receipt, held, err
}

const findKey = `
SELECT t.kind, t.name, t.instance, b.stream, b.seq, b.id, b.tail, b.admitted_at, b.body_hash, b.outcome IS NOT NULL
FROM submissions b JOIN streams t ON t.id = b.stream WHERE b.idem = $1`

const forgetKey = `UPDATE submissions SET idem = NULL WHERE stream = $1 AND seq = $2`

// replayed finds the first receipt of a key. A key past its age whose work has settled is forgotten here.
func (s *Store) replayed(tx *sqldb.Tx, a svc.Admission, now int64) (r svc.Receipt, found bool, refused, err error) {
	var row, seq, tail, at int64
	var kind string
	var hash []byte
	var settled bool
	r.Stream.Scope = a.Stream.Scope
	err = tx.QueryRow(findKey, idem(a)).Scan(&kind, &r.Stream.Name, &r.Stream.ID, &row, &seq, &r.Submission, &tail, &at, &hash, &settled)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil, nil
	}
	if err != nil {
		return r, false, nil, err
	}
	if settled && at < now-s.config.IdempotencyAge.Milliseconds() {
		_, err = tx.Exec(forgetKey, row, seq)
		return r, false, nil, err
	}
	if !bytes.Equal(hash, a.Key.Hash) {
		return r, true, svc.ErrConflict, nil
	}
	r.Stream.Kind, r.Offset, r.AdmittedAt, r.Replayed = svc.Kind(kind), stream.Offset(tail), unixMilli(at), true
	return r, true, nil, nil
}

// idem joins the scope and the key: no scope holds a zero byte where it could be mistaken, its length stands before it.
func idem(a svc.Admission) any {
	if a.Key == nil {
		return nil
	}
	return fmt.Sprintf("%d:%s:%s", len(a.Stream.Scope), a.Stream.Scope, a.Key.Name)
}

// freshTail is the tail of a stream without batches.
var freshTail = svc.Tail{OpenFrom: stream.Start, ContextFrom: stream.Start}

// place is a stream row as an admission finds or makes it.
type place struct {
	row, head, next, done, epoch int64
	owner                        sql.NullString
	empty                        bool // it holds no batch
	held                         bool // somebody works on what waits before
	tail                         svc.Tail
}

const (
	insertStream = `
INSERT INTO streams (scope, kind, name, instance, head, next_seq, ready_at, epoch, owner, used_at)
VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8, $9) ON CONFLICT (scope, kind, name, instance) DO NOTHING RETURNING id`
	selectStream = `
SELECT id, head, next_seq, done_seq, epoch, owner, dropped, part, open_from, context_from, messages FROM streams
WHERE scope = $1 AND kind = $2 AND name = $3 AND instance = $4`
	updateStream = `
UPDATE streams SET head = $2, next_seq = next_seq + 1, ready_at = CASE WHEN $3 THEN $4 ELSE ready_at END, epoch = $5, owner = $6,
  used_at = $7, dropped = FALSE WHERE id = $1`
	insertSubmission = `
INSERT INTO submissions (stream, seq, id, kind, input, tail, admitted_at, idem, body_hash)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (idem) WHERE idem IS NOT NULL DO NOTHING`
	insertRun = `
INSERT INTO runs (scope, id, stream, workflow, status, started_at) VALUES ($1, $2, $3, $4, 'active', $5)`
	insertBatch = `
INSERT INTO batches (stream, last, part, n, at, data) VALUES ($1, $2, $3, $4, $5, $6)`
	insertBlob = `
INSERT INTO blobs (stream, attachment, scope, sha256, size, mime, filename) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (stream, attachment) DO NOTHING`
)

// enqueue writes the rows of an admission whose key is free.
func (s *Store) enqueue(tx *sqldb.Tx, a svc.Admission, now int64) (r svc.Receipt, held bool, err error) {
	at := now
	if !a.At.IsZero() {
		at = a.At.UnixMilli()
	}
	p, leased, err := s.takePlace(tx, a, now)
	if err != nil {
		return r, false, err
	}
	seq := p.next - 1
	if p.empty && a.Opening != nil {
		if _, err := tx.Exec(insertBatch, p.row, p.head, 0, 1, now, a.Opening); err != nil {
			return r, false, err
		}
	}
	var hash []byte
	if a.Key != nil {
		hash = a.Key.Hash
	}
	n, err := tx.Exec(insertSubmission, p.row, seq, a.Submission, string(a.Kind), a.Input, p.head, at, idem(a), hash)
	if err != nil {
		return r, false, err
	}
	if n == 0 {
		return r, false, errRaced
	}
	if a.Run {
		if _, err := tx.Exec(insertRun, a.Stream.Scope, a.Stream.ID, p.row, a.Stream.Name, at); err != nil {
			return r, false, err
		}
	}
	if err := insertBlobs(tx, p.row, a.Stream.Scope, a.Blobs); err != nil {
		return r, false, err
	}
	r = receiptOf(a, p.head, at)
	if leased {
		r.Lease = firstLease(a, p, seq, at)
	}
	return r, p.held, nil
}

func insertBlobs(tx *sqldb.Tx, row int64, scope string, blobs []svc.Attachment) error {
	for _, b := range blobs {
		if _, err := tx.Exec(insertBlob, row, b.ID, scope, b.Blob.SHA256, b.Blob.Size, textual(b.MimeType), textual(b.Filename)); err != nil {
			return err
		}
	}
	return nil
}

// textual is a text that PostgreSQL can keep.
func textual(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

func receiptOf(a svc.Admission, head, at int64) svc.Receipt {
	return svc.Receipt{Stream: a.Stream, Submission: a.Submission, Offset: stream.Offset(head), AdmittedAt: unixMilli(at)}
}

func firstLease(a svc.Admission, p place, seq, at int64) *svc.Lease {
	tail := p.tail
	tail.Head = stream.Offset(p.head)
	return &svc.Lease{
		Stream: a.Stream, Epoch: p.epoch, Owner: ownerName(*a.Owner), Row: p.row, Tail: tail,
		Submission: svc.Submission{
			ID: a.Submission, Seq: seq, Kind: a.Kind, Input: a.Input, AdmittedAt: unixMilli(at), State: svc.StateRunning,
		},
	}
}

// takePlace makes the stream's row or locks the one there is, and counts the submission into its queue. A run is new, so
// its row is tried first.
func (s *Store) takePlace(tx *sqldb.Tx, a svc.Admission, now int64) (p place, leased bool, err error) {
	if a.Run {
		if p, leased, err = s.newPlace(tx, a, now); err != nil || p.row != 0 {
			return p, leased, err
		}
	}
	for {
		p, leased, err = s.oldPlace(tx, a, now)
		if err != nil || p.row != 0 {
			return p, leased, err
		}
		if p, leased, err = s.newPlace(tx, a, now); err != nil || p.row != 0 {
			return p, leased, err
		}
	}
}

func (s *Store) newPlace(tx *sqldb.Tx, a svc.Admission, now int64) (p place, leased bool, err error) {
	p = place{head: -1, next: 1, empty: true, tail: freshTail}
	if a.Opening != nil {
		p.head = 0
	}
	ready := now
	if a.Owner != nil {
		p.epoch, leased = 1, true
		p.owner = sql.NullString{String: ownerName(*a.Owner), Valid: true}
		ready = s.leaseEnd(*a.Owner, now)
	}
	err = tx.QueryRow(insertStream, a.Stream.Scope, string(a.Stream.Kind), a.Stream.Name, a.Stream.ID, p.head, ready, p.epoch, p.owner, now).Scan(&p.row)
	if errors.Is(err, sql.ErrNoRows) {
		return place{}, false, nil
	}
	return p, leased, err
}

func (s *Store) oldPlace(tx *sqldb.Tx, a svc.Admission, now int64) (p place, leased bool, err error) {
	p, err = s.lockPlace(tx, a.Stream)
	if errors.Is(err, sql.ErrNoRows) {
		return place{}, false, nil
	}
	if err != nil {
		return place{}, false, err
	}
	if p.empty && a.Opening != nil {
		p.head++
	}
	idle := p.next == p.done
	p.held = !idle && p.owner.Valid
	ready := now
	if idle && !p.owner.Valid && a.Owner != nil {
		leased = true
		p.epoch++
		p.owner = sql.NullString{String: ownerName(*a.Owner), Valid: true}
		ready = s.leaseEnd(*a.Owner, now)
	}
	p.next++
	// A holder that waits for work keeps its lease; work that waits keeps its place.
	becomesReady := idle && (leased || !p.owner.Valid)
	_, err = tx.Exec(updateStream, p.row, p.head, becomesReady, ready, p.epoch, p.owner, now)
	return p, leased, err
}

// lockPlace finds a stream's row, which does not change before the transaction ends.
func (s *Store) lockPlace(tx *sqldb.Tx, a svc.Stream) (p place, err error) {
	var dropped bool
	err = tx.QueryRow(selectStream+s.sql.lock, a.Scope, string(a.Kind), a.Name, a.ID).
		Scan(&p.row, &p.head, &p.next, &p.done, &p.epoch, &p.owner, &dropped,
			&p.tail.Part, (*int64)(&p.tail.OpenFrom), (*int64)(&p.tail.ContextFrom), &p.tail.Messages)
	p.empty = dropped || p.head < 0
	return p, err
}

func (s *Store) leaseEnd(o svc.Owner, now int64) int64 {
	if s.db.Dialect() == sqldb.SQLite {
		return forever
	}
	return now + leaseTime(o)
}

// admitRunPostgres is the admission of a run without a key in one round trip; pgx.ErrNoRows tells that its stream was
// there before.
func (s *Store) admitRunPostgres(ctx context.Context, a svc.Admission) (svc.Receipt, error) {
	var owner any
	var lease, epoch int64
	if a.Owner != nil {
		owner, lease, epoch = ownerName(*a.Owner), leaseTime(*a.Owner), 1
	}
	var at any
	if !a.At.IsZero() {
		at = a.At.UnixMilli()
	}
	var row, admitted int64
	err := s.committer.do(ctx, &statement{query: admitRun, dest: []any{&row, &admitted}, args: []any{
		s.clock(), a.Stream.Scope, string(a.Stream.Kind), a.Stream.Name, a.Stream.ID, lease, epoch, owner,
		a.Submission, string(a.Kind), a.Input, at,
	}})
	if err != nil {
		return svc.Receipt{}, fmt.Errorf("admit: %w", err)
	}
	r := receiptOf(a, -1, admitted)
	if a.Owner != nil {
		r.Lease = firstLease(a, place{row: row, head: -1, epoch: 1, tail: freshTail}, 0, admitted)
	}
	s.admitted(r)
	return r, nil
}

const admitRun = `
WITH t AS (SELECT COALESCE($1::bigint, ` + postgresNow + `) AS now),
s AS (
  INSERT INTO streams (scope, kind, name, instance, next_seq, ready_at, epoch, owner, used_at)
  SELECT $2, $3, $4, $5, 1, now + $6, $7, $8, now FROM t ON CONFLICT DO NOTHING RETURNING id
), b AS (
  INSERT INTO submissions (stream, seq, id, kind, input, tail, admitted_at)
  SELECT s.id, 0, $9, $10, $11, -1, COALESCE($12::bigint, t.now) FROM s, t
), r AS (
  INSERT INTO runs (scope, id, stream, workflow, status, started_at)
  SELECT $2, $5, s.id, $4, 'active', COALESCE($12::bigint, t.now) FROM s, t
)
SELECT s.id, COALESCE($12::bigint, t.now) FROM s, t`

// encodeError keeps all of a run's error; the wire shows less of it.
func encodeError(e *workflow.Error) ([]byte, error) {
	if e == nil {
		return nil, nil
	}
	return json.Marshal(e)
}
