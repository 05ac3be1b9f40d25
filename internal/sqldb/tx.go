package sqldb

import (
	"context"
	"database/sql"
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
	bytes   int   // of arguments
	err     error // of the first statement that failed
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
	if tx.err != nil {
		return 0, tx.err
	}
	tx.count(args)
	result, err := tx.run.ExecContext(tx.ctx, query, args...)
	if err != nil {
		return 0, tx.fail(err)
	}
	return result.RowsAffected()
}

// Query runs a statement that answers with rows.
func (tx *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	if tx.err != nil {
		return nil, tx.err
	}
	tx.count(args)
	rows, err := tx.run.QueryContext(tx.ctx, query, args...)
	if err != nil {
		return nil, tx.fail(err)
	}
	tx.rows = append(tx.rows, rows)
	return rows, nil
}

// QueryRow runs a statement that answers with at most one row; its Scan must be called.
func (tx *Tx) QueryRow(query string, args ...any) *sql.Row {
	tx.count(args)
	row := tx.run.QueryRowContext(tx.ctx, query, args...)
	if err := row.Err(); err != nil && tx.err == nil {
		_ = tx.fail(err)
	}
	return row
}

// fail stops the transaction: SQLite undoes it by itself after some errors, and the next statement would be a
// transaction of its own.
func (tx *Tx) fail(err error) error {
	tx.err = err
	tx.ctx = refusal{tx.ctx, err}
	return err
}

// refusal is a context that ended with an error: the one way to hand it out as a *sql.Row.
type refusal struct {
	context.Context
	err error
}

var ended = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

func (r refusal) Done() <-chan struct{} { return ended }
func (r refusal) Err() error            { return r.err }

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
