package sqldb

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"
)

// Unavailable reports whether an error says nothing of what was asked for: the database cannot be asked now, is stopped, full
// or failing, or did not answer in time. The same may be asked again later. Codes decide, never words: a server speaks the
// language of its operator.
func Unavailable(err error) bool {
	switch {
	case err == nil, errors.Is(err, ErrText):
		return false
	case errors.Is(err, ErrBusy), errors.Is(err, ErrOverdue), errors.Is(err, ErrFailed), errors.Is(err, ErrClosed):
		return true
	}
	if state := sqlState(err); state != "" {
		return passing(state)
	}
	if code(err) != 0 {
		return failing(code(err))
	}
	return unreached(err)
}

// passing reports whether PostgreSQL's code is of the server's state and not of the statement.
func passing(sqlstate string) bool {
	switch sqlstate {
	case "57014", "55P03", "25P03", "40001", "40P01", "0A000":
		// Out of its time, a lock not granted, an idle session ended, others in the way, a plan of yesterday.
		return true
	}
	switch sqlstate[:min(2, len(sqlstate))] {
	case "08", // connection
		"53", // resources: memory, disk, connections
		"57", // an operator: shutting down, starting, crashed
		"58": // the system below
		return true
	}
	return false
}

// failing reports whether SQLite's code is of the disk and not of the statement.
func failing(code int) bool {
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT:
		return true
	}
	return false
}

// unreached reports whether a connection could not be had, or was lost.
func unreached(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok && !errors.Is(err, context.Canceled) {
		return true
	}
	return lost(err) || pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
