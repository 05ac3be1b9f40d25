package sqldb

// Of locks: on SQLite one writes at a time, and there is no word for any of them, so there they are empty or do nothing.

// ForUpdate ends a SELECT whose rows nobody else changes, or locks, until the transaction ends.
func (tx *Tx) ForUpdate() string { return tx.postgresOnly(" FOR UPDATE") }

// ForUpdateOf is ForUpdate for the rows of one of the SELECT's tables.
func (tx *Tx) ForUpdateOf(table string) string { return tx.postgresOnly(" FOR UPDATE OF " + table) }

// SkipLocked is ForUpdate that leaves out the rows which another has locked.
func (tx *Tx) SkipLocked() string { return tx.postgresOnly(" FOR UPDATE SKIP LOCKED") }

func (tx *Tx) postgresOnly(text string) string {
	if tx.dialect == Postgres {
		return text
	}
	return ""
}

// Lock locks the rows of a SELECT, one after the other, until the transaction ends. What is read afterwards is what their last
// holder left.
func (tx *Tx) Lock(query string, args ...any) error {
	return tx.onPostgres(query+tx.ForUpdate(), args...)
}

// LockTable locks a table in a mode of PostgreSQL's until the transaction ends.
func (tx *Tx) LockTable(table, mode string) error {
	return tx.onPostgres("LOCK TABLE " + table + " IN " + mode + " MODE")
}

// Alone makes transactions that call it with the same name wait for each other.
func (tx *Tx) Alone(name string) error {
	return tx.onPostgres("SELECT pg_advisory_xact_lock(hashtext($1))", name)
}

func (tx *Tx) onPostgres(statement string, args ...any) error {
	if tx.dialect != Postgres {
		return nil
	}
	_, err := tx.Exec(statement, args...)
	return err
}
