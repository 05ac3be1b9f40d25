package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Row is one row of an answer.
type Row interface{ Scan(into ...any) error }

// Collect runs a statement and reads every row that it answers with.
func Collect[T any](tx *Tx, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// ReadAll is Collect in a transaction of its own.
func ReadAll[T any](ctx context.Context, db *DB, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	return Read(ctx, db, func(tx *Tx) ([]T, error) { return Collect(tx, scan, query, args...) })
}

// Drain does a change of at most so many rows again and again, each time in a transaction of its own, until it changes fewer. It
// returns how many rows that were.
func Drain(ctx context.Context, db *DB, most int64, change func(*Tx) (int64, error)) (total int64, err error) {
	for n := most; n >= most; total += n {
		if n, err = Write(ctx, db, change); err != nil {
			return total, err
		}
	}
	return total, nil
}

// First reads the first row that a statement answers with, if there is one. What it does begins its error.
func First[T any](tx *Tx, what string, scan func(Row) (T, error), query string, args ...any) (one T, found bool, err error) {
	var none T
	one, err = scan(tx.QueryRow(query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return none, false, nil
	}
	if err != nil {
		return none, false, fmt.Errorf("%s: %w", what, err)
	}
	return one, true, nil
}

// Value reads the one column of a statement's one row. What it does begins its error.
func Value[T any](tx *Tx, what, query string, args ...any) (value T, err error) {
	if err := tx.QueryRow(query, args...).Scan(&value); err != nil {
		return value, fmt.Errorf("%s: %w", what, err)
	}
	return value, nil
}

// Read is DB.Read of a function that gives a value, which is zero after an error.
func Read[T any](ctx context.Context, db *DB, fn func(*Tx) (T, error)) (T, error) {
	return valueOf(ctx, db.Read, fn)
}

// Snapshot is DB.Snapshot of a function that gives a value, which is zero after an error.
func Snapshot[T any](ctx context.Context, db *DB, fn func(*Tx) (T, error)) (T, error) {
	return valueOf(ctx, db.Snapshot, fn)
}

// Write is DB.Write of a function that gives a value, which is zero after an error.
func Write[T any](ctx context.Context, db *DB, fn func(*Tx) (T, error)) (T, error) {
	return valueOf(ctx, db.Write, fn)
}

// Do is Write of one statement of which nobody counts the rows. What it does begins its error.
func (db *DB) Do(ctx context.Context, what, query string, args ...any) error {
	return db.Write(ctx, func(tx *Tx) error { return tx.Do(what, query, args...) })
}

// valueOf does not look at what fn gives after an error: fn may run still.
func valueOf[T any](ctx context.Context, do func(context.Context, func(*Tx) error) error, fn func(*Tx) (T, error)) (T, error) {
	var value, none T
	err := do(ctx, func(tx *Tx) (err error) {
		value, err = fn(tx)
		return err
	})
	if err != nil {
		return none, err
	}
	return value, nil
}

// Column reads a row of one column.
func Column[T any](row Row) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// Time reads a column of milliseconds since 1970 into a time in UTC; NULL is the zero time.
func Time(into *time.Time) sql.Scanner { return (*millis)(into) }

type millis time.Time

// Scan reads what the driver gives.
func (m *millis) Scan(from any) error {
	var n sql.NullInt64
	err := n.Scan(from)
	if *m = (millis{}); n.Valid {
		*m = millis(time.UnixMilli(n.Int64).UTC())
	}
	return err
}

// Bit is a truth as it is stored.
func Bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
