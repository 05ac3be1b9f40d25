package database

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
)

// Version is how far a room's tables are.
type Version struct {
	Room     string `json:"room"`
	Database int64  `json:"database"` // 0: there are no tables yet
	Binary   int64  `json:"binary"`
}

// Check refuses tables that are not at the version of this binary.
func (v Version) Check() error {
	switch {
	case v.Database > v.Binary:
		return &sqldb.NewerError{Room: v.Room, Database: v.Database, Binary: v.Binary}
	case v.Database < v.Binary:
		return fmt.Errorf("room %s is at version %d of %d", v.Room, v.Database, v.Binary)
	}
	return nil
}

// Versions reads where every room stands, without changing anything.
func Versions(ctx context.Context, db *sqldb.DB) ([]Version, error) {
	all := make([]Version, len(Rooms))
	err := db.Read(ctx, func(tx *sqldb.Tx) error {
		for i, room := range Rooms {
			have, known, err := room.Versions(tx)
			if err != nil {
				return err
			}
			all[i] = Version{Room: room.Name, Database: have, Binary: known}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read versions: %w", err)
	}
	return all, nil
}
