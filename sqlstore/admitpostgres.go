package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

// admitPostgres admits in one statement: a node that is stopped in the middle of an admission holds no row.
func (s *Store) admitPostgres(ctx context.Context, a svc.Admission) (svc.Receipt, bool, error) {
	if a.Replay {
		r, err := s.replayPostgres(ctx, a)
		return r, false, err
	}
	var in admitted
	err := s.committer.do(ctx, &statement{
		query: admission(a), args: s.admissionArgs(a), stream: a.Stream, dest: in.fields(a.Key != nil),
	})
	switch {
	case a.Key != nil && sqldb.IsTaken(err):
		return svc.Receipt{}, false, errRaced // for the key: the next look finds it
	case err != nil:
		return svc.Receipt{}, false, wrap("admit", err)
	case in.known:
		r, err := s.firstPostgres(ctx, a, in.first, in.now)
		return r, false, err
	case in.row == 0:
		return svc.Receipt{}, false, errRaced // for the stream: the next look finds it
	}
	return in.receipt(a), in.held, nil
}

// replayPostgres looks for a key, and admits nothing.
func (s *Store) replayPostgres(ctx context.Context, a svc.Admission) (svc.Receipt, error) {
	if a.Key == nil {
		return svc.Receipt{}, svc.ErrNotFound
	}
	var f first
	var now int64
	err := s.committer.do(ctx, &statement{
		query: `SELECT COALESCE($1::bigint, ` + postgresNow + `), f.* FROM (` + findKey + `$2) AS f`, args: []any{s.clock(), idem(a)},
		stream: a.Stream, dest: append([]any{&now}, f.fields()...),
	})
	if errors.Is(err, sql.ErrNoRows) {
		return svc.Receipt{}, svc.ErrNotFound
	}
	if err != nil {
		return svc.Receipt{}, wrap("admit", err)
	}
	if s.forgotten(f, now) {
		return svc.Receipt{}, svc.ErrNotFound
	}
	return f.again(a)
}

// firstPostgres is the first receipt of a key. One that is past its age makes room, and its admission is tried again.
func (s *Store) firstPostgres(ctx context.Context, a svc.Admission, f first, now int64) (svc.Receipt, error) {
	if !s.forgotten(f, now) {
		return f.again(a)
	}
	var row int64
	err := s.change(ctx, "forget key", &statement{
		query: forgetKey + ` AND idem = $3 RETURNING stream`, args: []any{f.row, f.seq, idem(a)}, stream: a.Stream, dest: []any{&row},
	})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return svc.Receipt{}, err
	}
	return svc.Receipt{}, errRaced
}

// admitted is the answer to the statement of an admission: the stream as it was left, or the key's first admission.
type admitted struct {
	streamRow
	at, now int64
	leased  bool
	known   bool
	first   first
}

func (in *admitted) fields(keyed bool) []any {
	t := &in.tail
	fields := []any{
		&in.row, &in.head, &in.next, &in.epoch, &t.Part, (*int64)(&t.OpenFrom), (*int64)(&t.ContextFrom), &t.Messages,
		&in.stored, &in.leased, &in.held, &in.at, &in.now,
	}
	if keyed {
		fields = append(append(fields, &in.known), in.first.fields()...)
	}
	return fields
}

func (in *admitted) receipt(a svc.Admission) svc.Receipt {
	r := receiptOf(a, in.head, in.at)
	if in.leased {
		r.Lease = firstLease(a, in.streamRow, in.next-1, in.at, in.now)
	}
	return r
}

// admissionArgs are the parameters of an admission's statement. Those of a run and those of attachments have the same
// places: a run has no attachments.
func (s *Store) admissionArgs(a svc.Admission) []any {
	var owner, at any
	var lease, epoch int64
	if a.Owner != nil {
		owner, lease, epoch = ownerName(*a.Owner), leaseTime(*a.Owner), 1
	}
	if !a.At.IsZero() {
		at = a.At.UnixMilli()
	}
	var hash []byte
	if a.Key != nil {
		hash = a.Key.Hash
	}
	args := []any{
		s.clock(), a.Stream.Scope, string(a.Stream.Kind), a.Stream.Name, a.Stream.ID, lease, epoch, owner,
		a.Submission, string(a.Kind), a.Input, at, a.Opening, idem(a), hash,
	}
	switch {
	case a.Run:
		args = append(args, textual(a.StartedBy))
	case len(a.Blobs) > 0:
		args = append(args, blobArgs(a.Blobs)...)
	}
	return args
}

const (
	admitTime = `
WITH t AS (SELECT c.now, COALESCE($12::bigint, c.now) AS at FROM (SELECT COALESCE($1::bigint, ` + postgresNow + `) AS now) AS c)`
	admitKey = `, k AS (
  SELECT x.kind, x.name, x.instance, b.stream, b.seq, b.id, b.tail, b.admitted_at, b.body_hash, b.outcome IS NOT NULL AS settled
  FROM submissions b JOIN streams x ON x.id = b.stream WHERE b.idem = $14
)`
	// The row of an old stream is locked here, and told as it was found. One that was made after this statement began is not:
	// then nothing is changed, and the statement is tried again.
	admitOld = `, o AS (
  SELECT next_seq = done_seq AND owner IS NULL AS free, next_seq > done_seq AND owner IS NOT NULL AS held, dropped OR head < 0 AS empty
  FROM streams WHERE scope = $2 AND kind = $3 AND name = $4 AND instance = $5 FOR UPDATE
), s AS (
  INSERT INTO streams (scope, kind, name, instance, head, next_seq, ready_at, epoch, owner, used_at, bytes)
  SELECT $2, $3, $4, $5, CASE WHEN $13::bytea IS NULL THEN -1 ELSE 0 END, 1, now + $6::bigint, $7::bigint, $8, now,
    COALESCE(length($11::bytea), 0) + COALESCE(length($13::bytea), 0) FROM t`
	admitNew     = ` WHERE NOT EXISTS (SELECT 1 FROM k)`
	admitStreams = `
  ON CONFLICT (scope, kind, name, instance) DO UPDATE SET
    head = streams.head + CASE WHEN (streams.dropped OR streams.head < 0) AND $13::bytea IS NOT NULL THEN 1 ELSE 0 END,
    next_seq = streams.next_seq + 1,
    epoch = streams.epoch + CASE WHEN streams.next_seq = streams.done_seq AND streams.owner IS NULL THEN $7::bigint ELSE 0 END,
    owner = CASE WHEN streams.next_seq = streams.done_seq AND streams.owner IS NULL THEN $8 ELSE streams.owner END,
    ready_at = CASE WHEN streams.next_seq = streams.done_seq AND streams.owner IS NULL THEN EXCLUDED.ready_at ELSE streams.ready_at END,
    used_at = EXCLUDED.used_at, dropped = FALSE,
    bytes = streams.bytes + CASE WHEN streams.dropped OR streams.head < 0 THEN EXCLUDED.bytes ELSE COALESCE(length($11::bytea), 0) END
  WHERE EXISTS (SELECT 1 FROM o)
  RETURNING id, head, next_seq, epoch, part, open_from, context_from, messages, bytes
), c AS (
  INSERT INTO batches (stream, last, part, n, at, data)
  SELECT s.id, s.head, 0, 1, t.now, $13 FROM s, t WHERE $13::bytea IS NOT NULL AND COALESCE((SELECT empty FROM o), TRUE)
), b AS (
  INSERT INTO submissions (stream, seq, id, kind, input, size, tail, admitted_at, idem, body_hash)
  SELECT s.id, s.next_seq - 1, $9, $10, substr($11::bytea, 1, ` + inputHead + `), COALESCE(length($11::bytea), 0), s.head, t.at, $14, $15 FROM s, t
)`
	admitLarge = `, i AS (
  INSERT INTO inputs (stream, seq, data) SELECT s.id, s.next_seq - 1, $11 FROM s
)`
	admitRun = `, r AS (
  INSERT INTO runs (scope, id, stream, workflow, status, started_at, started_by)
  SELECT $2, $5, s.id, $4, 'active', t.at, $16 FROM s, t
)`
	admitBlobs = `, f AS (
  INSERT INTO blobs (stream, attachment, scope, sha256, size, mime, filename)
  SELECT s.id, u.attachment, $2, u.sha256, u.size, u.mime, u.filename
  FROM s, unnest($16::text[], $17::text[], $18::bigint[], $19::text[], $20::text[]) AS u(attachment, sha256, size, mime, filename)
  ON CONFLICT (stream, attachment) DO NOTHING
)`
	admitAnswer = `
SELECT COALESCE(s.id, 0), COALESCE(s.head, 0), COALESCE(s.next_seq, 0), COALESCE(s.epoch, 0), COALESCE(s.part, 0),
  COALESCE(s.open_from, 0), COALESCE(s.context_from, 0), COALESCE(s.messages, 0), COALESCE(s.bytes, 0),
  $8::text IS NOT NULL AND COALESCE((SELECT free FROM o), TRUE), COALESCE((SELECT held FROM o), FALSE), t.at, t.now`
	admitFirst = `, k.seq IS NOT NULL, COALESCE(k.kind, ''), COALESCE(k.name, ''), COALESCE(k.instance, ''), COALESCE(k.stream, 0),
  COALESCE(k.seq, 0), COALESCE(k.id, ''), COALESCE(k.tail, 0), COALESCE(k.admitted_at, 0), k.body_hash, COALESCE(k.settled, FALSE)
FROM t LEFT JOIN s ON TRUE LEFT JOIN k ON TRUE`
)

// admission is the statement of an admission that has what this one has.
func admission(a svc.Admission) string {
	query, keyed := admitTime, a.Key != nil
	if keyed {
		query += admitKey
	}
	query += admitOld
	if keyed {
		query += admitNew
	}
	query += admitStreams
	if large(a.Input) {
		query += admitLarge
	}
	if a.Run {
		query += admitRun
	}
	if len(a.Blobs) > 0 {
		query += admitBlobs
	}
	if !keyed {
		return query + admitAnswer + ` FROM t LEFT JOIN s ON TRUE`
	}
	return query + admitAnswer + admitFirst
}

// blobArgs are attachments as five lists.
func blobArgs(blobs []svc.Attachment) []any {
	var ids, hashes, mimes, names []string
	var sizes []int64
	for _, b := range blobs {
		ids, hashes, sizes = append(ids, b.ID), append(hashes, b.Blob.SHA256), append(sizes, b.Blob.Size)
		mimes, names = append(mimes, textual(b.MimeType)), append(names, textual(b.Filename))
	}
	return []any{ids, hashes, sizes, mimes, names}
}
