package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
)

// Room is a package's tables: its name and its migrations, files NNNNN_name.sql in goose's format. FS holds them in
// folders "sqlite" and "postgres", or at its root for both dialects. What is applied is recorded in the table
// <name>_schema.
//
// Migrations go forward only, and versions N and N-1 of the binary run together: a migration expands (adds a
// table, a column with a default, an index); what it replaces is removed one version later, when nobody reads or
// writes it any more. One that does more than add says which it is, in a line of its own: "-- svc: expand", or
// "-- svc: contract" where N-1 cannot go on beside it.
type Room struct {
	Name string
	FS   fs.FS
}

// NewRoom is a room whose files lie in a folder "migrations".
func NewRoom(name string, files fs.FS) Room {
	folder, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the name of the folder is a good one
	}
	return Room{Name: name, FS: folder}
}

// NewerError says that the database was migrated by a newer binary.
type NewerError struct {
	Room     string
	Database int64 // the version the database is at
	Binary   int64 // the newest version this binary knows
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("this database was written by a newer svc: room %s is at version %d, this binary knows %d; run the newer binary, or go back with a backup from before it",
		e.Room, e.Database, e.Binary)
}

// Migrate brings the rooms to their newest version, in the order given. When one of them is newer in the database
// than here, no migration runs and the error is a *NewerError. Nodes that start together migrate one after the
// other; a node that runs already is not disturbed. Writes wait until Migrate returns.
func (db *DB) Migrate(ctx context.Context, rooms ...Room) error {
	if db.reads {
		return ErrReadOnly
	}
	if !db.gate.enter() {
		return ErrClosed
	}
	defer db.gate.leave()
	if err := db.engine.migrate(ctx, rooms, db.log); err != nil {
		return fmt.Errorf("migrate database: %w", err)
	}
	return nil
}

// migrate stops the writer and uses a connection of its own, as durable as the writer's.
func (e *sqliteEngine) migrate(ctx context.Context, rooms []Room, log *slog.Logger) error {
	e.writer.mu.Lock()
	defer e.writer.mu.Unlock()
	if err := e.writer.failed.err(); err != nil {
		return err
	}
	source := sql.OpenDB(e.connect)
	source.SetMaxOpenConns(1)
	return errors.Join(migrateRooms(ctx, source, SQLite, rooms, log), source.Close())
}

// migrate holds an advisory lock while it works, on a read connection: the work needs a write connection, and there
// may be only one.
func (e *postgresEngine) migrate(ctx context.Context, rooms []Room, log *slog.Logger) error {
	conn, err := e.reads.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := lockMigrations(ctx, conn); err != nil {
		return fmt.Errorf("wait for other nodes: %w", err)
	}
	defer unlockMigrations(conn)
	source, err := e.unhurried(ctx)
	if err != nil {
		return err
	}
	return errors.Join(migrateRooms(ctx, source.DB, Postgres, rooms, log), source.Close())
}

// unhurried opens connections without a limit on their statements: an index over much that is stored takes its time.
func (e *postgresEngine) unhurried(ctx context.Context) (*connections, error) {
	config := e.writes.pool.Config()
	config.MinConns, config.MinIdleConns = 0, 0
	for _, limit := range []string{statementTimeout, idleTimeout} {
		config.ConnConfig.RuntimeParams[limit] = "0"
	}
	return connect(ctx, config)
}

// migrationLock is the key of the advisory lock: "svc_migr".
const migrationLock = 0x7376635f6d696772

// lockMigrations asks again and again instead of waiting inside PostgreSQL: a statement that waits holds a
// snapshot, and CREATE INDEX CONCURRENTLY on the other node would wait for it for ever.
func lockMigrations(ctx context.Context, conn *pgxpool.Conn) error {
	for {
		var held bool
		err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(migrationLock)).Scan(&held)
		if err != nil || held {
			return err
		}
		pause(ctx, 50*time.Millisecond)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// unlockMigrations closes the connection if it cannot unlock: that unlocks too.
func unlockMigrations(conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(migrationLock)); err != nil {
		hangUp(conn.Conn())
	}
}

// migrateRooms looks at every room before it changes one, and tells of tables that are brought forward.
func migrateRooms(ctx context.Context, source *sql.DB, d Dialect, rooms []Room, log *slog.Logger) error {
	providers, from, to := make([]*goose.Provider, len(rooms)), make([]int64, len(rooms)), make([]int64, len(rooms))
	fresh := true
	for i, room := range rooms {
		p, err := room.provider(source, d)
		if err == nil {
			from[i], err = p.GetDBVersion(ctx)
		}
		if err == nil {
			to[i], err = room.Newest(d)
		}
		switch {
		case err != nil:
			return fmt.Errorf("room %s: %w", room.Name, err)
		case from[i] > to[i]:
			return &NewerError{Room: room.Name, Database: from[i], Binary: to[i]}
		}
		providers[i], fresh = p, fresh && from[i] == 0
	}
	if fresh {
		log = slog.New(slog.DiscardHandler) // tables that are made are no news
	}
	for i, p := range providers {
		if err := bringForward(ctx, p, log.With("room", rooms[i].Name, "from", from[i], "to", to[i]), to[i] > from[i]); err != nil {
			return fmt.Errorf("room %s: %w", rooms[i].Name, err)
		}
	}
	return nil
}

// bringForward tells before it begins, for it may take long, and how long it took.
func bringForward(ctx context.Context, p *goose.Provider, log *slog.Logger, behind bool) error {
	if behind {
		log.Info("bringing the database forward")
	}
	began := time.Now()
	if _, err := p.Up(ctx); err != nil {
		return err
	}
	if behind {
		log.Info("brought the database forward", "duration_ms", time.Since(began).Milliseconds())
	}
	return nil
}

var roomName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

func (r Room) provider(source *sql.DB, d Dialect) (*goose.Provider, error) {
	if !roomName.MatchString(r.Name) {
		return nil, fmt.Errorf("name %q is not a table's name", r.Name)
	}
	files, err := r.files(d)
	if err != nil {
		return nil, err
	}
	dialect := goose.DialectSQLite3
	if d == Postgres {
		dialect = goose.DialectPostgres
	}
	return goose.NewProvider(dialect, source, files,
		goose.WithTableName(r.Name+"_schema"), goose.WithDisableGlobalRegistry(true))
}

// files are the migrations for a dialect.
func (r Room) files(d Dialect) (fs.FS, error) {
	if _, err := fs.Stat(r.FS, string(d)); err != nil {
		return r.FS, nil
	}
	return fs.Sub(r.FS, string(d))
}
