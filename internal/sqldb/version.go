package sqldb

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Versions are the last migration that the database has of a room, 0 for none, and the last that this binary has.
func (r Room) Versions(tx *Tx) (database, binary int64, err error) {
	if database, err = r.applied(tx); err != nil {
		return 0, 0, err
	}
	binary, err = r.newest(tx.dialect)
	return database, binary, err
}

// applied is the last migration that a room's table of versions names.
func (r Room) applied(tx *Tx) (last int64, err error) {
	table := r.Name + "_schema"
	exists := "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = $1)"
	if tx.dialect == Postgres {
		exists = "SELECT to_regclass($1) IS NOT NULL"
	}
	there, err := Value[bool](tx, "look for "+table, exists, table)
	if err != nil || !there {
		return 0, err
	}
	return Value[int64](tx, "read "+table, "SELECT COALESCE(max(version_id), 0) FROM "+table)
}

// newest is the last migration that this binary holds for a room.
func (r Room) newest(d Dialect) (last int64, err error) {
	pattern := "*.sql"
	if _, err := fs.Stat(r.FS, string(d)); err == nil {
		pattern = string(d) + "/*.sql"
	}
	files, err := fs.Glob(r.FS, pattern)
	for _, file := range files {
		number, _, _ := strings.Cut(path.Base(file), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("migration %s has no number", file)
		}
		last = max(last, n)
	}
	return last, err
}
