package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync/atomic"
)

// Tx runs the statements of one closure, on one goroutine, and is of no use after it. Placeholders are $1, $2, … in
// both dialects. Every Row is scanned, and Rows are closed before the next statement: PostgreSQL has one answer open
// at a time. Rows left open are closed when the closure ends. After a statement has failed none runs any more, and
// each returns that first error.
type Tx struct {
	dialect Dialect
	ctx     context.Context
	run     runner
	rows    []*sql.Rows
	bytes   int                            // of arguments
	err     error                          // of the first statement that failed
	observe func(query string, args []any) // nil: nobody hears
	left    *atomic.Bool                   // the caller waits no longer, so no further statement runs; nil: it cannot leave
}

// runner is what *sql.Tx, *sql.Conn and *session have in common.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Dialect names the SQL to write.
func (tx *Tx) Dialect() Dialect { return tx.dialect }

// Exec runs a statement and returns how many rows it changed.
func (tx *Tx) Exec(query string, args ...any) (int64, error) {
	if err := tx.begin(query, args); err != nil {
		return 0, err
	}
	result, err := tx.run.ExecContext(tx.ctx, query, args...)
	if err != nil {
		return 0, tx.fail(err)
	}
	return result.RowsAffected()
}

// Do is Exec for a statement of which nobody counts the rows. What it does begins its error.
func (tx *Tx) Do(what, query string, args ...any) error {
	if _, err := tx.Exec(query, args...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Query runs a statement that answers with rows.
func (tx *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	if err := tx.begin(query, args); err != nil {
		return nil, err
	}
	rows, err := tx.run.QueryContext(tx.ctx, query, args...)
	if err != nil {
		return nil, tx.fail(err)
	}
	tx.rows = append(tx.rows, rows)
	return rows, nil
}

// QueryRow runs a statement that answers with at most one row; its Scan must be called.
func (tx *Tx) QueryRow(query string, args ...any) *sql.Row {
	if err := tx.begin(query, args); err != nil {
		return rowOf(err)
	}
	row := tx.run.QueryRowContext(tx.ctx, query, args...)
	if err := row.Err(); err != nil && tx.err == nil {
		_ = tx.fail(err)
	}
	return row
}

// begin counts a statement's arguments, and refuses it after a failure, when nobody waits for it any more, or for a text that
// cannot be stored.
func (tx *Tx) begin(query string, args []any) error {
	if tx.observe != nil {
		tx.observe(query, args)
	}
	if tx.err == nil && tx.left != nil && tx.left.Load() {
		_ = tx.fail(ErrOverdue)
	}
	if tx.err == nil && !storable(args) {
		_ = tx.fail(ErrText)
	}
	tx.count(args)
	return tx.err
}

// fail stops the transaction: SQLite undoes it by itself after some errors, and the next statement would be a
// transaction of its own.
func (tx *Tx) fail(err error) error {
	tx.err = err
	return err
}

// rowOf is a row whose Scan returns an error. A *sql.Row comes only from a database, so it comes from one that cannot be
// reached: the connection of the transaction would be taken for broken.
func rowOf(err error) *sql.Row {
	db := sql.OpenDB(unreachable{err})
	defer db.Close()
	return db.QueryRow("")
}

// unreachable is a connector that connects to nothing.
type unreachable struct{ err error }

func (u unreachable) Connect(context.Context) (driver.Conn, error) { return nil, u.err }
func (u unreachable) Driver() driver.Driver                        { return nil }

func (tx *Tx) count(args []any) {
	for _, a := range args {
		switch a := a.(type) {
		case []byte:
			tx.bytes += len(a)
		case string:
			tx.bytes += len(a)
		}
	}
}

// end closes the rows that the closure left open; a row left open would hold the connection's snapshot.
func (tx *Tx) end() {
	for _, rows := range tx.rows {
		rows.Close()
	}
	tx.rows = nil
}
