package operate

import (
	"context"
	"errors"
	"log/slog"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/database"
)

// Migrated says what was done to a room's tables.
type Migrated struct {
	Room string `json:"room"`
	From int64  `json:"from"` // 0: there were none
	To   int64  `json:"to"`
}

// Migrate brings the database to the versions of this binary, and says what it did. A database of a newer binary is
// refused, and nothing is changed. SQLite must not be in use; PostgreSQL may be.
func Migrate(ctx context.Context, c database.Config, log *slog.Logger) (_ []Migrated, err error) {
	var folder *sqldb.Folder
	if !database.IsPostgres(c.Address) {
		if folder, err = database.HoldFolder(c.DataDir); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, folder.Close()) }()
	}
	db, err := database.Open(ctx, c, folder, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	before, err := database.Versions(ctx, db)
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, database.Rooms...); err != nil {
		return nil, err
	}
	after, err := database.Versions(ctx, db)
	if err != nil {
		return nil, err
	}
	done := make([]Migrated, len(after))
	for i, v := range after {
		done[i] = Migrated{Room: v.Room, From: before[i].Database, To: v.Database}
	}
	return done, nil
}
