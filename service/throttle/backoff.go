package throttle

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// Backoff is how long to wait after failures: the first Free cost nothing, each one after that doubles the wait, from
// First to Most. A key that was quiet for Window after its last wait is forgotten. The zero value is the one of sign-in.
type Backoff struct {
	// Free is how many failures cost nothing. Defaults to 10.
	Free int
	// Window is how long a failure is remembered. Defaults to 15 minutes.
	Window time.Duration
	// First is the wait after the last free failure. Defaults to 1 second.
	First time.Duration
	// Most is the longest wait. Defaults to 15 minutes.
	Most time.Duration
}

// Attempt admits an attempt and returns 0, or returns after how many whole seconds, at least one, the next may be made.
// An admitted attempt counts as a failure at once, so that those made in parallel cannot slip through; Succeed takes it
// back. A refused one is not counted. The transaction must be committed before the attempt is made.
func Attempt(tx *sqldb.Tx, now time.Time, key string, b Backoff) (retryAfter time.Duration, err error) {
	b = b.withDefaults()
	row := stored(key)
	for range rounds {
		was, found, err := failuresOf(tx, row)
		if err != nil {
			return 0, fmt.Errorf("attempt: %w", err)
		}
		next, wait := b.attempt(was, now.UnixMilli())
		if wait > 0 {
			return whole(wait), nil
		}
		kept, err := b.keep(tx, row, next, found)
		if err != nil {
			return 0, fmt.Errorf("attempt: %w", err)
		}
		if kept {
			return 0, nil
		}
	}
	return 0, errContended
}

// Succeed takes back the one attempt that succeeded. The failures of others on the same key stay.
func Succeed(tx *sqldb.Tx, key string) error {
	return tx.Do("take back attempt", `UPDATE backoffs SET failures = failures - 1 WHERE key = $1 AND failures > 0`, stored(key))
}

// Reset forgets every failure of the key: for one that only the person who succeeded can use.
func Reset(tx *sqldb.Tx, key string) error {
	if _, err := tx.Exec(`DELETE FROM backoffs WHERE key = $1`, stored(key)); err != nil {
		return fmt.Errorf("reset attempts: %w", err)
	}
	return nil
}

func (b Backoff) withDefaults() Backoff {
	if b.Free <= 0 {
		b.Free = 10
	}
	if b.Window <= 0 {
		b.Window = 15 * time.Minute
	}
	if b.First <= 0 {
		b.First = time.Second
	}
	if b.Most <= 0 {
		b.Most = 15 * time.Minute
	}
	return b
}

// failures are how many there were, and when the last was (Unix milliseconds).
type failures struct {
	n    int
	last int64
}

// attempt gives what is remembered once the attempt is counted, or how long to wait.
func (b Backoff) attempt(was failures, now int64) (next failures, wait int64) {
	if was.last > now+tolerance {
		return failures{n: was.n + 1, last: now}, 0
	}
	if now >= b.forgetAt(was) {
		was = failures{}
	}
	pause := b.pause(was.n)
	if wait := was.last + pause - now; pause > 0 && wait > 0 {
		return failures{}, wait
	}
	return failures{n: was.n + 1, last: max(was.last, now)}, 0
}

// pause is how long to wait after so many failures, in milliseconds.
func (b Backoff) pause(n int) int64 {
	if n < b.Free {
		return 0
	}
	pause := b.First
	for range n - b.Free {
		if pause >= b.Most/2 {
			pause = b.Most
			break
		}
		pause *= 2
	}
	return min(pause, b.Most).Milliseconds()
}

func (b Backoff) forgetAt(f failures) int64 {
	return f.last + b.pause(f.n) + b.Window.Milliseconds()
}

// failuresOf locks the key's row, if there is one.
func failuresOf(tx *sqldb.Tx, row []byte) (f failures, found bool, err error) {
	query := `SELECT failures, last_at FROM backoffs WHERE key = $1` + tx.ForUpdate()
	err = tx.QueryRow(query, row).Scan(&f.n, &f.last)
	if errors.Is(err, sql.ErrNoRows) {
		return failures{}, false, nil
	}
	return f, err == nil, err
}

// keep reports false when another made the row first.
func (b Backoff) keep(tx *sqldb.Tx, row []byte, f failures, found bool) (bool, error) {
	query := `INSERT INTO backoffs (key, failures, last_at, forget_at) VALUES ($1, $2, $3, $4) ON CONFLICT (key) DO NOTHING`
	if found {
		query = `UPDATE backoffs SET failures = $2, last_at = $3, forget_at = $4 WHERE key = $1`
	}
	n, err := tx.Exec(query, row, f.n, f.last, b.forgetAt(f))
	return n == 1, err
}
