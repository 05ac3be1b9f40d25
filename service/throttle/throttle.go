// Package throttle keeps limits that all nodes share, as rows of the database: how often something may be done, and how
// long to wait after failures. Each verb runs in the caller's transaction and locks the key's row, so that calls that
// arrive together are counted one after the other and exactly as many pass as may.
//
// A key is any string; its SHA-256 is stored, so that it may hold any byte and the table holds no address. What must not
// be guessed from a stolen table (an e-mail) comes in as an HMAC. One key has one Rate, or its failures. A caller of several
// keys in one transaction takes them in the same order everywhere, or transactions wait for each other.
//
// Rows are bounded by the keys that were new within the longest Per, or remembered as failures, and since the last Sweep. A flood of
// distinct keys is therefore bounded by what counts as a key: an address of IPv6 is its /64, and a name comes after the
// limit on the address it came from.
package throttle

import (
	"crypto/sha256"
	"embed"
	"errors"
	"time"

	"svc.dev/svc/internal/sqldb"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("throttle", migrations)

// tolerance is how far the clocks of nodes may stand apart. A row that lies further in the future than any call could
// have put it was written by a clock that has gone back since: it counts as used up, and lets one call through, which
// writes the row anew. So a clock that goes back neither frees a key nor holds it longer than this and its limit.
const tolerance = int64(time.Minute / time.Millisecond)

// rounds is how often a row is sought that others make and sweep meanwhile.
const rounds = 8

var errContended = errors.New("throttle: the key's row comes and goes")

// admit finds what is remembered of a key, and keeps what comes next of it unless that is to wait.
func admit[T any](tx *sqldb.Tx, key string, find func(*sqldb.Tx, []byte) (T, bool, error), next func(T) (T, int64),
	keep func(T, *sqldb.Tx, []byte, bool) (bool, error)) (retryAfter time.Duration, err error) {
	row := stored(key)
	for range rounds {
		was, found, err := find(tx, row)
		if err != nil {
			return 0, err
		}
		is, wait := next(was)
		if wait > 0 {
			return whole(wait), nil
		}
		if kept, err := keep(is, tx, row, found); err != nil || kept {
			return 0, err
		}
	}
	return 0, errContended
}

func stored(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// whole rounds milliseconds up to whole seconds, as Retry-After gives them, and never to none.
func whole(ms int64) time.Duration {
	return time.Duration(max(1, (ms+999)/1000)) * time.Second
}
