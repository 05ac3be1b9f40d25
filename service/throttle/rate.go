package throttle

import (
	"cmp"
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// Rate is how often something may be done: Limit times in Per. An unused key gives Burst at once, and what was taken
// comes back one by one, each after Per/Limit (GCRA). Times are whole milliseconds, so no key regains more than 1,000 a
// second.
type Rate struct {
	Limit int
	Per   time.Duration
	// Burst is how many may be taken at once. Defaults to Limit.
	Burst int
}

// Take takes one from the key and returns 0, or takes nothing and returns after how many whole seconds, at least one, it
// is worth trying again. What was taken is given back when the transaction is undone.
func Take(tx *sqldb.Tx, now time.Time, key string, r Rate) (retryAfter time.Duration, err error) {
	if r.Limit <= 0 || r.Per <= 0 || r.Burst < 0 {
		return 0, fmt.Errorf("throttle: %d in %s is not a rate", r.Limit, r.Per)
	}
	next := func(tat int64) (int64, int64) { return r.take(tat, now.UnixMilli()) }
	if retryAfter, err = admit(tx, key, rateOf, next, keepRate); err != nil {
		return 0, fmt.Errorf("take: %w", err)
	}
	return retryAfter, nil
}

// take is GCRA in milliseconds: tat is when the key will be empty again. It gives the next tat, or how long to wait.
func (r Rate) take(tat, now int64) (next, wait int64) {
	step := r.step()
	full := now + int64(cmp.Or(r.Burst, r.Limit))*step
	if tat > full+tolerance {
		tat = full - step
	}
	next = max(tat, now) + step
	if next > full {
		return 0, next - full
	}
	return next, 0
}

// step is the time after which one is regained, rounded up: a limit is never exceeded for the sake of a fraction.
func (r Rate) step() int64 {
	each := time.Duration(r.Limit) * time.Millisecond
	return int64((r.Per + each - 1) / each)
}

// rateOf locks the key's row, if there is one.
func rateOf(tx *sqldb.Tx, row []byte) (tat int64, found bool, err error) {
	return sqldb.First(tx, "find rate", sqldb.Column[int64], `SELECT tat FROM throttles WHERE key = $1`+tx.ForUpdate(), row)
}

// keepRate reports false when another made the row first.
func keepRate(tat int64, tx *sqldb.Tx, row []byte, found bool) (bool, error) {
	query := `INSERT INTO throttles (key, tat) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`
	if found {
		query = `UPDATE throttles SET tat = $2 WHERE key = $1`
	}
	n, err := tx.Exec(query, row, tat)
	return n == 1, err
}
