package operate

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/database"
)

// Migrated says what was done to a room's tables.
type Migrated struct {
	Room string `json:"room"`
	From int64  `json:"from"` // 0: there were none
	To   int64  `json:"to"`
}

// Migration is what Migrate did.
type Migration struct {
	Rooms      []Migrated `json:"rooms"`
	DurationMs int64      `json:"durationMs"`
}

// Migrate brings the database to the versions of this binary, and says what it did. A database of a newer binary is
// refused, and nothing is changed. SQLite must not be in use; PostgreSQL may be.
func Migrate(ctx context.Context, c database.Config, log *slog.Logger) (Migration, error) {
	return withDatabase(ctx, c, log, migrate)
}

func migrate(ctx context.Context, db *sqldb.DB) (m Migration, err error) {
	before, err := database.Versions(ctx, db)
	if err != nil {
		return m, err
	}
	began := time.Now()
	if err := db.Migrate(ctx, database.Rooms...); err != nil {
		return m, err
	}
	m.DurationMs = time.Since(began).Milliseconds()
	after, err := database.Versions(ctx, db)
	if err != nil {
		return m, err
	}
	for i, v := range after {
		m.Rooms = append(m.Rooms, Migrated{Room: v.Room, From: before[i].Database, To: v.Database})
	}
	return m, nil
}

// withDatabase opens the database for one deed, and closes it.
func withDatabase[T any](ctx context.Context, c database.Config, log *slog.Logger, do func(context.Context, *sqldb.DB) (T, error)) (_ T, err error) {
	var none T
	var folder *sqldb.Folder
	if !database.IsPostgres(c.Address) {
		if folder, err = database.HoldFolder(c.DataDir); err != nil {
			return none, err
		}
		defer func() { err = errors.Join(err, folder.Close()) }()
	}
	db, err := database.Open(ctx, c, folder, log)
	if err != nil {
		return none, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(ctx, db)
}

// MigrationPlan is what Migrate would do.
type MigrationPlan struct {
	Rooms []database.Plan `json:"rooms"`
	// Beside: processes of the version before may go on meanwhile, and afterwards.
	Beside bool `json:"beside"`
}

// PlanMigration says what Migrate would do, and changes nothing: it makes no database either.
func PlanMigration(ctx context.Context, c database.Config, log *slog.Logger) (p MigrationPlan, err error) {
	p.Rooms, err = planRooms(ctx, c, log)
	if err != nil {
		return p, err
	}
	p.Beside = database.IsPostgres(c.Address)
	for _, room := range p.Rooms {
		p.Beside = p.Beside && !room.Contracts()
	}
	return p, nil
}

func planRooms(ctx context.Context, c database.Config, log *slog.Logger) ([]database.Plan, error) {
	if !database.IsPostgres(c.Address) {
		if _, err := os.Stat(database.SQLitePath(c.Address)); errors.Is(err, fs.ErrNotExist) {
			return database.FreshPlans(sqldb.SQLite)
		}
	}
	c.ReadOnly = true
	return withDatabase(ctx, c, log, database.Plans)
}
