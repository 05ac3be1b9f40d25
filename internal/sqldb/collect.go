package sqldb

import (
	"context"
	"database/sql"
	"errors"
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
func ReadAll[T any](ctx context.Context, db *DB, scan func(Row) (T, error), query string, args ...any) (all []T, err error) {
	err = db.Read(ctx, func(tx *Tx) (err error) {
		all, err = Collect(tx, scan, query, args...)
		return err
	})
	return all, err
}

// First reads the first row that a statement answers with, if there is one.
func First[T any](tx *Tx, scan func(Row) (T, error), query string, args ...any) (one T, found bool, err error) {
	one, err = scan(tx.QueryRow(query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return one, false, nil
	}
	return one, err == nil, err
}

// Column reads a row of one column.
func Column[T any](row Row) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// Bit is a truth as it is stored.
func Bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
