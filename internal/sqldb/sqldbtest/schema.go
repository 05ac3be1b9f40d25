package sqldbtest

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
)

// shared is the database of a package that calls Main.
var shared struct {
	sync.Mutex
	running bool
	name    string
	err     error
}

// Main runs the tests of a package whose tests share one database, each in a schema of its own: making and dropping a
// database takes longer than most tests. It drops the database and returns the exit code.
func Main(m *testing.M) int {
	shared.running = true
	code := m.Run()
	if shared.name != "" {
		if err := execute(server(), "DROP DATABASE IF EXISTS "+shared.name+" WITH (FORCE)"); err != nil {
			fmt.Fprintln(os.Stderr, "drop test database:", err)
			return 1
		}
	}
	return code
}

// Tests are the tests of such a package, for those who watch how they run.
type Tests struct{ *testing.M }

// Run is Main.
func (t Tests) Run() int { return Main(t.M) }

// EachSchema is Each for the tests of a package that calls Main.
func EachSchema(t *testing.T, fn func(t *testing.T, address string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { fn(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { fn(t, Schema(t)) })
}

// Schema is the address of an empty schema in the package's database, which is dropped with it.
func Schema(t testing.TB) string {
	t.Helper()
	if !shared.running {
		return Postgres(t)
	}
	database := sharedDatabase(t)
	name := "s_" + strings.ToLower(rand.Text()[:10])
	if err := execute(database, "CREATE SCHEMA "+name); err != nil {
		t.Fatalf("make test schema: %v", err)
	}
	return with(database, "search_path", name)
}

// sharedDatabase makes the package's database when the first test needs it.
func sharedDatabase(t testing.TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if err := execute(server(), "SELECT 1"); err != nil {
		unreachable(t, err)
	}
	if shared.name == "" && shared.err == nil {
		shared.name = fmt.Sprintf("svc_test_%d_%s", os.Getpid(), strings.ToLower(rand.Text()[:10]))
		shared.err = execute(server(), "CREATE DATABASE "+shared.name+" TEMPLATE template0")
	}
	if shared.err != nil {
		t.Fatalf("make test database: %v", shared.err)
	}
	u, err := url.Parse(server())
	if err != nil {
		t.Fatal("address of PostgreSQL is not a URL")
	}
	u.Path = "/" + shared.name
	return u.String()
}

// with adds a parameter to an address.
func with(address, key, value string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	q := u.Query()
	q.Set(key, value)
	u.RawQuery = q.Encode()
	return u.String()
}
