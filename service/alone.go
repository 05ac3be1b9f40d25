package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/operate"
	"svc.dev/svc/service/parcel"
)

// Operate reaches the service that runs on the data folder, by its admin socket. Where none runs it takes the folder and
// opens the database itself, as far as the tables stand: it makes no database and migrates nothing.
func Operate(ctx context.Context, c config.Config, log *slog.Logger) (operate.Operator, error) {
	c = c.WithDefaults()
	if o, err := operate.Reach(ctx, c.AdminSocket); o != nil || err != nil {
		return o, err
	}
	return openAlone(ctx, c, log)
}

// alone is an operator on a database that no service of this folder has open.
type alone struct {
	*operate.Machine
	house  *house
	folder *sqldb.Folder // nil: PostgreSQL without a data folder
}

func openAlone(ctx context.Context, c config.Config, log *slog.Logger) (_ *alone, err error) {
	if err := mustExist(c); err != nil {
		return nil, err
	}
	log, redactor := redacted(log)
	a := &alone{house: &house{config: c, surfaces: c.Surfaces(), log: log, redactor: redactor}}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if _, missing := os.Stat(c.DataDir); missing == nil {
		if a.folder, err = holdAlone(c); err != nil {
			return nil, err
		}
	}
	if a.house.db, err = database.Open(ctx, c.DatabaseConfig(), a.folder, log); err != nil {
		return nil, err
	}
	if err := mustBeMigrated(ctx, a.house.db); err != nil {
		return nil, err
	}
	if err := a.house.furnish(ctx); err != nil {
		return nil, err
	}
	if err := a.openFiles(c); err != nil {
		return nil, err
	}
	a.Machine = a.house.machine()
	return a, nil
}

// openFiles opens the files of projects where there are some: a backup reads them.
func (a *alone) openFiles(c config.Config) error {
	if _, err := os.Stat(c.FilesDir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return a.house.openFiles()
}

// Import is for a service that runs: it alone has all the rooms that a workspace needs.
func (a *alone) Import(context.Context, parcel.Address, io.Reader) (parcel.Unpacked, error) {
	return parcel.Unpacked{}, errors.New("a workspace is imported by a service that runs: start it, and try again")
}

// mustExist refuses to begin a database where an operator looks for one.
func mustExist(c config.Config) error {
	if database.IsPostgres(c.Database) {
		return nil
	}
	if _, err := os.Stat(database.SQLitePath(c.Database)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database at %s: name its folder with --data, or make one with svc serve or svc migrate", database.SQLitePath(c.Database))
	}
	return nil
}

// holdAlone takes the folder from nobody: its holder is a service that did not answer on its socket.
func holdAlone(c config.Config) (*sqldb.Folder, error) {
	folder, err := sqldb.OpenFolder(c.DataDir)
	if held, ok := errors.AsType[*sqldb.HeldError](err); ok {
		return nil, fmt.Errorf("process %d runs on %s, but does not answer on %s: name its socket with --admin-socket, or stop it", held.PID, c.DataDir, c.AdminSocket)
	}
	return folder, err
}

// BehindError says that the tables of a database are older than this binary.
type BehindError struct{ Why error }

func (e *BehindError) Error() string { return e.Why.Error() + ": run svc migrate first" }

// mustBeMigrated refuses tables that are not as this binary knows them: older ones with a *BehindError.
func mustBeMigrated(ctx context.Context, db *sqldb.DB) error {
	all, err := database.Versions(ctx, db)
	if err != nil {
		return err
	}
	for _, v := range all {
		err := v.Check()
		if v.Database < v.Binary {
			err = &BehindError{err}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close closes the database and lets the folder go.
func (a *alone) Close() (err error) {
	if a.house.projects != nil {
		err = a.house.projects.Close()
	}
	if a.house.db != nil {
		err = errors.Join(err, a.house.db.Close())
	}
	if a.folder != nil {
		err = errors.Join(err, a.folder.Close())
	}
	return err
}
