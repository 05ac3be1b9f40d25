package workspace_test

import (
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

// keeper keeps what a test would clean up at its own end until all tests have ended.
type keeper struct {
	testing.TB
	later *[]func()
}

func (k keeper) Cleanup(fn func()) { *k.later = append(*k.later, fn) }

// shared is the one PostgreSQL database of these tests, with a schema for each that runs at a time: to make tables takes
// longer than most tests.
var shared struct {
	sync.Mutex
	address string
	schemas int
	free    []string // addresses of schemas that nobody uses
	later   []func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, fn := range shared.later {
		fn()
	}
	os.Exit(code)
}

// tables are emptied before another test uses them.
var tables = []string{
	"accounts", "sessions", "workspaces", "members", "invitations", "teams", "team_members", "team_projects", "outbox", "throttles", "backoffs",
	"audit_events", "audit_heads", "audit_anchors", "audit_refusals",
}

// postgres opens a schema with empty tables, which nobody else uses until the test ends.
func postgres(t *testing.T) *sqldb.DB {
	t.Helper()
	address, used := borrow(t)
	db := open(t, address)
	if !used {
		makeTables(t, db)
		return db
	}
	must(t, db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, table := range tables {
			if _, err := tx.Exec("DELETE FROM " + table); err != nil {
				return err
			}
		}
		return nil
	}))
	return db
}

// borrow is the address of a schema that a test has used before, or of a new one.
func borrow(t *testing.T) (address string, used bool) {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if n := len(shared.free); n > 0 {
		address, used = shared.free[n-1], true
		shared.free = shared.free[:n-1]
	} else {
		address = makeSchema(t)
	}
	t.Cleanup(func() {
		shared.Lock()
		defer shared.Unlock()
		if !t.Failed() {
			shared.free = append(shared.free, address)
		}
	})
	return address, used
}

// makeSchema makes the database too, if there is none; the lock is held.
func makeSchema(t *testing.T) string {
	t.Helper()
	if shared.address == "" {
		shared.address = sqldbtest.Postgres(keeper{t, &shared.later})
	}
	shared.schemas++
	schema := fmt.Sprintf("test_%d", shared.schemas)
	execute(t, open(t, shared.address), "CREATE SCHEMA "+schema)
	u, err := url.Parse(shared.address)
	must(t, err)
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String()
}

// sqlite opens a file of this test alone.
func sqlite(t *testing.T) *sqldb.DB {
	t.Helper()
	db := open(t, sqldbtest.SQLite(t))
	makeTables(t, db)
	return db
}

// eachDatabase runs fn on both kinds of databases, beside other tests.
func eachDatabase(t *testing.T, fn func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { fn(t, sqlite(t)) })
	t.Run("postgres", func(t *testing.T) { fn(t, postgres(t)) })
}

func open(t *testing.T, address string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{Log: quiet(), Synchronous: "NORMAL", Timeout: time.Minute})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func makeTables(t *testing.T, db *sqldb.DB) {
	t.Helper()
	must(t, db.Migrate(t.Context(), audit.Migrations, throttle.Migrations, mail.Migrations, workspace.Migrations, account.Migrations))
}

func execute(t *testing.T, db *sqldb.DB, statement string, args ...any) {
	t.Helper()
	must(t, db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	}))
}
