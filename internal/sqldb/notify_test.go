package sqldb_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// ear remembers what a handle heard.
type ear struct {
	mu    sync.Mutex
	keys  map[string]int
	nils  int
	calls int
}

func listen(t *testing.T, db *sqldb.DB) *ear {
	t.Helper()
	e := &ear{keys: map[string]int{}}
	db.Listen(func(keys []string) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if keys == nil {
			e.nils++
			return
		}
		e.calls++
		for _, key := range keys {
			e.keys[key]++
		}
	})
	e.eventually(t, "the connection stands", func() bool { return e.nils == 1 })
	return e
}

// eventually waits for what must be heard.
func (e *ear) eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return done()
	})
}

func TestANotificationReachesTheOthersOnly(t *testing.T) {
	address := sqldbtest.Postgres(t)
	a, b := open(t, address), open(t, address)
	atA, atB := listen(t, a), listen(t, b)
	a.Notify("one", "two")
	b.Notify("back")
	atB.eventually(t, "b hears a", func() bool { return atB.keys["one"] == 1 && atB.keys["two"] == 1 })
	atA.eventually(t, "a hears b", func() bool { return atA.keys["back"] == 1 })
	atA.eventually(t, "a does not hear itself", func() bool { return atA.keys["one"] == 0 })
	atB.eventually(t, "b does not hear itself", func() bool { return atB.keys["back"] == 0 })
}

func TestNotificationsAreGathered(t *testing.T) {
	address := sqldbtest.Postgres(t)
	a, b := open(t, address), open(t, address)
	atB := listen(t, b)
	began := time.Now()
	for i := range 3000 {
		a.Notify("same", fmt.Sprintf("stream-%d-%s", i, strings.Repeat("x", 20)))
	}
	a.Notify("last")
	atB.eventually(t, "all came", func() bool { return atB.keys["last"] == 1 && len(atB.keys) == 3002 })
	// 3,000 keys of 33 bytes fill 13 payloads; each sending may leave one of them not full.
	limit := 14 + int(time.Since(began)/(5*time.Millisecond))
	atB.mu.Lock()
	defer atB.mu.Unlock()
	if atB.calls > limit || atB.keys["same"] > limit {
		t.Errorf("%d notifications, limit %d", atB.calls, limit)
	}
}

func TestTooManyOrOddKeysAreMissedKeys(t *testing.T) {
	address := sqldbtest.Postgres(t)
	a, b := open(t, address), open(t, address)
	atB := listen(t, b)
	for i, odd := range []string{"", "two\nlines", "zero\x00", "not utf8 \xff", strings.Repeat("x", 8000)} {
		a.Notify("key", odd)
		atB.eventually(t, "missed", func() bool { return atB.nils == 2+i })
	}
	keys := make([]string, 20_000)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
	}
	a.Notify(keys...)
	atB.eventually(t, "missed", func() bool { return atB.nils == 7 })
	atB.mu.Lock()
	defer atB.mu.Unlock()
	if len(atB.keys) != 0 {
		t.Errorf("heard %d keys", len(atB.keys))
	}
}

func TestALostConnectionIsHeardAsMissedKeys(t *testing.T) {
	address := sqldbtest.Postgres(t)
	a, b := open(t, address), open(t, address)
	atB := listen(t, b)
	a.Notify("before")
	atB.eventually(t, "before", func() bool { return atB.keys["before"] == 1 })
	cut(t, address)
	atB.eventually(t, "missed", func() bool { return atB.nils >= 2 })
	a.Notify("after")
	atB.eventually(t, "after", func() bool { return atB.keys["after"] == 1 || atB.nils >= 3 })
	late := listen(t, b)
	a.Notify("later")
	late.eventually(t, "later", func() bool { return late.keys["later"] == 1 })
}

// cut ends every connection to the database but its own.
func cut(t *testing.T, address string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatWasNotifiedBeforeCloseIsSent(t *testing.T) {
	address := sqldbtest.Postgres(t)
	atB := listen(t, open(t, address))
	a := open(t, address)
	a.Notify("farewell")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	atB.eventually(t, "farewell", func() bool { return atB.keys["farewell"] == 1 })
}
