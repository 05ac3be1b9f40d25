package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/internal/jsonl"
	"svc.dev/svc/internal/sqldb"
)

// Streams travel from one database to another as lines of JSON: the row of a stream, and behind it the rows that belong to it.
// Their offsets stay what they were. Idempotency keys stay behind, with the requests that they were made for.

// Unfinished counts the streams of a scope that have work which is not settled.
func Unfinished(ctx context.Context, db *sqldb.DB, scope string) (int64, error) {
	n, err := sqldb.Read(ctx, db, func(tx *sqldb.Tx) (int64, error) {
		return sqldb.Value[int64](tx, "count", `SELECT COUNT(*) FROM streams WHERE scope = $1 AND next_seq > done_seq AND kind <> ''`, scope)
	})
	return n, wrap("count unfinished streams", err)
}

// streamsAtOnce is how many streams are listed in one go.
const streamsAtOnce = 500

// StreamsAfter lists some streams of a scope by their rows, those behind a row; none behind the last.
func StreamsAfter(ctx context.Context, db *sqldb.DB, scope string, row int64) ([]int64, error) {
	all, err := sqldb.ReadAll(ctx, db, sqldb.Column[int64], `SELECT id FROM streams WHERE scope = $1 AND kind <> '' AND id > $2 ORDER BY id LIMIT $3`,
		scope, row, streamsAtOnce)
	return all, wrap("list streams", err)
}

// WriteStream writes a stream as the transaction sees it, which should be a snapshot. One with unfinished work is an error unless
// that may travel too; one that has gone meanwhile writes nothing.
func WriteStream(tx *sqldb.Tx, scope string, row int64, unfinished bool, to *json.Encoder) error {
	var held bool
	s, found, err := sqldb.First(tx, "find stream", func(row sqldb.Row) (s streamLine, err error) {
		err = row.Scan(append(pointers(&s), &held)...)
		return s, err
	}, `SELECT `+columnsOf(&streamLine{})+`, owner IS NOT NULL FROM streams WHERE id = $1 AND scope = $2 AND kind <> ''`, row, scope)
	if err != nil || !found {
		return err
	}
	// Nobody works on it there, and what cannot be worked here may be worked there.
	if held || s.Reason == svc.ReasonNotRegistered || s.NextSeq == s.DoneSeq {
		s.ReadyAt, s.Reason = 0, ""
	}
	if s.NextSeq > s.DoneSeq && !unfinished {
		return fmt.Errorf("%s %s of %s has work that is not finished", s.Kind, s.Instance, s.Name)
	}
	if err := to.Encode(traveller{Stream: &s}); err != nil || s.Dropped {
		return err
	}
	for _, next := range []func() (travelling, traveller){
		func() (travelling, traveller) { r := &submissionLine{}; return r, traveller{Submission: r} },
		func() (travelling, traveller) { r := &inputLine{}; return r, traveller{Input: r} },
		func() (travelling, traveller) { r := &batchLine{}; return r, traveller{Batch: r} },
		func() (travelling, traveller) { r := &messageLine{}; return r, traveller{Message: r} },
		func() (travelling, traveller) { r := &runLine{}; return r, traveller{Run: r} },
		func() (travelling, traveller) { r := &blobLine{}; return r, traveller{Blob: r} },
	} {
		if err := writeRows(tx, row, next, to); err != nil {
			return fmt.Errorf("%s %s of %s: %w", s.Kind, s.Instance, s.Name, err)
		}
	}
	return nil
}

func writeRows(tx *sqldb.Tx, stream int64, next func() (travelling, traveller), to *json.Encoder) error {
	one, _ := next()
	rows, err := tx.Query(`SELECT `+columnsOf(one)+` FROM `+one.table()+` WHERE stream = $1 ORDER BY `+one.order(), stream)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		one, line := next()
		if err := rows.Scan(pointers(one)...); err != nil {
			return err
		}
		if err := to.Encode(line); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Release lets the work of imported streams go on, in the transaction that makes them visible: until then all of it counts as done.
// Wake whoever waits for work behind it.
func Release(tx *sqldb.Tx, scope string) error {
	_, err := tx.Exec(`UPDATE streams SET done_seq = (SELECT MIN(seq) FROM submissions WHERE stream = streams.id AND settled_at IS NULL AND seq < next_seq)
WHERE scope = $1 AND EXISTS (SELECT 1 FROM submissions WHERE stream = streams.id AND settled_at IS NULL AND seq < next_seq)`, scope)
	if err != nil {
		return wrap("release streams", err)
	}
	// A queue with a gap would stop whoever looks for work.
	gaps, err := sqldb.Value[int64](tx, "look for gaps", `SELECT COUNT(*) FROM streams WHERE scope = $1 AND next_seq > done_seq AND next_seq - done_seq <>
(SELECT COUNT(*) FROM submissions WHERE stream = streams.id AND seq >= done_seq AND seq < next_seq)`, scope)
	if err == nil && gaps > 0 {
		err = fmt.Errorf("%d queues have gaps", gaps)
	}
	return wrap("release streams", err)
}

// Wake has whoever waits for work look for it.
func Wake(s *Store) { s.hub.signal(svc.Topic{Of: svc.Ready}) }

// rowsAtOnce and bytesAtOnce are how much of what comes is written in one transaction.
const (
	rowsAtOnce  = 500
	bytesAtOnce = 4 << 20
)

// ReadStreams keeps streams that WriteStream wrote under a scope that nobody uses yet, and says how many. Nobody works on them
// before they are released.
func ReadStreams(ctx context.Context, db *sqldb.DB, scope string, from io.Reader) (streams int64, err error) {
	in := &arrival{db: db, scope: scope}
	err = eachLine(from, func(row travelling, bytes int64) error { return in.take(ctx, row, bytes) })
	if err != nil {
		return in.streams, wrap("read streams", err)
	}
	return in.streams, wrap("read streams", in.flush(ctx))
}

// eachLine reads the rows of streams, and refuses what does not belong together.
func eachLine(from io.Reader, take func(row travelling, bytes int64) error) error {
	var of *streamLine
	return jsonl.Each(from, func(line traveller, bytes int64) error {
		row := line.row()
		if row == nil {
			return errors.New("a line is of no kind that this svc knows")
		}
		if s, begins := row.(*streamLine); begins {
			of = s
		}
		if of == nil {
			return errors.New("a row comes before its stream")
		}
		if err := row.check(*of); err != nil {
			return err
		}
		return take(row, bytes)
	})
}

// arrival is streams that come in.
type arrival struct {
	db      *sqldb.DB
	scope   string
	rows    []travelling
	bytes   int64
	stream  int64 // the row of the last stream that was written; 0: none was
	streams int64
}

func (in *arrival) take(ctx context.Context, row travelling, bytes int64) error {
	if _, begins := row.(*streamLine); begins {
		in.streams++
	}
	in.rows = append(in.rows, row)
	if in.bytes += bytes; len(in.rows) < rowsAtOnce && in.bytes < bytesAtOnce {
		return nil
	}
	return in.flush(ctx)
}

func (in *arrival) flush(ctx context.Context) error {
	if len(in.rows) == 0 {
		return nil
	}
	at, err := sqldb.Write(sqldb.Patient(ctx, eraseTime), in.db, func(tx *sqldb.Tx) (at int64, err error) {
		if err := in.goOn(tx); err != nil {
			return 0, err
		}
		at = in.stream
		for _, row := range in.rows {
			if s, begins := row.(*streamLine); begins {
				at, err = s.insert(tx, in.scope)
			} else {
				err = insertRow(tx, in.scope, at, row)
			}
			if err != nil {
				return at, err
			}
		}
		return at, nil
	})
	if err != nil {
		return err
	}
	in.stream, in.rows, in.bytes = at, nil, 0
	return nil
}

// goOn refuses to go on with a stream that was taken away meanwhile: retention knows no imports.
func (in *arrival) goOn(tx *sqldb.Tx) error {
	if _, begins := in.rows[0].(*streamLine); begins || in.stream == 0 {
		return nil
	}
	n, err := tx.Exec(`UPDATE streams SET used_at = used_at WHERE id = $1 AND scope = $2 AND kind <> '' AND NOT dropped`, in.stream, in.scope)
	if err == nil && n == 0 {
		err = errors.New("retention has taken away what came first: keep conversations and runs for longer, and try again")
	}
	return err
}

// insert begins a stream whose work counts as done until it is released.
func (s *streamLine) insert(tx *sqldb.Tx, scope string) (row int64, err error) {
	resting := *s
	resting.DoneSeq = resting.NextSeq
	names := columnsOf(&resting)
	values := append([]any{scope}, valuesOf(&resting)...)
	return sqldb.Value[int64](tx, "insert stream", `INSERT INTO streams (scope, `+names+`) VALUES (`+places(len(values))+`) RETURNING id`, values...)
}

// insertRow keeps a row of a stream. Some name the scope too.
func insertRow(tx *sqldb.Tx, scope string, stream int64, row travelling) error {
	names, values := "stream, "+columnsOf(row), append([]any{stream}, valuesOf(row)...)
	if row.scoped() {
		names, values = names+", scope", append(values, scope)
	}
	_, err := tx.Exec(`INSERT INTO `+row.table()+` (`+names+`) VALUES (`+places(len(values))+`)`, values...)
	return err
}

func places(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = "$" + strconv.Itoa(i+1)
	}
	return strings.Join(all, ", ")
}

// BlobsAfter lists some contents of a scope's attachments by their hashes, those behind one; none behind the last.
func BlobsAfter(ctx context.Context, db *sqldb.DB, scope, after string) ([]svc.Blob, error) {
	all, err := sqldb.ReadAll(ctx, db, func(row sqldb.Row) (b svc.Blob, err error) {
		return b, row.Scan(&b.SHA256, &b.Size)
	}, `SELECT sha256, MAX(size) FROM blobs WHERE scope = $1 AND sha256 > $2 GROUP BY sha256 ORDER BY sha256 LIMIT $3`, scope, after, streamsAtOnce)
	return all, wrap("list blobs", err)
}

// OpenBlob opens a content of a scope's attachments.
func OpenBlob(ctx context.Context, db *sqldb.DB, scope string, b svc.Blob) (io.ReadCloser, error) {
	return blobs{&Store{db: db}}.openBlob(ctx, scope, b)
}

// PutBlob keeps the content of attachments that rows of the scope name already: nobody sweeps it.
func PutBlob(ctx context.Context, db *sqldb.DB, scope string, r io.Reader) (svc.Blob, error) {
	return (&Store{db: db}).Put(ctx, scope, r)
}

// SettleBlobs looks at all attachments of imported streams before anybody sees them. One whose content did not come is forgotten,
// and counted; one that is not as large as its content is an error.
func SettleBlobs(ctx context.Context, db *sqldb.DB, scope string) (forgotten int64, err error) {
	for last := ""; ; {
		some, err := BlobsAfter(ctx, db, scope, last)
		if err != nil || len(some) == 0 {
			return forgotten, err
		}
		for _, b := range some {
			last = b.SHA256
			n, err := settleBlob(ctx, db, scope, last)
			if err != nil {
				return forgotten, wrap("settle blob", err)
			}
			forgotten += n
		}
	}
}

func settleBlob(ctx context.Context, db *sqldb.DB, scope, sha string) (forgotten int64, err error) {
	size, err := blobs{&Store{db: db}}.size(ctx, scope, sha)
	if errors.Is(err, svc.ErrNotFound) {
		return sqldb.Write(ctx, db, func(tx *sqldb.Tx) (int64, error) {
			return tx.Exec(`DELETE FROM blobs WHERE scope = $1 AND sha256 = $2`, scope, sha)
		})
	}
	if err != nil {
		return 0, err
	}
	others, err := sqldb.Read(ctx, db, func(tx *sqldb.Tx) (int64, error) {
		return sqldb.Value[int64](tx, "compare sizes", `SELECT COUNT(*) FROM blobs WHERE scope = $1 AND sha256 = $2 AND size <> $3`, scope, sha, size)
	})
	if err == nil && others > 0 {
		err = fmt.Errorf("attachment %s has %d bytes, and is said to have others", sha, size)
	}
	return 0, err
}
