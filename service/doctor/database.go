package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/scope"
)

// What doctor expects of a database.
const (
	oldestPostgres = 15          // the oldest that svc is tested with
	clockApart     = time.Second // of two clocks that agree
	connsOfOwn     = 10          // of a process beside its pool of writers: 8 that read, one that listens, one that tells
	writersOfOwn   = 16
)

func (d *doctor) lookAtDatabase(ctx context.Context) {
	if database.IsPostgres(d.config.Database) {
		d.lookInside(ctx)
		if d.holder != nil {
			d.askServer(ctx)
		}
		return
	}
	path := database.SQLitePath(d.config.Database)
	_, err := os.Stat(path)
	switch {
	case d.holder != nil:
		d.add("database", skip(fmt.Sprintf("process %d has it open, and SQLite belongs to one process; the server is asked instead", d.holder.PID)))
		d.askServer(ctx)
	case errors.Is(err, fs.ErrNotExist):
		d.add("database", fine(path+" is not there yet: svc serve makes it"))
	case d.folder == nil && database.LiesIn(path, d.config.DataDir):
		d.add("database", skip("the data folder could not be locked"))
	default:
		d.lookInside(ctx)
	}
}

// lookInside opens the database and asks it.
func (d *doctor) lookInside(ctx context.Context) {
	db, err := database.Open(ctx, d.config.DatabaseConfig(), d.folder, d.log)
	if err != nil {
		d.add("database", fail(err.Error(), "check the address, and that the database runs and lets this user in"))
		return
	}
	d.db = db
	d.add("database", fine(database.Shown(d.config.Database)+" answers"))
	d.add("migrations", d.judgeVersions(ctx, db))
	if db.Shared() {
		d.lookIntoPostgres(ctx, db)
		return
	}
	d.lookIntoSQLite(ctx, db)
}

func (d *doctor) judgeVersions(ctx context.Context, db *sqldb.DB) Finding {
	all, err := database.Versions(ctx, db)
	if err != nil {
		return fail(err.Error(), "let this user read the tables")
	}
	behind := 0
	for _, v := range all {
		newer := (*sqldb.NewerError)(nil)
		switch err := v.Check(); {
		case errors.As(err, &newer):
			return fail(err.Error(), "run the newer svc, or restore an older backup")
		case err != nil:
			behind++
		}
	}
	if behind > 0 {
		return warn(fmt.Sprintf("%d of %d rooms are behind this binary", behind, len(all)), "svc migrate, or start svc "+d.parts[0].Name)
	}
	return fine(fmt.Sprintf("all %d rooms are at the version of this binary", len(all)))
}

// lookIntoSQLite reads back what SQLite is and what it made of the setting.
func (d *doctor) lookIntoSQLite(ctx context.Context, db *sqldb.DB) {
	var version string
	var level int
	err := db.Read(ctx, func(tx *sqldb.Tx) error {
		return errors.Join(tx.QueryRow("SELECT sqlite_version()").Scan(&version), tx.QueryRow("PRAGMA synchronous").Scan(&level))
	})
	if err != nil {
		d.add("database version", fail(err.Error(), "restore the file from a backup if it is damaged"))
		return
	}
	d.add("database version", fine("SQLite "+version+", which is part of this binary"))
	if level < 2 {
		d.add("sqlite.synchronous", warn(d.config.Synchronous+": the last commits can be lost with the power", "set sqlite.synchronous to FULL"))
		return
	}
	d.add("sqlite.synchronous", fine("FULL: a commit survives a loss of power"))
}

// facts are what PostgreSQL says of itself.
type facts struct {
	version            string
	number             int // 150004 is 15.4
	fsync, synchronous string
	most, reserved     int // connections
	clock              time.Time
	asked              time.Time // by our clock, in the middle of the question for theirs
	present            []database.Presence
}

func (d *doctor) lookIntoPostgres(ctx context.Context, db *sqldb.DB) {
	var f facts
	if err := db.Read(ctx, func(tx *sqldb.Tx) error { return f.read(tx, d.now) }); err != nil {
		d.add("database version", fail(err.Error(), "let this user read the settings of the server"))
		return
	}
	d.present = f.present
	d.add("database version", d.judgeVersion(f))
	d.add("durability", d.judgeDurability(f))
	d.add("connections", d.judgeConnections(f))
	d.add("clock", judgeClock(f.asked.Sub(f.clock), "PostgreSQL's", clockApart))
}

func (f *facts) read(tx *sqldb.Tx, now func() time.Time) (err error) {
	var theirs float64
	before := now()
	if err := tx.QueryRow("SELECT extract(epoch FROM clock_timestamp())::float8").Scan(&theirs); err != nil {
		return err
	}
	f.asked = before.Add(now().Sub(before) / 2)
	f.clock = time.UnixMicro(int64(theirs * 1e6))
	err = tx.QueryRow(`SELECT current_setting('server_version'), current_setting('server_version_num')::int, current_setting('fsync'),
current_setting('synchronous_commit'), current_setting('max_connections')::int, current_setting('superuser_reserved_connections')::int`).
		Scan(&f.version, &f.number, &f.fsync, &f.synchronous, &f.most, &f.reserved)
	if err != nil {
		return err
	}
	f.present, err = database.Present(tx)
	return err
}

func (d *doctor) judgeVersion(f facts) Finding {
	if f.number/10000 < oldestPostgres {
		return fail(fmt.Sprintf("PostgreSQL %s is older than svc is made for", f.version), fmt.Sprintf("use PostgreSQL %d or later", oldestPostgres))
	}
	return fine("PostgreSQL " + f.version)
}

// judgeDurability hears whether a commit is on the disk when it is promised.
func (d *doctor) judgeDurability(f facts) Finding {
	switch {
	case f.fsync != "on":
		return fail("fsync is off: a loss of power can destroy the database", "set fsync = on in postgresql.conf")
	case f.synchronous == "off":
		return fail("synchronous_commit is off: the last commits can be lost", "take synchronous_commit out of the address and of postgresql.conf")
	default:
		return fine("fsync is on, and a commit waits for it")
	}
}

// judgeConnections compares what the processes of the service may open with what the server lets in.
func (d *doctor) judgeConnections(f facts) Finding {
	each, processes := writers(d.config.Database)+connsOfOwn, len(f.present)
	if d.holder == nil || processes == 0 {
		processes++ // the one that is about to start
	}
	room := f.most - f.reserved
	text := fmt.Sprintf("%d processes of up to %d connections each; the server has room for %d", processes, each, room)
	mend := "raise max_connections, or append pool_max_conns=8 to the address of the database"
	switch {
	case each > room:
		return fail(text, mend)
	case each*processes > room:
		return warn(text, mend)
	default:
		return fine(text)
	}
}

// writers is how many connections a process writes by.
func writers(address string) int {
	if u, err := url.Parse(address); err == nil {
		if n, err := strconv.Atoi(u.Query().Get("pool_max_conns")); err == nil {
			return n
		}
	}
	return writersOfOwn
}

// judgeClock compares this machine's clock with another by which the service lives. Within slack nobody can tell.
func judgeClock(apart time.Duration, whose string, slack time.Duration) Finding {
	text := fmt.Sprintf("%s apart from %s", apart.Round(time.Millisecond), whose)
	if slack > time.Second {
		text = fmt.Sprintf("within %s of %s", max(slack, apart.Abs().Truncate(time.Second)+time.Second), whose)
	}
	const mend = "let both machines keep time by NTP: timedatectl set-ntp true, or chrony"
	switch {
	case apart.Abs() > scope.Skew:
		return fail(text+": a gateway and a runtime so far apart refuse each other, and sessions end at the wrong time", mend)
	case apart.Abs() > slack:
		return warn(text, mend)
	default:
		return fine(text)
	}
}
