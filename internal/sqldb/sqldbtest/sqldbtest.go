// Package sqldbtest finds real databases for tests.
package sqldbtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Default is asked for PostgreSQL when SVC_TEST_POSTGRES names no other address.
const Default = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"

// Postgres is the address of a fresh database, made for this test and dropped at its end. Where no PostgreSQL
// answers the test is skipped, and fails when CI=true. It is found by SVC_TEST_POSTGRES, else at Default.
func Postgres(t testing.TB) string {
	t.Helper()
	name, err := create(t)
	if err != nil {
		t.Fatalf("make test database: %v", err)
	}
	t.Cleanup(func() {
		if err := drop(name); err != nil {
			t.Errorf("drop test database %s: %v", name, err)
		}
	})
	return addressOf(t, name)
}

// FewConnections is the address of a database for processes that leave others of the server's connections: tests run side by side.
func FewConnections(address string) string { return with(address, "pool_max_conns", "6") }

// create makes a database, where a server answers.
func create(t testing.TB) (name string, err error) {
	t.Helper()
	if err := execute(server(), "SELECT 1"); err != nil {
		unreachable(t, err)
	}
	name = fmt.Sprintf("svc_test_%d_%s", os.Getpid(), strings.ToLower(rand.Text()[:10]))
	// template1 cannot be copied while somebody is connected to it.
	return name, execute(server(), "CREATE DATABASE "+name+" TEMPLATE template0")
}

func drop(name string) error {
	return execute(server(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
}

func addressOf(t testing.TB, name string) string {
	t.Helper()
	u, err := url.Parse(server())
	if err != nil {
		t.Fatal("address of PostgreSQL is not a URL")
	}
	u.Path = "/" + name
	return u.String()
}

// SQLite is the address of a database file of this test alone.
func SQLite(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "svc.db")
}

// Each runs fn as subtest "sqlite" and as subtest "postgres", each with the address of a fresh database.
func Each(t *testing.T, fn func(t *testing.T, address string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { fn(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { fn(t, Postgres(t)) })
}

func server() string { return cmp.Or(os.Getenv("SVC_TEST_POSTGRES"), Default) }

func unreachable(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("PostgreSQL is needed when CI=true: %v", err)
	}
	t.Skipf("PostgreSQL does not answer, set SVC_TEST_POSTGRES: %v", err)
}

// execute runs one statement on a connection of its own.
func execute(address, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// Held is how many bytes of the heap are in use, without what is garbage.
func Held() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
