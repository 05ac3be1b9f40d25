package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"modernc.org/sqlite"
)

// copyPages is how many pages a copy takes between two looks at its context.
const copyPages = 1024

// CopyTo writes the database as it is at one moment to a file that is not there yet. It tells how many bytes of how many are
// done; the first time is after that moment. Writers go on meanwhile: the WAL keeps what they commit until the copy is done. The
// copy is not synced. There is none of PostgreSQL, which has tools of its own.
func (db *DB) CopyTo(ctx context.Context, path string, tell func(done, total int64)) error {
	e, ok := db.engine.(*sqliteEngine)
	if !ok {
		return errors.New("copy database: it is no file")
	}
	if !db.gate.enter() {
		return ErrClosed
	}
	defer db.gate.leave()
	if err := e.copyTo(ctx, path, tell); err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	return nil
}

func (e *sqliteEngine) copyTo(ctx context.Context, path string, tell func(done, total int64)) (err error) {
	connect, err := newConnector(e.path, "FULL", true)
	if err != nil {
		return err
	}
	source := sql.OpenDB(connect)
	defer func() { err = errors.Join(err, source.Close()) }()
	conn, err := source.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// A transaction that has read holds one state of the database for all steps: without it a step after a commit would begin
	// anew.
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	defer func() {
		_, end := conn.ExecContext(context.Background(), "ROLLBACK")
		err = errors.Join(err, end)
	}()
	var pages, size int64
	if err := conn.QueryRowContext(ctx, "SELECT page_count, page_size FROM pragma_page_count(), pragma_page_size(), (SELECT count(*) FROM sqlite_schema)").Scan(&pages, &size); err != nil {
		return err
	}
	tell(0, pages*size)
	return conn.Raw(func(c any) error { return copySteps(ctx, c, path, size, tell) })
}

// copySteps copies some pages at a time.
func copySteps(ctx context.Context, conn any, path string, pageSize int64, tell func(done, total int64)) (err error) {
	from, ok := conn.(interface {
		NewBackup(to string) (*sqlite.Backup, error)
	})
	if !ok {
		return errors.New("the driver copies nothing")
	}
	// A copy that breaks off is thrown away, so it needs neither a journal nor a sync.
	to, err := from.NewBackup(fileURI(path) + "?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Finish()) }()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err = to.Step(copyPages); err != nil {
			return err
		}
		total := int64(to.PageCount()) * pageSize
		tell(total-int64(to.Remaining())*pageSize, total)
	}
	return nil
}

func fileURI(path string) string {
	file := url.URL{Path: path}
	return "file:" + file.EscapedPath()
}

// Copy is a SQLite file that nobody writes to: one that CopyTo made, or that came out of a backup.
type Copy struct{ source *sql.DB }

// OpenCopy opens a copy for reading. The file stays as it is, and no other is made beside it.
func OpenCopy(path string) (*Copy, error) {
	connect, err := sqlite.NewConnector(fileURI(path) + "?mode=ro&immutable=1&_pragma=query_only(1)&_pragma=cache_size(-8000)")
	if err != nil {
		return nil, fmt.Errorf("open copy: %w", err)
	}
	return &Copy{sql.OpenDB(connect)}, nil
}

// Read runs fn, for as long as it takes. Rows may be read while other statements run.
func (c *Copy) Read(ctx context.Context, fn func(tx *Tx) error) (err error) {
	s, err := openSession(ctx, c.source)
	if err != nil {
		return fmt.Errorf("read copy: %w", err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	tx := &Tx{dialect: SQLite, ctx: ctx, run: s}
	defer tx.end()
	return cmp.Or(fn(tx), tx.err)
}

// Check looks whether the file is a database whose pages belong together.
func (c *Copy) Check(ctx context.Context) error {
	return c.Read(ctx, func(tx *Tx) error {
		found, err := Value[string](tx, "check copy", "PRAGMA quick_check(1)")
		if err == nil && found != "ok" {
			err = fmt.Errorf("check copy: %s", found)
		}
		return err
	})
}

// Close closes the file.
func (c *Copy) Close() error { return c.source.Close() }
