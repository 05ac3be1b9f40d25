package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
)

// maxStatements bounds what a session keeps prepared.
const maxStatements = 256

// session is one SQLite connection and the statements prepared on it. One goroutine uses it.
type session struct {
	conn       *sql.Conn
	statements map[string]*statement
}

// statement is prepared once; rows is its last answer, which may still be open.
type statement struct {
	*sql.Stmt
	rows *sql.Rows
}

func openSession(ctx context.Context, source *sql.DB) (*session, error) {
	conn, err := source.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &session{conn: conn, statements: map[string]*statement{}}, nil
}

func (s *session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	st, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	if st.busy() {
		return s.conn.ExecContext(ctx, query, args...)
	}
	return st.ExecContext(ctx, args...)
}

func (s *session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	if st.busy() {
		return s.conn.QueryContext(ctx, query, args...)
	}
	rows, err := st.QueryContext(ctx, args...)
	st.rows = rows
	return rows, err
}

func (s *session) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	st, err := s.prepare(ctx, query)
	// A statement that cannot be prepared fails here again, and the row carries its error.
	if err != nil || st.busy() {
		return s.conn.QueryRowContext(ctx, query, args...)
	}
	return st.QueryRowContext(ctx, args...)
}

func (s *session) prepare(ctx context.Context, query string) (*statement, error) {
	if st, ok := s.statements[query]; ok {
		return st, nil
	}
	if len(s.statements) >= maxStatements {
		s.forget()
	}
	// Text after the last semicolon would make the driver prepare the statement anew on every call.
	st, err := s.conn.PrepareContext(ctx, strings.TrimRight(steady(query), "; \t\r\n"))
	if err != nil {
		return nil, err
	}
	kept := &statement{Stmt: st}
	s.statements[query] = kept
	return kept, nil
}

// forget closes one statement that is not in use.
func (s *session) forget() {
	for query, st := range s.statements {
		if !st.busy() {
			st.Close()
			delete(s.statements, query)
			return
		}
	}
}

// busy reports whether rows of the last query are still open: the driver would mix them with those of the next.
func (st *statement) busy() bool {
	if st.rows == nil {
		return false
	}
	// Columns is the one question that closed rows answer with an error.
	if _, err := st.rows.Columns(); err == nil {
		return true
	}
	st.rows = nil
	return false
}

// lost reports whether the connection is gone.
func (s *session) lost() bool {
	return lost(s.conn.Raw(func(any) error { return nil }))
}

// discard closes the connection for good; the pool would hand it out again, perhaps inside a transaction.
func (s *session) discard() {
	s.forgetAll()
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
}

func (s *session) close() error {
	s.forgetAll()
	if err := s.conn.Close(); err != nil && !lost(err) {
		return err
	}
	return nil
}

// forgetAll closes the statements. Those of a lost connection went with it, and the driver cannot close them twice.
func (s *session) forgetAll() {
	if s.lost() {
		return
	}
	for _, st := range s.statements {
		st.Close()
	}
	clear(s.statements)
}

// lost reports whether err means that a connection is gone.
func lost(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}
