package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
	"svc.dev/svc/sqlstore"
)

// rooms are the packages that own tables, in the order they are migrated. The order never changes; a new room comes last.
var rooms = []sqldb.Room{
	sqlstore.Migrations, secret.Migrations, audit.Migrations, throttle.Migrations, mail.Migrations, workspace.Migrations, account.Migrations,
	project.Migrations,
}

func isPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// sqlitePath is the file of an sqlite: address.
func sqlitePath(address string) string {
	path := strings.TrimPrefix(address, "sqlite:")
	if rest, found := strings.CutPrefix(path, "//"); found {
		return rest
	}
	return path
}

// liesIn reports whether a file's folder is that folder, under whatever name.
func liesIn(file, folder string) bool {
	a, err := os.Stat(filepath.Dir(file))
	if err != nil {
		return false
	}
	b, err := os.Stat(folder)
	return err == nil && os.SameFile(a, b)
}

// shownAddress is an address without its user, password and options.
func shownAddress(address string) string {
	if !isPostgres(address) {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "postgres://…"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// holdFolder takes the data folder, made if there is none. The error of a folder that is held says by whom and what to do.
func holdFolder(path string) (*sqldb.Folder, error) {
	folder, err := sqldb.OpenFolder(path)
	if held, ok := errors.AsType[*sqldb.HeldError](err); ok {
		return nil, fmt.Errorf("data folder %s is held by process %d: stop it, or choose another folder with --data", path, held.PID)
	}
	if loose, ok := errors.AsType[*sqldb.LooseError](err); ok {
		return nil, fmt.Errorf("data folder: %w, or choose another with --data", loose)
	}
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w: let this user write there, or choose another with --data", path, err)
	}
	return folder, nil
}

// warnOfOthers says that others may look into a folder. One that they may change was refused.
func warnOfOthers(log *slog.Logger, path string) {
	if stat, err := os.Stat(path); err == nil && stat.Mode().Perm()&0o077 != 0 {
		log.Warn("others can look into the data folder", "mode", fmt.Sprintf("%04o", stat.Mode().Perm()), "mend", "chmod 700 "+path)
	}
}

// openDatabase opens the database as the configuration names it.
func openDatabase(ctx context.Context, c Config, folder *sqldb.Folder, log *slog.Logger) (*sqldb.DB, error) {
	// The lock of the data folder does not guard a file that lies elsewhere: that one gets a lock of its own.
	if !isPostgres(c.Database) && !liesIn(sqlitePath(c.Database), c.DataDir) {
		folder = nil
	}
	db, err := sqldb.Open(ctx, c.Database, sqldb.Options{Synchronous: c.Synchronous, Folder: folder, Log: log})
	if err == nil {
		return db, nil
	}
	mend := "see that the file is svc's own and whole, restore it from a backup, or choose another with --database"
	if isPostgres(c.Database) {
		mend = "see that PostgreSQL listens there and lets this user in, or choose another with --database"
	}
	return nil, fmt.Errorf("%w: %s", err, mend)
}

// version is how far a room's tables are.
type version struct {
	Room     string `json:"room"`
	Database int64  `json:"database"` // 0: there are no tables yet
	Binary   int64  `json:"binary"`
}

func (v version) check() error {
	switch {
	case v.Database > v.Binary:
		return &sqldb.NewerError{Room: v.Room, Database: v.Database, Binary: v.Binary}
	case v.Database < v.Binary:
		return fmt.Errorf("room %s is at version %d of %d", v.Room, v.Database, v.Binary)
	}
	return nil
}

// versions reads where every room stands, without changing anything.
func versions(ctx context.Context, db *sqldb.DB) ([]version, error) {
	all := make([]version, len(rooms))
	err := db.Read(ctx, func(tx *sqldb.Tx) error {
		for i, room := range rooms {
			known, err := newest(room, db.Dialect())
			if err != nil {
				return err
			}
			have, err := applied(tx, room)
			if err != nil {
				return err
			}
			all[i] = version{Room: room.Name, Database: have, Binary: known}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read versions: %w", err)
	}
	return all, nil
}

// applied is the last migration that a room's table of versions names.
func applied(tx *sqldb.Tx, room sqldb.Room) (last int64, err error) {
	table := room.Name + "_schema"
	exists := "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = $1)"
	if tx.Dialect() == sqldb.Postgres {
		exists = "SELECT to_regclass($1) IS NOT NULL"
	}
	var there bool
	if err := tx.QueryRow(exists, table).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = tx.QueryRow("SELECT COALESCE(max(version_id), 0) FROM " + table).Scan(&last)
	return last, err
}

// newest is the last migration that this binary holds for a room.
func newest(room sqldb.Room, dialect sqldb.Dialect) (last int64, err error) {
	pattern := "*.sql"
	if _, err := fs.Stat(room.FS, string(dialect)); err == nil {
		pattern = string(dialect) + "/*.sql"
	}
	files, err := fs.Glob(room.FS, pattern)
	for _, file := range files {
		number, _, _ := strings.Cut(filepath.Base(file), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("migration %s has no number", file)
		}
		last = max(last, n)
	}
	return last, err
}
