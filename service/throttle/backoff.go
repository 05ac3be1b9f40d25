package throttle

import (
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// How long to wait after failures: the first freeFailures cost nothing, each one after that doubles the wait, from firstWait to
// longestWait. A key that was quiet for as long as a failure is remembered after its last wait is forgotten.
const (
	freeFailures = 10
	firstWait    = time.Second
	longestWait  = 15 * time.Minute
	remembered   = 15 * time.Minute
)

// Attempt admits an attempt and returns 0, or returns after how many whole seconds, at least one, the next may be made.
// An admitted attempt counts as a failure at once, so that those made in parallel cannot slip through; Succeed takes it
// back. A refused one is not counted. The transaction must be committed before the attempt is made.
func Attempt(tx *sqldb.Tx, now time.Time, key string) (retryAfter time.Duration, err error) {
	next := func(was failures) (failures, int64) { return was.attempt(now.UnixMilli()) }
	if retryAfter, err = admit(tx, key, failuresOf, next, failures.keep); err != nil {
		return 0, fmt.Errorf("attempt: %w", err)
	}
	return retryAfter, nil
}

// Succeed takes back the one attempt that succeeded. The failures of others on the same key stay.
func Succeed(tx *sqldb.Tx, key string) error {
	return tx.Do("take back attempt", `UPDATE backoffs SET failures = failures - 1 WHERE key = $1 AND failures > 0`, stored(key))
}

// Reset forgets every failure of the key: for one that only the person who succeeded can use.
func Reset(tx *sqldb.Tx, key string) error {
	return tx.Do("reset attempts", `DELETE FROM backoffs WHERE key = $1`, stored(key))
}

// failures are how many there were, and when the last was (Unix milliseconds).
type failures struct {
	n    int
	last int64
}

// attempt gives what is remembered once the attempt is counted, or how long to wait.
func (f failures) attempt(now int64) (next failures, wait int64) {
	if f.last > now+tolerance {
		return failures{n: f.n + 1, last: now}, 0
	}
	if now >= f.forgetAt() {
		f = failures{}
	}
	pause := f.pause()
	if wait := f.last + pause - now; pause > 0 && wait > 0 {
		return failures{}, wait
	}
	return failures{n: f.n + 1, last: max(f.last, now)}, 0
}

// pause is how long to wait after the failures, in milliseconds.
func (f failures) pause() int64 {
	if f.n < freeFailures {
		return 0
	}
	// Ten doublings are longer than the longest wait.
	return min(firstWait<<min(f.n-freeFailures, 10), longestWait).Milliseconds()
}

func (f failures) forgetAt() int64 { return f.last + f.pause() + remembered.Milliseconds() }

// failuresOf locks the key's row, if there is one.
func failuresOf(tx *sqldb.Tx, row []byte) (f failures, found bool, err error) {
	return sqldb.First(tx, "find failures", func(r sqldb.Row) (f failures, err error) {
		err = r.Scan(&f.n, &f.last)
		return f, err
	}, `SELECT failures, last_at FROM backoffs WHERE key = $1`+tx.ForUpdate(), row)
}

// keep reports false when another made the row first.
func (f failures) keep(tx *sqldb.Tx, row []byte, found bool) (bool, error) {
	query := `INSERT INTO backoffs (key, failures, last_at, forget_at) VALUES ($1, $2, $3, $4) ON CONFLICT (key) DO NOTHING`
	if found {
		query = `UPDATE backoffs SET failures = $2, last_at = $3, forget_at = $4 WHERE key = $1`
	}
	n, err := tx.Exec(query, row, f.n, f.last, f.forgetAt())
	return n == 1, err
}
