package sqldb

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Heavy is from how many bytes of arguments on a connection to PostgreSQL is told to forget them.
const Heavy = 64 << 10

// ended is a context in which nothing is sent.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// nothing is as many arguments as a connection keeps the places of.
var nothing = append([]any{pgx.QueryExecModeExec}, make([]any, 64)...)

// Forget has a connection let go of the arguments that it was given last. It would keep them until others take their places, and a
// pool has many connections that wait.
func Forget(conn *pgx.Conn) {
	rows, _ := conn.Query(ended, "SELECT", nothing...) // it fails: nothing is sent
	rows.Close()
}

// forget is Forget by the name that database/sql has for the connection.
func forget(conn *sql.Conn) {
	_ = conn.Raw(func(driven any) error {
		if c, ok := driven.(*stdlib.Conn); ok {
			Forget(c.Conn())
		}
		return nil
	})
}
