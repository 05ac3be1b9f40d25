package sqldb

import (
	"context"
	"database/sql/driver"

	"modernc.org/sqlite"
)

// OnCommit puts fn between the SQLite writer and its COMMIT.
func OnCommit(db *DB, fn func(commit func() error) error) {
	w := db.engine.(*sqliteEngine).writer
	w.mu.Lock()
	defer w.mu.Unlock()
	commit := w.commit
	w.commit = func() error { return fn(commit) }
}

// DropWriter loses the SQLite writer's connection.
func DropWriter(db *DB) {
	w := db.engine.(*sqliteEngine).writer
	w.mu.Lock()
	defer w.mu.Unlock()
	drop(w.session)
}

// DropReader loses the SQLite connection a Read runs on.
func DropReader(tx *Tx) { drop(tx.run.(*session)) }

func drop(s *session) {
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
}

// Connect opens a connection of the SQLite writer that must read a pragma back as expected.
func Connect(ctx context.Context, path, pragma, expected string) error {
	c, err := newConnector(path, "FULL", false)
	if err != nil {
		return err
	}
	c.expect[pragma] = expected
	conn, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}

// CheckVersion is the test of SQLite's version at start.
var CheckVersion = checkVersion

// Queued is how many closures wait for the SQLite writer.
func Queued(db *DB) int { return len(db.engine.(*sqliteEngine).writer.queue) }

// MaxQueue is how many may.
const MaxQueue = maxQueue

// OnPlan calls fn whenever SQLite plans a statement of the connection that a Read runs on; nil ends that.
func OnPlan(tx *Tx, fn func()) error {
	return tx.run.(*session).conn.Raw(func(conn any) error {
		var hear sqlite.AuthorizerFn
		if fn != nil {
			hear = func(sqlite.AuthorizerActionCode, string, string, string, string) sqlite.AuthorizerReturnCode {
				fn()
				return sqlite.AuthorizerOK
			}
		}
		return conn.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(hear)
	})
}
