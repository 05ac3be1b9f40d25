package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// errRaced undoes an admission whose key another one has just used.
var errRaced = errors.New("idempotency key raced")

// Admit adds one submission to a stream.
func (s *Store) Admit(ctx context.Context, a svc.Admission) (svc.Receipt, error) {
	if !storableStream(a.Stream) {
		return svc.Receipt{}, fmt.Errorf("admit: %w", sqldb.ErrText)
	}
	admit := either(s, s.admitSQLite, s.admitPostgres)
	for {
		receipt, held, err := admit(ctx, a)
		if errors.Is(err, errRaced) {
			continue
		}
		if err != nil {
			return svc.Receipt{}, err
		}
		if !receipt.Replayed {
			s.admitted(a, receipt, held)
		}
		return receipt, nil
	}
}

// admitted wakes whoever waits for work, unless the work came with its lease, or waits behind other work that is held: its
// settlement brings it, and a claim would find nothing.
func (s *Store) admitted(a svc.Admission, r svc.Receipt, held bool) {
	if r.Lease == nil && !held {
		s.hub.signal(svc.Topic{Of: svc.Ready})
	}
	if a.Opening != nil {
		s.hub.signal(svc.Topic{Stream: a.Stream, Of: svc.Head})
	}
}

// admitSQLite says too whether the work waits behind other work that is held.
func (s *Store) admitSQLite(ctx context.Context, a svc.Admission) (svc.Receipt, bool, error) {
	var receipt svc.Receipt
	var held bool
	var refused error
	err := s.writeLeases(ctx, func(tx *sqldb.Tx) (err error) {
		receipt, held, refused = svc.Receipt{}, false, nil
		now := s.config.Now().UnixMilli()
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
	}, func() (leased []svc.Lease) {
		if receipt.Lease != nil {
			leased = append(leased, *receipt.Lease)
		}
		return leased
	})
	switch {
	case err != nil:
		return svc.Receipt{}, false, wrap("admit", err)
	case refused != nil:
		return svc.Receipt{}, false, refused
	}
	return receipt, held, nil
}

const findKey = `
SELECT t.kind, t.name, t.instance, b.stream, b.seq, b.id, b.tail, b.admitted_at, b.body_hash, b.outcome IS NOT NULL
FROM submissions b JOIN streams t ON t.id = b.stream WHERE b.idem = `

const forgetKey = `UPDATE submissions SET idem = NULL WHERE stream = $1 AND seq = $2`

// first is what is kept of a key's first admission.
type first struct {
	row, seq, tail, at int64
	kind               string
	receipt            svc.Receipt
	hash               []byte
	settled            bool
}

func (f *first) fields() []any {
	r := &f.receipt
	return []any{&f.kind, &r.Stream.Name, &r.Stream.ID, &f.row, &f.seq, &r.Submission, &f.tail, &f.at, &f.hash, &f.settled}
}

// forgotten reports whether the key is past its age and its work has settled.
func (s *Store) forgotten(f first, now int64) bool {
	return f.settled && f.at < now-s.config.IdempotencyAge.Milliseconds()
}

// again is the first receipt, for an admission with the same body.
func (f first) again(a svc.Admission) (svc.Receipt, error) {
	if !bytes.Equal(f.hash, a.Key.Hash) {
		return svc.Receipt{}, svc.ErrConflict
	}
	r := f.receipt
	r.Stream.Scope, r.Stream.Kind = a.Stream.Scope, svc.Kind(f.kind)
	r.Offset, r.AdmittedAt, r.Replayed = stream.Offset(f.tail), unixMilli(f.at), true
	return r, nil
}

// replayed finds the first receipt of a key. A key past its age whose work has settled is forgotten here.
func (s *Store) replayed(tx *sqldb.Tx, a svc.Admission, now int64) (r svc.Receipt, found bool, refused, err error) {
	var f first
	err = tx.QueryRow(findKey+"$1", idem(a)).Scan(f.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil, nil
	}
	if err != nil {
		return r, false, nil, err
	}
	if s.forgotten(f, now) {
		_, err = tx.Exec(forgetKey, f.row, f.seq)
		return r, false, nil, err
	}
	r, refused = f.again(a)
	return r, true, refused, nil
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

// streamRow is the row of a stream as an admission finds or makes it.
type streamRow struct {
	row, head, next, done, epoch int64
	owner                        sql.NullString
	empty                        bool // it holds no batch
	held                         bool // somebody works on what waits before
	stored                       int64
	tail                         svc.Tail
}

const (
	insertStream = `
INSERT INTO streams (scope, kind, name, instance, head, next_seq, ready_at, epoch, owner, used_at, bytes)
VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8, $9, $10) ON CONFLICT (scope, kind, name, instance) DO NOTHING RETURNING id`
	selectStream = `
SELECT id, head, next_seq, done_seq, epoch, owner, dropped, part, open_from, context_from, messages, bytes FROM streams
WHERE scope = $1 AND kind = $2 AND name = $3 AND instance = $4`
	updateStream = `
UPDATE streams SET head = $2, next_seq = next_seq + 1, ready_at = CASE WHEN $3 THEN $4 ELSE ready_at END, epoch = $5, owner = $6,
  used_at = $7, dropped = FALSE, bytes = bytes + $8 WHERE id = $1`
	insertSubmission = `
INSERT INTO submissions (stream, seq, id, kind, input, size, tail, admitted_at, idem, body_hash)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (idem) WHERE idem IS NOT NULL DO NOTHING`
	insertInput = `
INSERT INTO inputs (stream, seq, data) VALUES ($1, $2, $3)`
	insertRun = `
INSERT INTO runs (scope, id, stream, workflow, status, started_at, started_by) VALUES ($1, $2, $3, $4, 'active', $5, $6)`
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
	p, leased, err := s.takeRow(tx, a, now)
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
	n, err := tx.Exec(insertSubmission, p.row, seq, a.Submission, string(a.Kind), head(a.Input), len(a.Input), p.head, at, idem(a), hash)
	if err != nil {
		return r, false, err
	}
	if n == 0 {
		return r, false, errRaced
	}
	if large(a.Input) {
		if _, err := tx.Exec(insertInput, p.row, seq, a.Input); err != nil {
			return r, false, err
		}
	}
	if a.Run {
		if _, err := tx.Exec(insertRun, a.Stream.Scope, a.Stream.ID, p.row, a.Stream.Name, at, textual(a.StartedBy)); err != nil {
			return r, false, err
		}
	}
	if err := insertBlobs(tx, p.row, a.Stream.Scope, a.Blobs); err != nil {
		return r, false, err
	}
	r = receiptOf(a, p.head, at)
	if leased {
		r.Lease = firstLease(a, p, seq, at, now)
	}
	return r, p.held, nil
}

// A large input stands in a row of its own, and its head in the submission's.
const inputHead = "4096" // svc.InputHead

const joinInput = `LEFT JOIN inputs i ON i.stream = b.stream AND i.seq = b.seq`

func large(input []byte) bool { return len(input) > svc.InputHead }

func head(input []byte) []byte { return input[:min(len(input), svc.InputHead)] }

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

func firstLease(a svc.Admission, p streamRow, seq, at, now int64) *svc.Lease {
	tail := p.tail
	tail.Head = stream.Offset(p.head)
	return &svc.Lease{
		Stream: a.Stream, Epoch: p.epoch, Owner: ownerName(*a.Owner), Row: p.row, Now: unixMilli(now), Tail: tail, Stored: p.stored,
		Submission: svc.Submission{
			ID: a.Submission, Seq: seq, Kind: a.Kind, Input: a.Input, Bytes: int64(len(a.Input)), AdmittedAt: unixMilli(at), State: svc.StateRunning,
		},
	}
}

// takeRow makes the stream's row or takes the one there is, and counts the submission into its queue. A run is new, so
// its row is tried first.
func (s *Store) takeRow(tx *sqldb.Tx, a svc.Admission, now int64) (p streamRow, leased bool, err error) {
	if a.Run {
		if p, leased, err = s.newRow(tx, a, now); err != nil || p.row != 0 {
			return p, leased, err
		}
	}
	for {
		p, leased, err = s.oldRow(tx, a, now)
		if err != nil || p.row != 0 {
			return p, leased, err
		}
		if p, leased, err = s.newRow(tx, a, now); err != nil || p.row != 0 {
			return p, leased, err
		}
	}
}

func (s *Store) newRow(tx *sqldb.Tx, a svc.Admission, now int64) (p streamRow, leased bool, err error) {
	p = streamRow{head: -1, next: 1, empty: true, tail: freshTail, stored: stored(a, true)}
	if a.Opening != nil {
		p.head = 0
	}
	ready := now
	if a.Owner != nil {
		p.epoch, leased = 1, true
		p.owner = sql.NullString{String: ownerName(*a.Owner), Valid: true}
		ready = forever
	}
	err = tx.QueryRow(insertStream, a.Stream.Scope, string(a.Stream.Kind), a.Stream.Name, a.Stream.ID, p.head, ready, p.epoch, p.owner, now, stored(a, true)).Scan(&p.row)
	if errors.Is(err, sql.ErrNoRows) {
		return streamRow{}, false, nil
	}
	return p, leased, err
}

func (s *Store) oldRow(tx *sqldb.Tx, a svc.Admission, now int64) (p streamRow, leased bool, err error) {
	p, err = s.findRow(tx, a.Stream)
	if errors.Is(err, sql.ErrNoRows) {
		return streamRow{}, false, nil
	}
	if err != nil {
		return streamRow{}, false, err
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
		ready = forever
	}
	p.next++
	p.stored += stored(a, p.empty)
	// A holder that waits for work keeps its lease; work that waits keeps its place.
	becomesReady := idle && (leased || !p.owner.Valid)
	_, err = tx.Exec(updateStream, p.row, p.head, becomesReady, ready, p.epoch, p.owner, now, stored(a, p.empty))
	return p, leased, err
}

// stored is how many bytes an admission keeps.
func stored(a svc.Admission, opens bool) int64 {
	n := int64(len(a.Input))
	if opens {
		n += int64(len(a.Opening))
	}
	return n
}

// findRow finds a stream's row.
func (s *Store) findRow(tx *sqldb.Tx, a svc.Stream) (p streamRow, err error) {
	var dropped bool
	err = tx.QueryRow(selectStream, a.Scope, string(a.Kind), a.Name, a.ID).
		Scan(&p.row, &p.head, &p.next, &p.done, &p.epoch, &p.owner, &dropped,
			&p.tail.Part, (*int64)(&p.tail.OpenFrom), (*int64)(&p.tail.ContextFrom), &p.tail.Messages, &p.stored)
	p.empty = dropped || p.head < 0
	return p, err
}

// encodeError keeps all of a run's error; the wire shows less of it.
func encodeError(e *workflow.Error) ([]byte, error) {
	if e == nil {
		return nil, nil
	}
	return json.Marshal(e)
}
