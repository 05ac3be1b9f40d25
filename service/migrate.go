package service

import (
	"context"
	"errors"
	"log/slog"

	"svc.dev/svc/internal/sqldb"
)

// Migrated says what was done to a room's tables.
type Migrated struct {
	Room string `json:"room"`
	From int64  `json:"from"` // 0: there were none
	To   int64  `json:"to"`
}

// Migrate brings the database to the versions of this binary, and says what it did. A database of a newer binary is
// refused, and nothing is changed. SQLite must not be in use; PostgreSQL may be.
func Migrate(ctx context.Context, c Config, log *slog.Logger) (_ []Migrated, err error) {
	c = c.withDefaults()
	var folder *sqldb.Folder
	if !isPostgres(c.Database) {
		if folder, err = holdFolder(c.DataDir); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, folder.Close()) }()
	}
	db, err := openDatabase(ctx, c, folder, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	before, err := versions(ctx, db)
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, rooms...); err != nil {
		return nil, err
	}
	after, err := versions(ctx, db)
	if err != nil {
		return nil, err
	}
	done := make([]Migrated, len(after))
	for i, v := range after {
		done[i] = Migrated{Room: v.Room, From: before[i].Database, To: v.Database}
	}
	return done, nil
}
