package throttle_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/throttle"
)

var noon = time.UnixMilli(1_782_907_500_000)

func open(t *testing.T, address string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Migrate(t.Context(), throttle.Migrations); err != nil {
		t.Fatal(err)
	}
	return db
}

func write(t *testing.T, db *sqldb.DB, fn func(tx *sqldb.Tx) (time.Duration, error)) (d time.Duration) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *sqldb.Tx) (err error) {
		d, err = fn(tx)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return d
}

func take(t *testing.T, db *sqldb.DB, now time.Time, key string, r throttle.Rate) time.Duration {
	t.Helper()
	return write(t, db, func(tx *sqldb.Tx) (time.Duration, error) { return throttle.Take(tx, now, key, r) })
}

func attempt(t *testing.T, db *sqldb.DB, now time.Time, key string) time.Duration {
	t.Helper()
	return write(t, db, func(tx *sqldb.Tx) (time.Duration, error) { return throttle.Attempt(tx, now, key) })
}

func succeed(t *testing.T, db *sqldb.DB, key string) {
	t.Helper()
	write(t, db, func(tx *sqldb.Tx) (time.Duration, error) { return 0, throttle.Succeed(tx, key) })
}

func rows(t *testing.T, db *sqldb.DB) (n int) {
	t.Helper()
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		return tx.QueryRow(`SELECT (SELECT count(*) FROM throttles) + (SELECT count(*) FROM backoffs)`).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// handles are two nodes on PostgreSQL, and the one there can be on SQLite twice.
func handles(t *testing.T, address string) [2]*sqldb.DB {
	a := open(t, address)
	if a.Dialect() == sqldb.SQLite {
		return [2]*sqldb.DB{a, a}
	}
	return [2]*sqldb.DB{a, open(t, address)}
}

// race calls one function from 64 goroutines at once and counts how often it returned 0.
func race(nodes [2]*sqldb.DB, fn func(db *sqldb.DB) time.Duration) int64 {
	var passed atomic.Int64
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range 64 {
		all.Go(func() {
			<-start
			if fn(nodes[i%2]) == 0 {
				passed.Add(1)
			}
		})
	}
	close(start)
	all.Wait()
	return passed.Load()
}

func TestExactlyTheLimitPassesWhenAllComeAtOnce(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		nodes := handles(t, address)
		for _, limit := range []int{1, 5, 30, 63, 64} {
			key := fmt.Sprint("limit ", limit)
			r := throttle.Rate{Limit: limit, Per: 5 * time.Minute}
			passed := race(nodes, func(db *sqldb.DB) time.Duration { return take(t, db, noon, key, r) })
			if passed != int64(limit) {
				t.Errorf("limit %d: %d passed", limit, passed)
			}
		}
	})
}

func TestExactlyTheFreeAttemptsPassWhenAllComeAtOnce(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		nodes := handles(t, address)
		passed := race(nodes, func(db *sqldb.DB) time.Duration { return attempt(t, db, noon, "ada") })
		if passed != 10 {
			t.Errorf("%d attempts passed", passed)
		}
		passed = race(nodes, func(db *sqldb.DB) time.Duration {
			return attempt(t, db, noon.Add(time.Second), "ada")
		})
		if passed != 1 {
			t.Errorf("%d attempts passed after the first wait", passed)
		}
	})
}

func TestTakeWhileSweeping(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		nodes := handles(t, address)
		r := throttle.Rate{Limit: 3, Per: time.Minute}
		for i := range 8 {
			now := noon.Add(time.Duration(i) * time.Hour)
			var sweeper sync.WaitGroup
			sweeper.Go(func() {
				for range 5 {
					if _, err := throttle.Sweep(t.Context(), nodes[1], now); err != nil {
						t.Error(err)
					}
				}
			})
			if passed := race(nodes, func(db *sqldb.DB) time.Duration { return take(t, db, now, "ip", r) }); passed != 3 {
				t.Errorf("round %d: %d passed", i, passed)
			}
			sweeper.Wait()
		}
	})
}

func TestWhatWasTakenComesBackOneByOne(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := open(t, address)
		r := throttle.Rate{Limit: 5, Per: time.Hour}
		for range 5 {
			if d := take(t, db, noon, "ip", r); d != 0 {
				t.Fatalf("refused for %s", d)
			}
		}
		for _, c := range []struct{ after, want time.Duration }{
			{0, 12 * time.Minute}, {time.Millisecond, 12 * time.Minute}, {12*time.Minute - time.Millisecond, time.Second},
			{12 * time.Minute, 0}, {12 * time.Minute, 12 * time.Minute}, {24 * time.Minute, 0}, {2 * time.Hour, 0},
		} {
			if d := take(t, db, noon.Add(c.after), "ip", r); d != c.want {
				t.Errorf("after %s: wait %s, want %s", c.after, d, c.want)
			}
		}
	})
}

func TestBurstIsWhatAnUnusedKeyGives(t *testing.T) {
	db := open(t, sqldbtest.SQLite(t))
	r := throttle.Rate{Limit: 600, Per: time.Minute, Burst: 100}
	passed := 0
	for range 200 {
		if take(t, db, noon, "key", r) == 0 {
			passed++
		}
	}
	if passed != 100 {
		t.Errorf("%d passed at once", passed)
	}
	if d := take(t, db, noon.Add(100*time.Millisecond), "key", r); d != 0 {
		t.Errorf("one a tenth of a second: wait %s", d)
	}
}

// TestNoWindowHoldsMoreThanItsShare takes at random times and looks at every span of Per: at most Limit came from the
// bucket and Limit were regained in it.
func TestNoWindowHoldsMoreThanItsShare(t *testing.T) {
	db := open(t, sqldbtest.SQLite(t))
	random := rand.New(rand.NewPCG(1, 2))
	for _, r := range []throttle.Rate{{Limit: 7, Per: time.Second}, {Limit: 3, Per: 10 * time.Second}, {Limit: 1, Per: time.Second}} {
		key, now, passed := fmt.Sprint(r), noon, []time.Time{}
		for range 400 {
			now = now.Add(time.Duration(random.Int64N(int64(r.Per) / int64(r.Limit))))
			if take(t, db, now, key, r) == 0 {
				passed = append(passed, now)
			}
		}
		for i := range passed {
			n := 0
			for _, at := range passed[i:] {
				if at.Sub(passed[i]) < r.Per {
					n++
				}
			}
			if n > 2*r.Limit {
				t.Errorf("%v: %d within one span", r, n)
			}
		}
		if all := now.Sub(noon); len(passed) > r.Limit+int(all/(r.Per/time.Duration(r.Limit)))+1 {
			t.Errorf("%v: %d in %s", r, len(passed), all)
		}
	}
}

func TestWaitingAsLongAsToldIsEnough(t *testing.T) {
	db := open(t, sqldbtest.SQLite(t))
	now := noon
	for i := range 200 {
		r := throttle.Rate{Limit: 7, Per: time.Minute}
		if d := take(t, db, now, "a", r); d > 0 {
			if now = now.Add(d); take(t, db, now, "a", r) != 0 {
				t.Fatalf("take %d: told to wait %s, and refused again", i, d)
			}
		}
		if d := attempt(t, db, now, "b"); d > 0 {
			if now = now.Add(d); attempt(t, db, now, "b") != 0 {
				t.Fatalf("attempt %d: told to wait %s, and refused again", i, d)
			}
		}
	}
}

func TestRefusalTakesNothing(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := open(t, address)
		r := throttle.Rate{Limit: 1, Per: time.Minute}
		take(t, db, noon, "ip", r)
		for range 50 {
			if take(t, db, noon.Add(30*time.Second), "ip", r) != 30*time.Second {
				t.Fatal("a refusal moved the limit")
			}
		}
		if d := take(t, db, noon.Add(time.Minute), "ip", r); d != 0 {
			t.Errorf("wait %s", d)
		}
	})
}

func TestUndoneTransactionGivesBackWhatItTook(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := open(t, address)
		r, undo := throttle.Rate{Limit: 1, Per: time.Hour}, errors.New("undo")
		err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
			if d, err := throttle.Take(tx, noon, "ip", r); d != 0 || err != nil {
				t.Errorf("wait %s, error %v", d, err)
			}
			return undo
		})
		if !errors.Is(err, undo) {
			t.Fatal(err)
		}
		if d := take(t, db, noon, "ip", r); d != 0 {
			t.Errorf("wait %s", d)
		}
	})
}

func TestKeyIsAnyStringAndNoOther(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := open(t, address)
		keys := []string{"", "\x00", "a", "A", "a ", "a\x00", "\xff\xfe", "a' OR '1'='1", strings.Repeat("x", 1<<20), "ſ", "s", "é", "e\u0301"}
		for _, key := range keys {
			if d := take(t, db, noon, key, throttle.Rate{Limit: 1, Per: time.Hour}); d != 0 {
				t.Errorf("%.20q met another key", key)
			}
			if d := take(t, db, noon, key, throttle.Rate{Limit: 1, Per: time.Hour}); d == 0 {
				t.Errorf("%.20q was not found again", key)
			}
		}
		if n := rows(t, db); n != len(keys) {
			t.Errorf("%d rows for %d keys", n, len(keys))
		}
	})
}

func TestRateThatIsNoneIsRefused(t *testing.T) {
	db := open(t, sqldbtest.SQLite(t))
	for _, r := range []throttle.Rate{{}, {Limit: 1}, {Per: time.Second}, {Limit: -1, Per: time.Second}, {Limit: 1, Per: -1}, {Limit: 1, Per: 1, Burst: -1}} {
		err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, err := throttle.Take(tx, noon, "ip", r)
			return err
		})
		if err == nil {
			t.Errorf("%+v is taken for a rate", r)
		}
	}
}

func TestWaitDoublesFromOneSecondToFifteenMinutes(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := open(t, address)
		now := noon
		for i := range 10 {
			if d := attempt(t, db, now, "ada"); d != 0 {
				t.Fatalf("attempt %d: wait %s", i, d)
			}
		}
		for _, want := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900} {
			wait := attempt(t, db, now, "ada")
			if wait != time.Duration(want)*time.Second {
				t.Fatalf("wait %s, want %d s", wait, want)
			}
			if attempt(t, db, now.Add(wait-time.Millisecond), "ada") != time.Second {
				t.Fatalf("admitted before %s were over", wait)
			}
			now = now.Add(wait)
			if d := attempt(t, db, now, "ada"); d != 0 {
				t.Fatalf("wait %s more", d)
			}
		}
	})
}

func TestFailuresAreForgottenAfterAQuietWindow(t *testing.T) {
	db := open(t, sqldbtest.SQLite(t))
	fail := func(now time.Time, n int) {
		t.Helper()
		for range n {
			if d := attempt(t, db, now, "ada"); d != 0 {
				t.Fatalf("wait %s", d)
			}
		}
	}
	fail(noon, 9)
	fail(noon.Add(15*time.Minute-time.Millisecond), 1)
	if attempt(t, db, noon.Add(15*time.Minute-time.Millisecond), "ada") == 0 {
		t.Error("a failure was forgotten within the window")
	}
	later := noon.Add(30*time.Minute + time.Second)
	fail(later, 10)
	if attempt(t, db, later, "ada") != time.Second {
		t.Error("failures were not forgotten after the window")
	}
}

func TestLongestWaitDoesNotEndInFreshAttempts(t *testing.T) {
	db := open(t, sqldbtest.SQLite(t))
	now, passed := noon, 0
	for now.Sub(noon) < 24*time.Hour {
		wait := attempt(t, db, now, "ada")
		if wait == 0 {
			passed++
		}
		now = now.Add(wait)
	}
	// Ten, ten more while the wait grows, and then four an hour.
	if passed > 20+24*4 {
		t.Errorf("%d attempts in a day", passed)
	}
}

func TestSuccessTakesBackItsOwnAttemptAlone(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := open(t, address)
		for range 100 {
			if d := attempt(t, db, noon, "ada"); d != 0 {
				t.Fatalf("successes counted as failures: wait %s", d)
			}
			succeed(t, db, "ada")
		}
		for range 9 {
			attempt(t, db, noon, "ada")
		}
		attempt(t, db, noon, "ada")
		succeed(t, db, "ada")
		if d := attempt(t, db, noon, "ada"); d != 0 {
			t.Errorf("wait %s", d)
		}
		if d := attempt(t, db, noon, "ada"); d != time.Second {
			t.Errorf("success forgot the failures of others: wait %s", d)
		}
		for range 20 {
			succeed(t, db, "nobody")
		}
		for range 10 {
			attempt(t, db, noon, "nobody")
		}
		if attempt(t, db, noon, "nobody") == 0 {
			t.Error("success without an attempt was saved up")
		}
	})
}

func TestResetForgetsEveryFailure(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := open(t, address)
		for range 10 {
			attempt(t, db, noon, "device")
		}
		write(t, db, func(tx *sqldb.Tx) (time.Duration, error) { return 0, throttle.Reset(tx, "device") })
		if d := attempt(t, db, noon, "device"); d != 0 {
			t.Errorf("wait %s", d)
		}
	})
}

func TestClockGoingBackNeitherFreesNorHoldsAKey(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := open(t, address)
		r := throttle.Rate{Limit: 5, Per: time.Minute}
		for _, back := range []time.Duration{time.Second, 59 * time.Second, 2 * time.Minute, time.Hour, 100 * 365 * 24 * time.Hour} {
			key, now := back.String(), noon.Add(-back)
			for range 10 {
				take(t, db, noon, key, r)
				attempt(t, db, noon, key)
			}
			takes, attempts := 0, 0
			for range 20 {
				if take(t, db, now, key, r) == 0 {
					takes++
				}
				if attempt(t, db, now, key) == 0 {
					attempts++
				}
			}
			if takes > 1 || attempts > 1 {
				t.Errorf("back by %s: %d taken, %d attempts", back, takes, attempts)
			}
			// A minute of tolerance, and what the limit itself asks for.
			now = now.Add(time.Minute + 12*time.Second)
			if d := take(t, db, now, key, r); d != 0 {
				t.Errorf("back by %s: still refused for %s", back, d)
			}
			if d := attempt(t, db, now, key); d != 0 {
				t.Errorf("back by %s: attempts still refused for %s", back, d)
			}
		}
	})
}

func TestNodesWhoseClocksDifferShareOneLimit(t *testing.T) {
	db := open(t, sqldbtest.SQLite(t))
	r, passed := throttle.Rate{Limit: 10, Per: time.Second}, 0
	for i := range 1000 {
		now := noon
		if i%2 == 1 {
			now = noon.Add(30 * time.Second)
		}
		if take(t, db, now, "ip", r) == 0 {
			passed++
		}
	}
	if passed > 20 {
		t.Errorf("%d passed by going from node to node", passed)
	}
}

func TestSweepDeletesWhatSaysNothingAndNoMore(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := open(t, address)
		const flood = 1200
		err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
			for i := range flood {
				key := fmt.Sprint("stranger ", i)
				if _, err := throttle.Take(tx, noon, key, throttle.Rate{Limit: 30, Per: 5 * time.Minute}); err != nil {
					return err
				}
				if _, err := throttle.Attempt(tx, noon, key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		used := throttle.Rate{Limit: 1, Per: time.Hour}
		take(t, db, noon, "used", used)
		for range 21 {
			attempt(t, db, noon.Add(100*time.Hour), "hammered")
		}
		for _, c := range []struct {
			after time.Duration
			want  int64
		}{{0, 0}, {time.Minute, 0}, {2 * time.Minute, flood}, {15 * time.Minute, 0}, {17 * time.Minute, flood}} {
			n, err := throttle.Sweep(t.Context(), db, noon.Add(c.after))
			if err != nil || n != c.want {
				t.Errorf("after %s: swept %d, want %d, error %v", c.after, n, c.want, err)
			}
		}
		if take(t, db, noon.Add(17*time.Minute), "used", used) == 0 {
			t.Error("sweeping freed a key")
		}
		if n, err := throttle.Sweep(t.Context(), db, noon.Add(200*time.Hour)); err != nil || n != 2 || rows(t, db) != 0 {
			t.Errorf("swept %d of the last 2, %d left, error %v", n, rows(t, db), err)
		}
	})
}
