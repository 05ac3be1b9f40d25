package sqldb

import (
	"cmp"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Versions are the last migration that the database has of a room, 0 for none, and the last that this binary has.
func (r Room) Versions(tx *Tx) (database, binary int64, err error) {
	if database, err = r.applied(tx); err != nil {
		return 0, 0, err
	}
	binary, err = r.Newest(tx.dialect)
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

// Newest is the last migration that this binary holds for a room.
func (r Room) Newest(d Dialect) (last int64, err error) {
	all, err := r.Migrations(d)
	for _, m := range all {
		last = max(last, m.Version)
	}
	return last, err
}

// Migration is one that this binary holds for a room.
type Migration struct {
	Version int64  `json:"version"`
	Name    string `json:"name"`
	// Contracts: what binaries before it read or write is gone afterwards, or means something else.
	Contracts bool `json:"contracts"`
}

// Migrations are all of a room, in their order.
func (r Room) Migrations(d Dialect) ([]Migration, error) {
	files, err := r.files(d)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]Migration, len(names))
	for i, name := range names {
		if all[i], err = readMigration(files, name); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Migration) int { return cmp.Compare(a.Version, b.Version) })
	return all, nil
}

// The marks of migrations that do more than add.
var (
	expands   = regexp.MustCompile(`(?m)^-- svc: expand$`)
	contracts = regexp.MustCompile(`(?m)^-- svc: contract$`)
	// doubtful is what does more than add, perhaps.
	doubtful = regexp.MustCompile(`(?im)\b(DROP (TABLE|COLUMN|CONSTRAINT)|RENAME|ALTER COLUMN \w+ (TYPE|DROP|SET (DATA|NOT))|TRUNCATE|DELETE FROM|UPDATE \w+ SET)\b`)
)

// readMigration reads a file NNNNN_name.sql. One that is doubtful must be marked.
func readMigration(files fs.FS, file string) (Migration, error) {
	number, rest, _ := strings.Cut(file, "_")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return Migration{}, fmt.Errorf("migration %s has no number", file)
	}
	text, err := fs.ReadFile(files, file)
	if err != nil {
		return Migration{}, err
	}
	if doubtful.Match(text) && expands.Match(text) == contracts.Match(text) {
		return Migration{}, fmt.Errorf("migration %s does more than add: mark it with a line -- svc: expand or -- svc: contract", file)
	}
	return Migration{Version: n, Name: strings.TrimSuffix(rest, ".sql"), Contracts: contracts.Match(text)}, nil
}

// Pending are the migrations of a room that the database does not have. The error of a database that is newer is a *NewerError.
func (r Room) Pending(tx *Tx) (from int64, pending []Migration, err error) {
	from, binary, err := r.Versions(tx)
	if err != nil {
		return 0, nil, err
	}
	if from > binary {
		return from, nil, &NewerError{Room: r.Name, Database: from, Binary: binary}
	}
	all, err := r.Migrations(tx.dialect)
	return from, slices.DeleteFunc(all, func(m Migration) bool { return m.Version <= from }), err
}
