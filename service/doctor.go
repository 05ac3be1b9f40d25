package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/secret"
)

// Finding is what doctor says of one thing that operators get wrong.
type Finding struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Text    string `json:"text"`
	Mend    string `json:"mend,omitempty"` // what to do about it
}

// The verdicts of a Finding.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
	Skip = "skip" // not looked at; the text says why
)

// Doctor looks at what operators get wrong and changes nothing: it makes no folder, no database and no table. While a
// server holds the data folder, what needs the lock is skipped, and the server is asked instead.
func Doctor(ctx context.Context, c Config, log *slog.Logger) []Finding {
	d := &doctor{config: c.withDefaults(), log: log}
	d.lookAtFolder()
	d.lookAtDisk()
	d.lookAtDatabase(ctx)
	d.lookAtKeys()
	d.lookAtSurfaces()
	d.lookAtMail(ctx)
	d.lookAtLimits()
	d.lookAtAddress("listen", d.config.Listen)
	d.lookAtAddress("ops_listen", d.config.OpsListen)
	if d.folder != nil {
		if err := d.folder.Close(); err != nil {
			d.add("lock", Fail, err.Error(), "")
		}
	}
	return d.findings
}

type doctor struct {
	config   Config
	log      *slog.Logger
	folder   *sqldb.Folder    // nil: there is none, or another holds it
	holder   *sqldb.HeldError // nil: nobody else holds the folder
	sealed   bool             // the database was seen to hold what only its key ring opens
	findings []Finding
}

func (d *doctor) add(name, verdict, text, mend string) {
	d.findings = append(d.findings, Finding{name, verdict, text, mend})
}

func (d *doctor) lookAtFolder() {
	path := d.config.DataDir
	stat, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.add("data folder", OK, path+" is not there yet: svc serve makes it", "")
		return
	case err != nil:
		d.add("data folder", Fail, err.Error(), "let this user reach the folder, or choose another with --data")
		return
	case !stat.IsDir():
		d.add("data folder", Fail, path+" is not a folder", "choose another with --data")
		return
	case stat.Mode().Perm()&0o077 != 0:
		d.add("data folder", Warn, fmt.Sprintf("%s can be entered by others (mode %04o)", path, stat.Mode().Perm()), "chmod 700 "+path)
	default:
		d.add("data folder", OK, path+" is this user's alone", "")
	}
	d.lookAtLock(path)
}

func (d *doctor) lookAtLock(path string) {
	folder, err := sqldb.OpenFolder(path)
	if held, ok := errors.AsType[*sqldb.HeldError](err); ok {
		d.holder = held
		d.add("lock", OK, fmt.Sprintf("held by process %d", held.PID), "")
		return
	}
	if err != nil {
		d.add("lock", Fail, err.Error(), "give the folder to the user that runs svc: chown -R")
		return
	}
	d.folder = folder
	d.add("lock", OK, "free: no server runs on this folder", "")
}

func (d *doctor) lookAtDatabase(ctx context.Context) {
	if isPostgres(d.config.Database) {
		d.lookInside(ctx)
		return
	}
	path := sqlitePath(d.config.Database)
	_, err := os.Stat(path)
	switch {
	case d.holder != nil:
		d.add("database", Skip, fmt.Sprintf("process %d has it open, and SQLite belongs to one process; the server is asked instead", d.holder.PID), "")
		d.askServer(ctx)
	case errors.Is(err, fs.ErrNotExist):
		d.add("database", OK, path+" is not there yet: svc serve makes it", "")
	case d.folder == nil && liesIn(path, d.config.DataDir):
		d.add("database", Skip, "the data folder could not be locked", "")
	default:
		d.lookInside(ctx)
	}
}

// lookInside opens the database and asks it.
func (d *doctor) lookInside(ctx context.Context) {
	db, err := openDatabase(ctx, d.config, d.folder, d.log)
	if err != nil {
		d.add("database", Fail, err.Error(), "check the address, and that the database runs and lets this user in")
		return
	}
	defer db.Close()
	d.add("database", OK, shownAddress(d.config.Database)+" answers", "")
	d.lookAtVersions(ctx, db)
	// Where the tables of secrets are not there yet, there are none.
	empty, err := secret.Empty(ctx, db)
	d.sealed = err == nil && !empty
	if db.Dialect() == sqldb.Postgres {
		d.lookAtClock(ctx, db)
	} else {
		d.lookAtSynchronous(ctx, db)
	}
}

func (d *doctor) lookAtVersions(ctx context.Context, db *sqldb.DB) {
	all, err := versions(ctx, db)
	if err != nil {
		d.add("migrations", Fail, err.Error(), "let this user read the tables")
		return
	}
	for _, v := range all {
		newer := (*sqldb.NewerError)(nil)
		switch err := v.check(); {
		case errors.As(err, &newer):
			d.add("migrations", Fail, err.Error(), "run the newer svc, or restore an older backup")
		case err != nil:
			d.add("migrations", Warn, err.Error(), "svc migrate, or start svc serve")
		default:
			d.add("migrations", OK, fmt.Sprintf("room %s is at version %d, as this binary", v.Room, v.Database), "")
		}
	}
}

// lookAtSynchronous reads back what SQLite made of the setting.
func (d *doctor) lookAtSynchronous(ctx context.Context, db *sqldb.DB) {
	var level int
	err := db.Read(ctx, func(tx *sqldb.Tx) error { return tx.QueryRow("PRAGMA synchronous").Scan(&level) })
	switch {
	case err != nil:
		d.add("sqlite.synchronous", Fail, err.Error(), "")
	case level >= 2:
		d.add("sqlite.synchronous", OK, "FULL: a commit survives a loss of power", "")
	default:
		d.add("sqlite.synchronous", Warn, d.config.Synchronous+": the last commits can be lost with the power", "set sqlite.synchronous to FULL")
	}
}

// Healthy reports whether no finding is a failure.
func Healthy(findings []Finding) bool {
	for _, f := range findings {
		if f.Verdict == Fail {
			return false
		}
	}
	return true
}

// String is the finding as one line, and what to do about it as a second.
func (f Finding) String() string {
	line := fmt.Sprintf("%-5s %-18s %s", f.Verdict, f.Name, f.Text)
	if f.Mend != "" {
		line += "\n" + strings.Repeat(" ", 25) + "mend: " + f.Mend
	}
	return line
}
