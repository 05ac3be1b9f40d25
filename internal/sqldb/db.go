// Package sqldb is one handle on SQLite or PostgreSQL, named by its address: open, write, read, migrate, notify.
// It knows no table.
package sqldb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Dialect names the SQL a database speaks.
type Dialect string

// The dialects there are.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

var (
	// ErrBusy says that the write queue is full; nothing was written, and the caller may try again later.
	ErrBusy = errors.New("database is busy: the write queue is full")
	// ErrClosed says that the handle was closed; nothing was done.
	ErrClosed = errors.New("database is closed")
	// ErrReadOnly says that the handle was opened to read; nothing was written.
	ErrReadOnly = errors.New("database is opened to be read only")
	// ErrFailed is in the chain of every error after the database failed; the cause stands behind it.
	ErrFailed = errors.New("database failed")
)

// Options are the choices of an operator; the zero value is a good one.
type Options struct {
	// Synchronous is how SQLite makes a commit durable: FULL, or NORMAL, which can lose the last commits when
	// power is lost. Defaults to FULL.
	Synchronous string
	// Folder holds the lock, the node id and files beside the database. The caller closes it, after the DB. On
	// SQLite it defaults to "<database file>.d", which the DB opens and closes; on PostgreSQL to none.
	Folder *Folder
	// Log is told what no caller can be told. Defaults to slog.Default().
	Log *slog.Logger
	// Readers is the number of read connections. Defaults to 4 on SQLite, to 8 on PostgreSQL.
	Readers int
	// Conns is the number of write connections on PostgreSQL. Defaults to pool_max_conns of the address, else 16.
	Conns int
	// Observe hears of every statement before it runs, for tests and benchmarks. Defaults to nobody.
	Observe func(query string, args []any)
	// ReadOnly refuses every Write and Migrate. A file of SQLite must be there.
	ReadOnly bool
	// Timeout is how long a call may take. It stays below the leases that the database keeps. Defaults to 5 seconds.
	Timeout time.Duration
}

// DB is a handle on one database, safe for concurrent use.
type DB struct {
	dialect Dialect
	folder  *Folder
	owned   bool // the folder was opened here
	log     *slog.Logger
	timeout time.Duration
	reads   bool                           // and writes nothing
	observe func(query string, args []any) // on SQLite; nil: nobody hears
	engine  engine
	gate    gate
	failure *failure
	closing sync.Once
	closed  error
}

// engine is what SQLite and PostgreSQL each do in their own way.
type engine interface {
	write(ctx context.Context, fn func(*Tx) error) error
	read(ctx context.Context, fn func(*Tx) error) error
	snapshot(ctx context.Context, fn func(*Tx) error) error
	urgent(ctx context.Context, fn func(*Tx) error) error
	migrate(ctx context.Context, rooms []Room, log *slog.Logger) error
	notify(keys []string)
	listen(fn func(keys []string))
	pool() *pgxpool.Pool
	close() error
}

// Open opens the database at an address: "sqlite:PATH", where PATH is taken literally and may be relative or
// absolute (also "sqlite:///abs"), or "postgres://…". A SQLite file is made when there is none, for its owner
// alone; it belongs to one handle at a time. PostgreSQL must answer.
func Open(ctx context.Context, address string, o Options) (*DB, error) {
	a, err := parseAddress(address)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	db := &DB{dialect: a.dialect, folder: o.Folder, log: o.Log, timeout: o.Timeout, reads: o.ReadOnly, failure: &failure{done: make(chan struct{})}}
	if a.dialect == SQLite {
		err = db.openSQLite(ctx, a.path, o)
	} else {
		db.engine, err = openPostgres(ctx, a.url, o)
	}
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return db, nil
}

func (db *DB) openSQLite(ctx context.Context, path string, o Options) error {
	path, err := resolve(path)
	if err != nil {
		return err
	}
	db.observe = o.Observe
	if db.folder == nil {
		db.folder, err = OpenFolder(path + ".d")
		if err != nil {
			return err
		}
		db.owned = true
	}
	db.engine, err = openSQLite(ctx, path, o, db.failure)
	if err != nil && db.owned {
		return errors.Join(err, db.folder.Close())
	}
	return err
}

// Shared reports whether other processes may have the database open: it is PostgreSQL.
func (db *DB) Shared() bool { return db.dialect == Postgres }

// Bytes is how large the database is.
func (db *DB) Bytes(ctx context.Context) (int64, error) {
	query := "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
	if db.Shared() {
		query = "SELECT pg_database_size(current_database())"
	}
	return Read(ctx, db, func(tx *Tx) (int64, error) { return Column[int64](tx.QueryRow(query)) })
}

// Dialect names the SQL this database speaks. What is written for both asks ForUpdate, Lock and Shared instead.
func (db *DB) Dialect() Dialect { return db.dialect }

// Folder is the folder held beside the database, and nil where there is none.
func (db *DB) Folder() *Folder { return db.folder }

// Pool is the pool of write connections, for statements that are a transaction by themselves and for COPY. It is
// nil on SQLite. A call on it has no deadline but its caller's.
func (db *DB) Pool() *pgxpool.Pool { return db.engine.pool() }

// Lane opens a pool of its own to the same PostgreSQL, with further settings of its sessions. The caller closes it, before
// the DB. On SQLite there is none.
func (db *DB) Lane(ctx context.Context, conns int, settings map[string]string) (*pgxpool.Pool, error) {
	if db.Pool() == nil {
		return nil, errors.New("open lane: the database has no connections to open")
	}
	config := db.Pool().Config()
	config.MinConns, config.MinIdleConns, config.MaxConns = 0, 0, int32(conns)
	maps.Copy(config.ConnConfig.RuntimeParams, settings)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open lane: %w", err)
	}
	return pool, nil
}

// Timeout is how long a call may take.
func (db *DB) Timeout() time.Duration { return db.timeout }

// Write runs fn in a transaction that is durable when Write returns nil, and undone when it returns an error. It
// returns only when fn can no longer run, with one exception: a database that has not answered within the handle's timeout,
// or what Patient allows, is left to itself. Then the error is ErrOverdue, whether the transaction took place is left open,
// and nothing that fn hands out may be used.
//
// fn may run more than once, beside others in one transaction, and on another goroutine: it holds SQL only, and
// sets what it hands out anew on every run. It closes its rows. A statement that failed fails fn, even when fn
// returns nil; an expected refusal is therefore data (ON CONFLICT DO NOTHING, rows affected). A panic in fn is an
// error of Write.
//
// On SQLite a context that ends before fn began ends Write; after that fn is committed all the same. A full queue
// is ErrBusy. On PostgreSQL fn runs on ctx, READ COMMITTED, and again after a deadlock; when the connection is
// lost during COMMIT, the error leaves open whether it took place.
//
// Unavailable tells errors that say nothing of fn apart from those that do.
//
// Where ctx is guarded, the guard runs first in the transaction, and its error is that of Write.
func (db *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	if db.reads {
		return ErrReadOnly
	}
	return db.enter(ctx, guarded(ctx, fn), db.engine.write)
}

// Read runs fn on a connection that cannot write. Each statement sees one state of the database; two statements
// may see two. fn may run more than once, closes its rows and waits for nothing else. On SQLite ctx ends only the
// wait for a connection.
func (db *DB) Read(ctx context.Context, fn func(tx *Tx) error) error {
	return db.enter(ctx, fn, db.engine.read)
}

// Snapshot is Read with one state of the database for all statements of fn. It costs a BEGIN and a COMMIT more.
func (db *DB) Snapshot(ctx context.Context, fn func(tx *Tx) error) error {
	return db.enter(ctx, fn, db.engine.snapshot)
}

// Urgent is Write of one statement on connections that nothing else uses, so that it waits for nobody's work: for what
// keeps leases alive. On SQLite it is Read, and cannot write.
func (db *DB) Urgent(ctx context.Context, fn func(tx *Tx) error) error {
	return db.enter(ctx, fn, db.engine.urgent)
}

func (db *DB) enter(ctx context.Context, fn func(*Tx) error, do func(context.Context, func(*Tx) error) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !db.gate.enter() {
		return ErrClosed
	}
	defer db.gate.leave()
	return do(ctx, func(tx *Tx) error {
		tx.observe = db.observe
		return db.contain(fn, tx)
	})
}

// contain runs fn and turns a panic and a swallowed error of a statement into an error.
func (db *DB) contain(fn func(*Tx) error, tx *Tx) (err error) {
	defer tx.end()
	defer func() {
		if v := recover(); v != nil {
			db.log.Error("database closure panicked", "error", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("database closure panicked: %v", v)
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.err
}

// Notify hints to the other nodes that what is named by keys has moved. It never waits and never fails; hints
// are gathered and sent within some 10 ms, and a lost one costs latency, never a fact. Call it after the commit.
// On SQLite there is no other node, and nothing happens.
func (db *DB) Notify(keys ...string) {
	if len(keys) == 0 || !db.gate.enter() {
		return
	}
	defer db.gate.leave()
	db.engine.notify(keys)
}

// Listen calls fn with the keys that other handles notified, and with nil when some may have been missed: when the
// connection first stands (at once if it does), and after every loss of it. It is not called for this handle's own keys, and never
// on SQLite. fn must not block. Register before use; there is no way to leave but Close.
func (db *DB) Listen(fn func(keys []string)) {
	if !db.gate.enter() {
		return
	}
	defer db.gate.leave()
	db.engine.listen(fn)
}

// Failed is closed when the database can no longer be trusted: a COMMIT or ROLLBACK failed on SQLite. Nothing is
// written after it; the process should stop, and start anew from what the disk holds.
func (db *DB) Failed() <-chan struct{} { return db.failure.done }

// Err says why the database failed, and is nil while it has not.
func (db *DB) Err() error { return db.failure.err() }

// Ping says whether the database can be asked, for readiness.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.Err(); err != nil {
		return err
	}
	err := db.Read(ctx, func(tx *Tx) error {
		var one int
		return tx.QueryRow("SELECT 1").Scan(&one)
	})
	if err != nil {
		return fmt.Errorf("ping database: %w", err)
	}
	return nil
}

// Close refuses what comes, lets what runs finish, and returns when everything the handle began has ended. A
// second Close does nothing and returns the same.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.gate.close()
		db.closed = db.engine.close()
		if db.owned {
			db.closed = errors.Join(db.closed, db.folder.Close())
		}
	})
	return db.closed
}
