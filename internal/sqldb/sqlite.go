package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"
)

// openFiles are the database files that have a handle in this process; two handles may share a folder that was given.
var openFiles sync.Map

// sqliteEngine is one writer and a few readers on one file.
type sqliteEngine struct {
	path    string
	connect *connector
	writes  *sql.DB
	reads   *sql.DB
	writer  *writer
	readers *readers
}

func openSQLite(ctx context.Context, path string, o Options, failed *failure) (_ *sqliteEngine, err error) {
	o.Synchronous = cmp.Or(o.Synchronous, "FULL")
	o.Readers = cmp.Or(max(o.Readers, 0), 4)
	write, err := newConnector(path, o.Synchronous, false)
	if err != nil {
		return nil, err
	}
	read, err := newConnector(path, o.Synchronous, true)
	if err != nil {
		return nil, err
	}
	if _, held := openFiles.LoadOrStore(path, true); held {
		return nil, &HeldError{Path: path, PID: os.Getpid()}
	}
	if err := createFile(path); err != nil {
		openFiles.Delete(path)
		return nil, err
	}
	e := &sqliteEngine{path: path, connect: write, writes: sql.OpenDB(write), reads: sql.OpenDB(read)}
	e.writes.SetMaxOpenConns(1)
	if err := e.start(ctx, o, failed); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), e.close())
	}
	return e, nil
}

// start opens the writer first: it makes the file a WAL database.
func (e *sqliteEngine) start(ctx context.Context, o Options, failed *failure) (err error) {
	file, err := os.Stat(e.path)
	if err != nil {
		return err
	}
	there := func() error { return isThere(e.path, file) }
	if e.writer, err = startWriter(ctx, e.writes, there, o, failed); err != nil {
		return fmt.Errorf("writer: %w", err)
	}
	if e.readers, err = startReaders(ctx, e.reads, o); err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	return nil
}

func (e *sqliteEngine) write(ctx context.Context, fn func(*Tx) error) error {
	return e.writer.do(ctx, fn)
}

func (e *sqliteEngine) read(ctx context.Context, fn func(*Tx) error) error {
	return e.readers.do(ctx, fn, false)
}

func (e *sqliteEngine) snapshot(ctx context.Context, fn func(*Tx) error) error {
	return e.readers.do(ctx, fn, true)
}

func (e *sqliteEngine) urgent(ctx context.Context, fn func(*Tx) error) error {
	return e.readers.do(ctx, fn, false)
}

func (e *sqliteEngine) notify([]string)       {}
func (e *sqliteEngine) listen(func([]string)) {}
func (e *sqliteEngine) pool() *pgxpool.Pool   { return nil }

// close closes the writer last: the last connection folds the WAL into the file.
func (e *sqliteEngine) close() error {
	var errs []error
	if e.readers != nil {
		errs = append(errs, e.readers.close())
	}
	errs = append(errs, e.reads.Close())
	if e.writer != nil {
		errs = append(errs, e.writer.close())
	}
	errs = append(errs, e.writes.Close())
	openFiles.Delete(e.path)
	return errors.Join(errs...)
}

// createFile makes the database file for its owner alone; SQLite gives its other files the same mode. An existing
// file is not touched: closing it here would drop the locks SQLite holds on it in this process.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return refuseLinked(path)
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), SyncDir(filepath.Dir(path)))
}

// isThere reports whether a database still is the file that was opened, and has its WAL beside it. SQLite goes on writing to
// files that somebody has removed or replaced, and its commits are gone with the process.
func isThere(path string, file fs.FileInfo) error {
	now, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(now, file) {
		return fmt.Errorf("%s is another file than the one that was opened", path)
	}
	_, err = os.Stat(path + "-wal")
	return err
}

// refuseLinked refuses a file that has another name: whoever opens it by that one takes another lock, and writes another WAL.
func refuseLinked(path string) error {
	stat, err := os.Stat(path)
	if err != nil {
		return err
	}
	if s, ok := stat.Sys().(*syscall.Stat_t); ok && s.Nlink > 1 {
		return fmt.Errorf("%s has %d names: a database that is opened by two is lost; find the others with find / -xdev -samefile %s, and remove them", path, s.Nlink, path)
	}
	return nil
}

// SyncDir makes the names in a folder durable.
func SyncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
