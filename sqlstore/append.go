package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/stream"
)

// Append commits all of c or nothing.
func (s *Store) Append(ctx context.Context, l svc.Lease, c svc.Commit) (svc.Appended, error) {
	add := either(s, s.appendSQLite, s.appendPostgres)
	appended, err := add(ctx, l, c)
	if err != nil {
		return svc.Appended{}, err
	}
	s.hub.signal(svc.Topic{Stream: l.Stream, Of: svc.Head})
	return appended, nil
}

// change is a commit as the stream's row sees it.
type change struct {
	n, private, settle, messages int64
	bytes                        int64
}

func changeOf(c svc.Commit) change {
	ch := change{n: int64(c.N), bytes: int64(len(c.Data)), messages: int64(len(c.Messages))}
	for _, m := range c.Messages {
		ch.bytes += int64(len(m.Data))
	}
	if c.Run != nil {
		ch.bytes += int64(len(c.Run.Result))
	}
	if c.Data != nil && c.N == 0 {
		ch.private = 1
	}
	if c.Settle != "" {
		ch.settle = 1
	}
	return ch
}

// plain reports whether the commit only appends, which is nearly always. Progress is nothing where no attempt has failed.
func plain(l svc.Lease, c svc.Commit) bool {
	return c.Settle == "" && !c.Close && !c.Release && (!c.Progress || l.Attempts == 0) && c.OpenFrom == nil && c.ContextFrom == nil && len(c.Messages) == 0 && len(c.Blobs) == 0
}

const (
	appendPlain = `
UPDATE streams SET head = head + $1, part = CASE WHEN $1 > 0 THEN 0 ELSE part + $2 END, bytes = bytes + $3
WHERE id = $4 AND epoch = $5 AND owner = $6 AND NOT closed
RETURNING head, part, next_seq, done_seq, abort_seq, messages, FALSE`
	appendFull = `
UPDATE streams SET head = head + $1, part = CASE WHEN $1 > 0 THEN 0 ELSE part + $2 END, bytes = bytes + $3,
  abort_seq = CASE WHEN $7 > 0 AND EXISTS (SELECT 1 FROM submissions WHERE stream = $4 AND seq = done_seq + 1
    AND abort_at IS NOT NULL) THEN done_seq + 1 ELSE abort_seq END,
  done_seq = done_seq + $7, closed = closed OR $8, messages = messages + $9,
  attempts = CASE WHEN $10 THEN 0 ELSE attempts END,
  open_from = COALESCE($11, open_from), context_from = COALESCE($12, context_from),
  owner = CASE WHEN $13 AND next_seq = done_seq + $7 THEN NULL ELSE owner END
WHERE id = $4 AND epoch = $5 AND owner = $6 AND NOT closed
RETURNING head, part, next_seq, done_seq, abort_seq, messages, owner IS NULL`
	settleSubmission = `UPDATE submissions SET outcome = $1, settled_at = $2 WHERE stream = $3 AND seq = $4`
	endRun           = `UPDATE runs SET status = $1, ended_at = $2, result = $3, error = $4 WHERE scope = $5 AND id = $6`
	insertMessage    = `INSERT INTO messages (stream, ord, kind, id, data) VALUES ($1, $2, $3, $4, $5)`
)

// moved is the stream's row after an append.
type moved struct {
	head, part, next, done, abort, messages int64
	released                                bool
}

func (m *moved) fields() []any {
	return []any{&m.head, &m.part, &m.next, &m.done, &m.abort, &m.messages, &m.released}
}

func (m moved) appended() svc.Appended {
	return svc.Appended{
		Head: stream.Offset(m.head), Part: int(m.part), Waiting: m.next > m.done,
		Aborted: m.abort == m.done && m.next > m.done, Released: m.released,
	}
}

func (s *Store) appendSQLite(ctx context.Context, l svc.Lease, c svc.Commit) (svc.Appended, error) {
	ch, fenced := changeOf(c), false
	var m moved
	var next *svc.Submission
	err := s.write(ctx, "append", func(tx *sqldb.Tx) error {
		fenced = false
		at := s.config.Now().UnixMilli()
		args := []any{ch.n, ch.private, ch.bytes, l.Row, l.Epoch, l.Owner}
		query := appendPlain
		if !plain(l, c) {
			query = appendFull
			args = append(args, ch.settle, c.Close, ch.messages, c.Progress || c.Settle != "", offset(c.OpenFrom), offset(c.ContextFrom), c.Release)
		}
		err := tx.QueryRow(query, args...).Scan(m.fields()...)
		if errors.Is(err, sql.ErrNoRows) {
			fenced = true
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.appendRows(tx, l, c, m, at); err != nil {
			return err
		}
		next, err = s.nextAfter(tx, l, c, m)
		return err
	})
	switch {
	case err != nil:
		return svc.Appended{}, err
	case fenced:
		return svc.Appended{}, svc.ErrFenced
	}
	a := m.appended()
	a.Next = next
	return a, nil
}

// nextAfter is the submission that a settlement brings to the head of the queue of a lease that is kept.
func (s *Store) nextAfter(tx *sqldb.Tx, l svc.Lease, c svc.Commit, m moved) (*svc.Submission, error) {
	if c.Settle == "" || m.released || m.next == m.done {
		return nil, nil
	}
	b := svc.Submission{Seq: m.done, State: svc.StateRunning}
	err := tx.QueryRow(headSubmission, l.Row, m.done).Scan(submissionFields(&b)...)
	return &b, err
}

// appendRows writes what an append that passed the fence brings along.
func (s *Store) appendRows(tx *sqldb.Tx, l svc.Lease, c svc.Commit, m moved, at int64) error {
	if c.Data != nil {
		if _, err := tx.Exec(insertBatch, l.Row, m.head, m.part, c.N, at, c.Data); err != nil {
			return err
		}
	}
	for i, msg := range c.Messages {
		ord := m.messages - int64(len(c.Messages)-i)
		if _, err := tx.Exec(insertMessage, l.Row, ord, msg.Kind, msg.ID, msg.Data); err != nil {
			return err
		}
	}
	if c.Settle != "" {
		if _, err := tx.Exec(settleSubmission, string(c.Settle), at, l.Row, m.done-1); err != nil {
			return err
		}
	}
	if err := insertBlobs(tx, l.Row, l.Stream.Scope, c.Blobs); err != nil {
		return err
	}
	if c.Run == nil {
		return nil
	}
	failure, err := encodeError(c.Run.Error)
	if err != nil {
		return err
	}
	_, err = tx.Exec(endRun, string(c.Run.Status), c.Run.EndedAt.UnixMilli(), []byte(c.Run.Result), failure, l.Stream.Scope, c.Run.ID)
	return err
}

func offset(o *stream.Offset) any {
	if o == nil {
		return nil
	}
	return int64(*o)
}

// The same in one round trip. The last SELECT has a row only if the fence let the update through.
const (
	appendPlainPostgres = `
WITH s AS (` + appendPlain + `, id),
b AS (
  INSERT INTO batches (stream, last, part, n, at, data)
  SELECT id, head, part, $1::bigint, COALESCE($7::bigint, ` + postgresNow + `), $8 FROM s WHERE $8::bytea IS NOT NULL
)
SELECT head, part, next_seq, done_seq, abort_seq, messages, FALSE FROM s`
	appendFullPostgres = `
WITH s AS (` + appendFull + ` AS released, id),
t AS (SELECT COALESCE($14::bigint, ` + postgresNow + `) AS now),
b AS (
  INSERT INTO batches (stream, last, part, n, at, data)
  SELECT id, head, part, $1::bigint, now, $15 FROM s, t WHERE $15::bytea IS NOT NULL
), m AS (
  INSERT INTO messages (stream, ord, kind, id, data)
  SELECT s.id, s.messages - $9::bigint + u.i - 1, u.kind, u.id, u.data
  FROM s, unnest($16::text[], $17::text[], $18::bytea[]) WITH ORDINALITY AS u(kind, id, data, i)
), e AS (
  UPDATE submissions SET outcome = $19, settled_at = now FROM s, t
  WHERE $7::bigint > 0 AND stream = s.id AND seq = s.done_seq - 1
), r AS (
  UPDATE runs SET status = $20, ended_at = $21, result = $22, error = $23 FROM s
  WHERE runs.scope = $24 AND runs.id = $25
), f AS (
  INSERT INTO blobs (stream, attachment, scope, sha256, size, mime, filename)
  SELECT s.id, u.attachment, $24, u.sha256, u.size, u.mime, u.filename
  FROM s, unnest($26::text[], $27::text[], $28::bigint[], $29::text[], $30::text[]) AS u(attachment, sha256, size, mime, filename)
  ON CONFLICT (stream, attachment) DO NOTHING
)
SELECT head, part, next_seq, done_seq, abort_seq, messages, released FROM s`
)

func (s *Store) appendPostgres(ctx context.Context, l svc.Lease, c svc.Commit) (svc.Appended, error) {
	ch := changeOf(c)
	var m moved
	st := &statement{
		query: appendPlainPostgres, stream: l.Stream, dest: m.fields(),
		args: []any{ch.n, ch.private, ch.bytes, l.Row, l.Epoch, l.Owner, s.clock(), c.Data},
	}
	if !plain(l, c) || c.Run != nil {
		args, err := s.fullArgs(l, c, ch)
		if err != nil {
			return svc.Appended{}, err
		}
		st.query, st.args = appendFullPostgres, args
	}
	err := s.change(ctx, "append", st)
	if errors.Is(err, sql.ErrNoRows) {
		return svc.Appended{}, svc.ErrFenced
	}
	if err != nil {
		return svc.Appended{}, err
	}
	a := m.appended()
	a.Next, err = s.nextPostgres(ctx, l, c, m)
	return a, err
}

func (s *Store) nextPostgres(ctx context.Context, l svc.Lease, c svc.Commit, m moved) (next *svc.Submission, err error) {
	if c.Settle == "" || m.released || m.next == m.done {
		return nil, nil
	}
	err = s.read(ctx, "next submission", func(tx *sqldb.Tx) (err error) {
		next, err = s.nextAfter(tx, l, c, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

func (s *Store) fullArgs(l svc.Lease, c svc.Commit, ch change) ([]any, error) {
	var kinds, ids []string
	var data [][]byte
	for _, m := range c.Messages {
		kinds, ids, data = append(kinds, m.Kind), append(ids, m.ID), append(data, m.Data)
	}
	var status, run, ended any
	var result, failure []byte
	if c.Run != nil {
		var err error
		if failure, err = encodeError(c.Run.Error); err != nil {
			return nil, fmt.Errorf("append: %w", err)
		}
		status, ended, result = string(c.Run.Status), c.Run.EndedAt.UnixMilli(), c.Run.Result
		run = c.Run.ID
	}
	return append([]any{
		ch.n, ch.private, ch.bytes, l.Row, l.Epoch, l.Owner, ch.settle, c.Close, ch.messages,
		c.Progress || c.Settle != "", offset(c.OpenFrom), offset(c.ContextFrom), c.Release,
		s.clock(), c.Data, kinds, ids, data, string(c.Settle), status, ended, result, failure, l.Stream.Scope, run,
	}, blobArgs(c.Blobs)...), nil
}
