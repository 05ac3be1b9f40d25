// Package database is the one database of the service: where it lies, how it is opened, how far its tables are, and which
// processes are connected to it.
package database

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/device"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/models"
	"svc.dev/svc/service/offer"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/receipt"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
	"svc.dev/svc/sqlstore"
)

// Rooms are the packages that own tables, in the order they are migrated. The order never changes; a new room comes last.
var Rooms = []sqldb.Room{
	sqlstore.Migrations, secret.Migrations, audit.Migrations, throttle.Migrations, mail.Migrations, workspace.Migrations, account.Migrations,
	project.Migrations, receipt.Migrations, models.Migrations, agent.Migrations, mcp.Migrations, offer.Migrations, device.Migrations, Migrations,
}

// HoldFolder takes the data folder, made if there is none. The error of a folder that is held says by whom and what to do.
func HoldFolder(path string) (*sqldb.Folder, error) {
	folder, err := sqldb.OpenFolder(path)
	if held, ok := errors.AsType[*sqldb.HeldError](err); ok {
		return nil, fmt.Errorf("data folder %s is held by process %d: stop it, or choose another folder with --data", path, held.PID)
	}
	if loose, ok := errors.AsType[*sqldb.LooseError](err); ok {
		return nil, fmt.Errorf("data folder: %w, or choose another with --data", loose)
	}
	if part, ok := errors.AsType[*sqldb.UnfinishedError](err); ok {
		return nil, fmt.Errorf("data folder: %w", part)
	}
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w: let this user write there, or choose another with --data", path, err)
	}
	return folder, nil
}

// Config is where the database lies, and how it is opened.
type Config struct {
	// Address is sqlite:PATH or postgres://….
	Address string
	// Synchronous is how SQLite makes a commit durable, FULL or NORMAL.
	Synchronous string
	// DataDir is the folder whose lock guards a file that lies in it.
	DataDir string
	// ReadOnly is for those who only look.
	ReadOnly bool
}

// Open opens the database. The folder is the data folder where it is held, and the error says what to do.
func Open(ctx context.Context, c Config, folder *sqldb.Folder, log *slog.Logger) (*sqldb.DB, error) {
	// The lock of the data folder does not guard a file that lies elsewhere: that one gets a lock of its own.
	if !IsPostgres(c.Address) && !LiesIn(SQLitePath(c.Address), c.DataDir) {
		folder = nil
	}
	db, err := sqldb.Open(ctx, c.Address, sqldb.Options{Synchronous: c.Synchronous, Folder: folder, ReadOnly: c.ReadOnly, Log: log})
	if err == nil {
		return db, nil
	}
	mend := "see that the file is svc's own and whole, restore it from a backup, or choose another with --database"
	if IsPostgres(c.Address) {
		mend = "see that PostgreSQL listens there and lets this user in, or choose another with --database"
	}
	return nil, fmt.Errorf("%w: %s", err, mend)
}
