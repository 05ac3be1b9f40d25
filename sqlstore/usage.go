package sqlstore

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
)

// Usage is how many bytes a scope stores.
type Usage struct {
	Attachments int64 // each content once, in whole blocks, and each reference to one
	Streams     int64
}

// What attachments take beside their bytes: a file is as long as its last block, and a reference is a row.
const (
	blockBytes     = 4 << 10
	referenceBytes = 512
)

// Measure sums what a scope stores. It looks at each of its streams, so it is for now and then, not for each append.
func Measure(ctx context.Context, db *sqldb.DB, scope string) (u Usage, err error) {
	err = db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.QueryRow(`SELECT
(SELECT CAST(COALESCE(SUM((size + $2 - 1) / $2 * $2), 0) AS bigint) FROM (SELECT DISTINCT sha256, size FROM blobs WHERE scope = $1) AS contents)
+ $3 * (SELECT COUNT(*) FROM blobs WHERE scope = $1),
(SELECT CAST(COALESCE(SUM(bytes), 0) AS bigint) FROM streams WHERE scope = $1)`, scope, blockBytes, referenceBytes).Scan(&u.Attachments, &u.Streams)
	})
	if err != nil {
		return Usage{}, fmt.Errorf("measure scope: %w", err)
	}
	return u, nil
}

// eraseBatch is how many streams of a scope one transaction erases.
const eraseBatch = 50

// Erase destroys all that a scope stores, so that nobody can tell what it was. Whoever still works on one of its streams
// finds it taken away. What is erased already is no error, so it may be called again; who calls sees to it that nothing new
// is admitted.
func Erase(ctx context.Context, db *sqldb.DB, scope string) error {
	ctx = sqldb.Patient(ctx, eraseTime)
	if _, err := sqldb.Drain(ctx, db, eraseBatch, func(tx *sqldb.Tx) (int64, error) { return eraseStreams(tx, scope) }); err != nil {
		return fmt.Errorf("erase scope: %w", err)
	}
	if err := eraseBlobs(ctx, db, scope); err != nil {
		return fmt.Errorf("erase attachments of scope: %w", err)
	}
	return nil
}

// eraseStreams erases some streams. Their rows stay, without a name: another stream that got such a row would get the leases
// of this one too.
func eraseStreams(tx *sqldb.Tx, scope string) (int64, error) {
	all, err := collect(tx, (*erased).fields, `SELECT id, scope, instance FROM streams WHERE scope = $1 AND kind <> '' LIMIT $2`, scope, eraseBatch)
	if err != nil {
		return 0, err
	}
	for _, e := range all {
		if err := eraseStream(tx, e); err != nil {
			return 0, err
		}
	}
	return int64(len(all)), nil
}

// erased is a stream that is being erased.
type erased struct {
	row             int64
	scope, instance string
}

func (e *erased) fields() []any { return []any{&e.row, &e.scope, &e.instance} }

// eraseStream takes a stream from whoever works on it, and then deletes what it holds.
func eraseStream(tx *sqldb.Tx, e erased) error {
	_, err := tx.Exec(`UPDATE streams SET dropped = TRUE, kind = '', name = '', instance = $2, done_seq = next_seq, owner = NULL, epoch = epoch + 1,
abort_seq = -1, attempts = 0, reason = '', part = 0, messages = 0, open_from = -1, context_from = -1, bytes = 0, closed = FALSE WHERE id = $1`,
		e.row, "erased-"+strconv.FormatInt(e.row, 10))
	if err != nil {
		return err
	}
	if err := eraseRows(tx, e.row); err != nil {
		return err
	}
	_, err = tx.Exec(`DELETE FROM runs WHERE scope = $1 AND id = $2`, e.scope, e.instance)
	return err
}

// eraseBlobs destroys the contents of a scope's attachments: files beside a SQLite database, rows on PostgreSQL.
func eraseBlobs(ctx context.Context, db *sqldb.DB, scope string) error {
	if db.Dialect() == sqldb.Postgres {
		return db.Do(ctx, "delete chunks", `DELETE FROM blob_chunks WHERE scope = $1`, scope)
	}
	if db.Folder() == nil {
		return nil
	}
	return os.RemoveAll(blobFolder(db, scope))
}

// EraseRuns destroys some runs of a scope that began before a time and have ended, and says how many.
func EraseRuns(ctx context.Context, db *sqldb.DB, scope string, before time.Time) (int64, error) {
	n, err := sqldb.Write(sqldb.Patient(ctx, eraseTime), db, func(tx *sqldb.Tx) (int64, error) {
		return eraseRuns(tx, `r.id < $2 AND r.scope = $3`, firstRun(before), scope)
	})
	if err != nil {
		return 0, fmt.Errorf("erase runs: %w", err)
	}
	return n, nil
}

// eraseRuns destroys the first eraseBatch runs of some that have ended, but for those that another node is destroying. Unlike a
// stream of which somebody may still hold a lease, one that closed long ago leaves no row behind. which has its arguments from $2 on.
func eraseRuns(tx *sqldb.Tx, which string, args ...any) (int64, error) {
	all, err := collect(tx, (*erased).fields, `SELECT r.stream, r.scope, r.id FROM runs r JOIN streams s ON s.id = r.stream
WHERE `+which+` AND r.ended_at IS NOT NULL AND s.next_seq <= s.done_seq ORDER BY r.id LIMIT $1`+tx.SkipLocked(), append([]any{eraseBatch}, args...)...)
	if err != nil {
		return 0, err
	}
	for _, e := range all {
		if err := eraseStream(tx, e); err != nil {
			return 0, err
		}
		if _, err := tx.Exec(`DELETE FROM streams WHERE id = $1`, e.row); err != nil {
			return 0, err
		}
	}
	return int64(len(all)), nil
}

// firstRun is the id of the first run that could begin at a time: ids begin with it.
func firstRun(at time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(at)) // it fails in the year 10889
	return "run_" + id.String()
}
