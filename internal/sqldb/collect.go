package sqldb

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

// Column reads a row of one column.
func Column[T any](row Row) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}
