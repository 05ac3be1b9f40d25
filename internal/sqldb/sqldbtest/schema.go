package sqldbtest

import (
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"net/url"
	"os"
	"runtime/debug"
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

	reuse bool     // schemas are handed on
	idle  []string // those that no test has
}

// Main runs the tests of a package whose tests share one database, each in a schema of its own: making and dropping a
// database takes longer than most tests. It drops the database and returns the exit code.
func Main(m *testing.M) int {
	shared.running = true
	code := m.Run()
	if shared.name != "" {
		if err := drop(shared.name); err != nil {
			fmt.Fprintln(os.Stderr, "drop test database:", err)
			return 1
		}
	}
	return code
}

// Reuse is Main for a package whose tests leave the tables of a schema as they were made: the next test gets them, emptied.
// Making them takes longer than most tests. Such packages ask much and keep little, so little is collected.
func Reuse(m *testing.M) int {
	shared.reuse = true
	debug.SetGCPercent(400)
	return Main(m)
}

// Tests are the tests of such a package, for those who watch how they run.
type Tests struct{ *testing.M }

// Run is Main.
func (t Tests) Run() int { return Main(t.M) }

// ReusingTests are Tests whose schemas are handed on, as by Reuse.
type ReusingTests struct{ *testing.M }

// Run is Reuse.
func (t ReusingTests) Run() int { return Reuse(t.M) }

// EachSchema is Each for the tests of a package that calls Main.
func EachSchema(t *testing.T, fn func(t *testing.T, address string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { fn(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { fn(t, Schema(t)) })
}

// AnySchema is EachSchema for tests of what stands far above the databases: each runs on one of them, by its name, and in the soak on both.
func AnySchema(t *testing.T, fn func(t *testing.T, address string)) {
	t.Helper()
	if os.Getenv("SVC_SOAK") != "" {
		EachSchema(t, fn)
		return
	}
	name := fnv.New32a()
	name.Write([]byte(t.Name()))
	if name.Sum32()%2 == 0 {
		t.Run("sqlite", func(t *testing.T) { fn(t, SQLite(t)) })
		return
	}
	t.Run("postgres", func(t *testing.T) { fn(t, Schema(t)) })
}

// Schema is the address of an empty schema in the package's database, which is dropped with it. Commits do not wait for the disk: no
// test of such a package takes the server's power away.
func Schema(t testing.TB) string {
	t.Helper()
	if !shared.running {
		return Postgres(t)
	}
	database := sharedDatabase(t)
	name, found := takeIdle()
	if !found {
		name = "s_" + strings.ToLower(rand.Text()[:10])
		if err := execute(database, "CREATE SCHEMA "+name); err != nil {
			t.Fatalf("make test schema: %v", err)
		}
	}
	t.Cleanup(func() { handOn(t, database, name) })
	return with(with(database, "search_path", name), "synchronous_commit", "off")
}

func takeIdle() (name string, found bool) {
	shared.Lock()
	defer shared.Unlock()
	last := len(shared.idle) - 1
	if last < 0 {
		return "", false
	}
	name, shared.idle = shared.idle[last], shared.idle[:last]
	return name, true
}

// handOn empties the tables of a schema for the next test. What a test that failed has left is nobody's.
func handOn(t testing.TB, database, name string) {
	if !shared.reuse || t.Failed() {
		return
	}
	if err := execute(database, fmt.Sprintf(emptied, name)); err != nil {
		t.Errorf("empty test schema: %v", err)
		return
	}
	shared.Lock()
	defer shared.Unlock()
	shared.idle = append(shared.idle, name)
}

// emptied leaves nothing in a schema but what its tables are, and which version of a room they are.
const emptied = `DO $$
DECLARE found record;
BEGIN
	PERFORM set_config('session_replication_role', 'replica', true);
	FOR found IN SELECT format('%%I.%%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = '%[1]s' AND tablename NOT LIKE '%%\_schema' LOOP
		EXECUTE 'DELETE FROM ' || found.name;
	END LOOP;
	FOR found IN SELECT format('%%I.%%I', schemaname, sequencename) AS name FROM pg_sequences WHERE schemaname = '%[1]s' AND sequencename NOT LIKE '%%\_schema\_%%' LOOP
		EXECUTE 'ALTER SEQUENCE ' || found.name || ' RESTART';
	END LOOP;
END $$`

// sharedDatabase makes the package's database when the first test needs it.
func sharedDatabase(t testing.TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.name == "" && shared.err == nil {
		shared.name, shared.err = create(t)
	}
	if shared.err != nil {
		t.Fatalf("make test database: %v", shared.err)
	}
	return addressOf(t, shared.name)
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
