package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"modernc.org/sqlite"
)

// minSQLite is the first SQLite without the known faults of WAL reset and of rollback.
var minSQLite = [3]int{3, 53, 4}

// connector opens SQLite connections and refuses each that did not take its settings, so that a reconnect is no
// weaker than the first connection.
type connector struct {
	driver.Connector
	expect map[string]string // pragma → what it must read
}

// newConnector keeps the settings in the DSN, where the driver applies them to every connection.
func newConnector(path, synchronous string, readOnly bool) (*connector, error) {
	level, ok := map[string]string{"FULL": "2", "NORMAL": "1"}[synchronous]
	if !ok {
		return nil, fmt.Errorf("synchronous %q is not known: write FULL or NORMAL", synchronous)
	}
	pragmas := []string{
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(" + synchronous + ")", "foreign_keys(1)",
		"wal_autocheckpoint(4000)", "cache_size(-8000)", "temp_store(MEMORY)",
	}
	expect := map[string]string{
		"journal_mode": "wal", "synchronous": level, "busy_timeout": "10000", "foreign_keys": "1", "query_only": "0",
	}
	if readOnly {
		pragmas = append(pragmas, "query_only(1)")
		expect["query_only"] = "1"
	}
	query := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}}
	inner, err := sqlite.NewConnector(fileURI(path) + "?" + query.Encode())
	if err != nil {
		return nil, err
	}
	return &connector{Connector: inner, expect: expect}, nil
}

// Connect opens a connection and reads its settings back.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.check(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (c *connector) check(ctx context.Context, conn driver.Conn) error {
	version, err := ask(ctx, conn, "SELECT sqlite_version()")
	if err != nil {
		return err
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	for pragma, want := range c.expect {
		got, err := ask(ctx, conn, "PRAGMA "+pragma)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("pragma %s is %s, not %s", pragma, got, want)
		}
	}
	return nil
}

// ask returns the one value of a query as text.
func ask(ctx context.Context, conn driver.Conn, query string) (string, error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return "", fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	value := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(value); err != nil && err != io.EOF {
		return "", fmt.Errorf("%s: %w", query, err)
	}
	return fmt.Sprint(value[0]), nil
}

func checkVersion(version string) error {
	var have [3]int
	for i, part := range strings.SplitN(version, ".", 3) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return fmt.Errorf("sqlite version %q is not a version", version)
		}
		have[i] = n
	}
	if slices.Compare(have[:], minSQLite[:]) < 0 {
		return fmt.Errorf("sqlite %s is too old: %d.%d.%d is the first that keeps what it wrote", version, minSQLite[0], minSQLite[1], minSQLite[2])
	}
	return nil
}
