package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/stream"
)

const address = ` WHERE scope = $1 AND kind = $2 AND name = $3 AND instance = $4 AND NOT dropped`

// Tail says where a stream stands.
func (s *Store) Tail(ctx context.Context, a svc.Stream) (svc.Tail, error) {
	if !storableStream(a) {
		return svc.Tail{}, svc.ErrNoStream
	}
	return readRow(ctx, s, "tail", svc.ErrNoStream, tailFields,
		`SELECT `+tailColumns+` FROM streams`+address, a.Scope, string(a.Kind), a.Name, a.ID)
}

// Read returns a page of a stream.
func (s *Store) Read(ctx context.Context, a svc.Stream, r svc.Range) (page svc.Page, err error) {
	if !storableStream(a) {
		return page, svc.ErrNoStream
	}
	r.Items = cmp.Or(max(r.Items, 0), math.MaxInt32)
	r.Bytes = cmp.Or(max(r.Bytes, 0), math.MaxInt64)
	r.Largest = cmp.Or(max(r.Largest, 0), math.MaxInt64)
	err = s.read(ctx, "read", func(tx *sqldb.Tx) error {
		page = svc.Page{}
		var row int64
		err := tx.QueryRow(`SELECT id, `+tailColumns+` FROM streams`+address, a.Scope, string(a.Kind), a.Name, a.ID).
			Scan(append([]any{&row}, tailFields(&page.Tail)...)...)
		if err != nil {
			return err
		}
		if r.Messages {
			return s.readMessages(tx, row, r, &page)
		}
		// What is appended meanwhile is left to the next read.
		r.Through = min(r.Through, page.Tail.Head)
		if r.After.Offset >= r.Through && (r.After.Offset > r.Through || r.After.Part >= page.Tail.Part) {
			return nil
		}
		return s.readBatches(tx, row, r, &page)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return svc.Page{}, svc.ErrNoStream
	case err != nil:
		return svc.Page{}, err
	}
	return page, nil
}

const (
	readBatches = `SELECT last, part, n, at, length(data), CASE WHEN length(data) <= CAST($5 AS BIGINT) THEN data END FROM batches WHERE stream = $1 AND (last, part) > ($2, $3)
ORDER BY last, part LIMIT $4`
	// PostgreSQL sends all that it finds, so what would not fit is left out.
	readBatchesPostgres = `
SELECT last, part, n, at, size, CASE WHEN size <= $5::bigint AND sum(size) OVER (ORDER BY last, part) - size <= $6 THEN data END FROM (
  SELECT last, part, n, at, octet_length(data) AS size, data
  FROM batches WHERE stream = $1 AND (last, part) > ($2, $3) ORDER BY last, part LIMIT $4
) AS b WHERE last - GREATEST(n, 1) < $7 ORDER BY last, part`
)

func (s *Store) readBatches(tx *sqldb.Tx, row int64, r svc.Range, page *svc.Page) error {
	query, args := readBatches, []any{row, int64(r.After.Offset), r.After.Part, r.Items + 1, r.Largest}
	if s.db.Dialect() == sqldb.Postgres {
		query, args = readBatchesPostgres, append(args, r.Bytes, int64(r.Through))
	}
	rows, err := tx.Query(query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	size := 0
	for rows.Next() {
		var b svc.Batch
		var n int
		if err := rows.Scan((*int64)(&b.Last), &b.Part, &b.N, (*millisTime)(&b.At), &n, &b.Data); err != nil {
			return err
		}
		if first := b.Last - stream.Offset(max(b.N-1, 0)); first > r.Through {
			return nil
		}
		size += n
		if full(r, page, len(page.Batches), n, size) {
			return nil
		}
		page.Batches = append(page.Batches, b)
	}
	return rows.Err()
}

// full reports that a page which holds so many rows ends before one of n bytes, with which it would have size, and says so in
// the page.
func full(r svc.Range, page *svc.Page, rows, n, size int) bool {
	switch {
	case n > r.Largest && rows == 0:
		page.Larger = n
	case n <= r.Largest && (rows == 0 || rows < r.Items && size <= r.Bytes):
		return false
	}
	page.More = true
	return true
}

const (
	readMessages = `SELECT ord, kind, id, length(data), CASE WHEN length(data) <= CAST($6 AS BIGINT) THEN data END FROM messages
WHERE stream = $1 AND ord > $2 AND ord <= $3 AND ($5 = '' OR kind = $5) ORDER BY ord LIMIT $4`
	readMessagesPostgres = `
SELECT ord, kind, id, size, CASE WHEN size <= $6::bigint AND sum(size) OVER (ORDER BY ord) - size <= $7 THEN data END FROM (
  SELECT ord, kind, id, octet_length(data) AS size, data
  FROM messages WHERE stream = $1 AND ord > $2 AND ord <= $3 AND ($5 = '' OR kind = $5) ORDER BY ord LIMIT $4
) AS m ORDER BY ord`
)

func (s *Store) readMessages(tx *sqldb.Tx, row int64, r svc.Range, page *svc.Page) error {
	query, args := readMessages, []any{row, int64(r.After.Offset), int64(r.Through), r.Items + 1, r.Kind, r.Largest}
	if s.db.Dialect() == sqldb.Postgres {
		query, args = readMessagesPostgres, append(args, r.Bytes)
	}
	rows, err := tx.Query(query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	size := 0
	for rows.Next() {
		var m svc.Message
		var n int
		if err := rows.Scan(&m.Ord, &m.Kind, &m.ID, &n, &m.Data); err != nil {
			return err
		}
		size += n
		if full(r, page, len(page.Messages), n, size) {
			return nil
		}
		page.Messages = append(page.Messages, m)
	}
	return rows.Err()
}

// dropRun deletes the run that a stream is, if it is one. No index has the streams of runs: it is found by its name.
const dropRun = `DELETE FROM runs WHERE scope = $1 AND id = $2 AND stream = $3`

// eraseRows deletes what a stream holds.
func eraseRows(tx *sqldb.Tx, row int64) error {
	for _, table := range []string{"batches", "messages", "submissions", "inputs", "blobs"} {
		if _, err := tx.Exec(`DELETE FROM `+table+` WHERE stream = $1`, row); err != nil {
			return err
		}
	}
	return nil
}

// eraseTime is how long the erasure of a stream may take: it is as long as the stream.
const eraseTime = time.Minute

// Drop erases all of a stream but its head.
func (s *Store) Drop(ctx context.Context, a svc.Stream) error {
	if !storableStream(a) {
		return nil
	}
	err := s.write(sqldb.Patient(ctx, eraseTime), "drop", func(tx *sqldb.Tx) error { return dropStream(tx, a) })
	if err == nil {
		s.hub.dropped(a)
	}
	return err
}

func dropStream(tx *sqldb.Tx, a svc.Stream) error {
	var row int64
	err := tx.QueryRow(`UPDATE streams SET dropped = TRUE, done_seq = next_seq, owner = NULL, epoch = epoch + 1, abort_seq = -1, attempts = 0,
reason = '', part = 0, messages = 0, open_from = -1, context_from = -1, bytes = 0, closed = FALSE`+address+` RETURNING id`,
		a.Scope, string(a.Kind), a.Name, a.ID).Scan(&row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := eraseRows(tx, row); err != nil {
		return err
	}
	_, err = tx.Exec(dropRun, a.Scope, a.ID, row)
	return err
}
