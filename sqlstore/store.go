// Package sqlstore is svc.Store in SQL, on SQLite and on PostgreSQL: the same tables, the same verbs. All SQL of the
// runtime stands here.
package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("runtime", migrations)

// Config is the choices of a store; the zero value is a good one.
type Config struct {
	// Folder holds the lock, the node id and, on SQLite, attachments. Defaults to "<database file>.d" on SQLite and to none
	// on PostgreSQL.
	Folder *sqldb.Folder
	// Synchronous is how SQLite makes a commit durable: FULL or NORMAL. Defaults to FULL.
	Synchronous string
	// Now is the clock that every time comes from. Defaults to time.Now on SQLite and to the database's clock on PostgreSQL,
	// so that all nodes agree when a lease has lapsed.
	Now func() time.Time
	// Poll is how often a node on PostgreSQL looks for what a lost wake did not tell. Defaults to 1 second.
	Poll time.Duration
	// Timeout is how long a call may take; it stays below the leases of the store's owners. Defaults to 5 seconds. New takes
	// that of its database.
	Timeout time.Duration
	// IdempotencyAge is how long a key is kept after its admission; never less than until the work has settled. Defaults to
	// 7 days.
	IdempotencyAge time.Duration
	// RunAge is how long a run is kept after its end, and ConversationAge one of an agent after its last message. Neither should be
	// less than IdempotencyAge, for their keys go with them. Default to for ever.
	RunAge, ConversationAge time.Duration
	// Swept is told what each sweep has forgotten. Defaults to nobody.
	Swept func(Swept)
	// sweepFirst is within which time after the start the first sweep begins. Defaults to a minute: a node that restarts often
	// sweeps too.
	sweepFirst time.Duration
	// Log hears what no caller can be told. Defaults to slog.Default().
	Log *slog.Logger
}

// Store is a svc.Store on one database.
type Store struct {
	db     *sqldb.DB
	owned  bool
	config Config
	hub    hub
	sql    statements

	committer *committer // on PostgreSQL

	mu      sync.Mutex
	workers map[string]*worker // owners that claimed here, by name
	looked  time.Time          // for work that nobody can do

	shown witness

	putting sync.Mutex   // on SQLite, held while a blob gets or loses its name
	backups atomic.Int64 // that need what blobs were there when they began

	stop    context.CancelFunc
	work    sync.WaitGroup
	closing sync.Once
}

var _ svc.Store = (*Store)(nil)

// Open opens the database at an address, "sqlite:PATH" or "postgres://…", brings its tables up to date, and gives a store
// that owns it.
func Open(ctx context.Context, address string, c Config) (*Store, error) {
	db, err := sqldb.Open(ctx, address, sqldb.Options{
		Synchronous: c.Synchronous, Folder: c.Folder, Log: c.Log, Timeout: c.Timeout,
	})
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, Migrations); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s, err := New(ctx, db, c)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.owned = true
	return s, nil
}

// New gives a store on a database that is open and migrated. On SQLite it voids every lease: whoever held one is gone.
func New(ctx context.Context, db *sqldb.DB, c Config) (*Store, error) {
	c.Log = cmp.Or(c.Log, slog.Default())
	c.Poll = cmp.Or(max(c.Poll, 0), time.Second)
	c.IdempotencyAge = cmp.Or(max(c.IdempotencyAge, 0), 7*24*time.Hour)
	c.sweepFirst = cmp.Or(c.sweepFirst, time.Minute)
	if c.Swept == nil {
		c.Swept = func(Swept) {}
	}
	if c.Now == nil && db.Dialect() == sqldb.SQLite {
		c.Now = time.Now
	}
	s := &Store{
		db: db, config: c, workers: map[string]*worker{}, sql: statementsFor(db.Dialect()),
		hub: hub{remote: db.Notify, watchers: map[uint64]map[*watcher]struct{}{}},
	}
	if db.Dialect() == sqldb.SQLite {
		if err := s.voidAll(ctx); err != nil {
			return nil, err
		}
	}
	if db.Dialect() == sqldb.Postgres {
		groups, err := db.Lane(ctx, committers, map[string]string{"lock_timeout": lockWait})
		if err != nil {
			return nil, err
		}
		s.committer = newCommitter(groups, db.Pool(), db.Timeout())
	}
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.work.Go(func() { sweep{s}.always(background) })
	if s.committer != nil {
		db.Listen(s.hub.heard)
		s.work.Go(func() { s.pollReady(background) })
		s.work.Go(func() { s.poll(background) })
		for range committers {
			s.work.Go(func() { s.committer.run(background) })
		}
	}
	return s, nil
}

// Node is the name of this node kept beside the database, empty where nothing is.
func (s *Store) Node() string {
	if s.db.Folder() == nil {
		return ""
	}
	node, err := s.db.Folder().Node()
	if err != nil {
		s.config.Log.Warn("read node id", "error", err)
	}
	return node
}

// Failed is closed when the database can no longer be trusted; the process should stop.
func (s *Store) Failed() <-chan struct{} { return s.db.Failed() }

// Close ends what the store began, and the database if Open opened it.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.stop()
		s.work.Wait()
		if s.committer != nil {
			s.committer.close()
		}
	})
	if s.owned {
		return s.db.Close()
	}
	return nil
}

// clock is the parameter that stands for the time in a statement: nil lets the database say.
func (s *Store) clock() any {
	if s.config.Now == nil {
		return nil
	}
	return s.config.Now().UnixMilli()
}

// now asks for the time where a value is needed in Go.
func (s *Store) now(tx *sqldb.Tx) (int64, error) {
	if s.config.Now != nil {
		return s.config.Now().UnixMilli(), nil
	}
	return sqldb.Value[int64](tx, "ask for the time", "SELECT "+postgresNow)
}

// write runs a transaction. One that is committed after its caller has left wakes everybody in the caller's stead.
func (s *Store) write(ctx context.Context, doing string, fn func(tx *sqldb.Tx) error) error {
	return wrap(doing, s.writeLeases(ctx, fn, nil))
}

// writeLeases runs a transaction that leases streams. When it is committed after its caller has left, nobody works on them,
// and on SQLite none lapses: they are given back.
func (s *Store) writeLeases(ctx context.Context, fn func(tx *sqldb.Tx) error, leased func() []svc.Lease) error {
	return s.db.Write(sqldb.Late(ctx, func() {
		if leased != nil {
			s.giveBack(leased())
		}
		s.hub.wakeAll()
	}), fn)
}

func (s *Store) read(ctx context.Context, doing string, fn func(tx *sqldb.Tx) error) error {
	return wrap(doing, s.db.Read(ctx, fn))
}

// readRow reads the one row of a statement into the fields of a value. Where there is none, the error is the one that is given
// for it.
func readRow[T any](ctx context.Context, s *Store, doing string, missing error, fields func(*T) []any, query string, args ...any) (T, error) {
	var v, none T
	err := s.read(ctx, doing, func(tx *sqldb.Tx) error { return tx.QueryRow(query, args...).Scan(fields(&v)...) })
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return none, missing
	case err != nil:
		return none, err // a read that is overdue may still be filling the other
	}
	return v, nil
}

// readAll reads the rows of a statement into the fields of values.
func readAll[T any](ctx context.Context, s *Store, doing string, fields func(*T) []any, query string, args ...any) ([]T, error) {
	all, err := sqldb.Read(ctx, s.db, func(tx *sqldb.Tx) ([]T, error) { return collect(tx, fields, query, args...) })
	return all, wrap(doing, err)
}

// wrap says what was being done. A full queue is the store's refusal, and a database that cannot be asked is not available.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, unavailable(err))
}

func unavailable(err error) error {
	switch {
	case errors.Is(err, svc.ErrBusy), errors.Is(err, sqldb.ErrBusy):
		return svc.ErrBusy
	case sqldb.Unavailable(err):
		return fmt.Errorf("%w: %w", svc.ErrUnavailable, err)
	}
	return err
}

// storableStream reports whether an address can be kept: what cannot was never kept, and is not found.
func storableStream(s svc.Stream) bool { return sqldb.Storable(s.Scope, s.Name, s.ID) }

func unixMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func ownerName(o svc.Owner) string { return o.Node + "/" + o.Boot }

func leaseTime(o svc.Owner) int64 { return cmp.Or(max(o.Lease, 0), 10*time.Second).Milliseconds() }

func dollar(n int) string { return "$" + strconv.Itoa(n) }
