package database

import (
	"context"
	"fmt"
	"slices"

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

// Reader is a database that can be read: an open one, or a copy.
type Reader interface {
	Read(ctx context.Context, fn func(tx *sqldb.Tx) error) error
}

// Versions reads where every room stands, without changing anything.
func Versions(ctx context.Context, db Reader) ([]Version, error) {
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

// Plan is what a migration would do to a room.
type Plan struct {
	Room       string            `json:"room"`
	From       int64             `json:"from"` // 0: there are no tables yet
	To         int64             `json:"to"`
	Migrations []sqldb.Migration `json:"migrations"` // those that are left to do
}

// Contracts reports whether binaries of the version before cannot go on beside it.
func (p Plan) Contracts() bool {
	return slices.ContainsFunc(p.Migrations, func(m sqldb.Migration) bool { return m.Contracts })
}

// Plans says what a migration would do to each room, and does nothing. The error of a database that is newer than this binary is a
// *sqldb.NewerError.
func Plans(ctx context.Context, db *sqldb.DB) ([]Plan, error) {
	return sqldb.Read(ctx, db, func(tx *sqldb.Tx) (all []Plan, err error) {
		for _, room := range Rooms {
			from, pending, err := room.Pending(tx)
			if err != nil {
				return nil, fmt.Errorf("plan migration: %w", err)
			}
			all = append(all, planned(room.Name, from, pending))
		}
		return all, nil
	})
}

// FreshPlans are those of a database that is not there yet.
func FreshPlans(d sqldb.Dialect) (all []Plan, err error) {
	for _, room := range Rooms {
		list, err := room.Migrations(d)
		if err != nil {
			return nil, fmt.Errorf("plan migration: %w", err)
		}
		all = append(all, planned(room.Name, 0, list))
	}
	return all, nil
}

func planned(room string, from int64, pending []sqldb.Migration) Plan {
	p := Plan{Room: room, From: from, To: from, Migrations: pending}
	for _, m := range pending {
		p.To = max(p.To, m.Version)
	}
	return p
}

// Known is the last version of every room that this binary knows on a database of that kind, by the room's name.
func Known(d sqldb.Dialect) (map[string]int64, error) {
	known := map[string]int64{}
	for _, room := range Rooms {
		newest, err := room.Newest(d)
		if err != nil {
			return nil, fmt.Errorf("read versions: %w", err)
		}
		known[room.Name] = newest
	}
	return known, nil
}
