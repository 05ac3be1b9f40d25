package project

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"

	"svc.dev/svc/internal/sqldb"
)

// quota is the row of a workspace.
type quota struct {
	limit                int64
	used, reserved       int64
	attachments, streams int64
	measuredAt           int64
	warned               int64 // the threshold that its owners were told of last, 0 for none
}

// total is what counts against the limit and is there already.
func (q quota) total() int64 { return q.used + q.attachments + q.streams }

// free is how many bytes more can be reserved; it is negative for a workspace that is over its limit.
func (q quota) free() int64 { return q.limit - q.total() - q.reserved }

// against compares what is there with a part of the limit, in percent, however large both are.
func (q quota) against(percent int64) int {
	aHigh, aLow := bits.Mul64(uint64(max(q.total(), 0)), 100)
	bHigh, bLow := bits.Mul64(uint64(q.limit), uint64(percent))
	return cmp.Or(cmp.Compare(aHigh, bHigh), cmp.Compare(aLow, bLow))
}

// overdraft is how far work that was admitted may pass the limit.
func (q quota) overdraft() int64 { return min(q.limit/100, maxOverdraft) }

func (q quota) refuse(asked int64) error { return overQuota(q.limit, q.total(), asked) }

// maxOverdraft bounds the overdraft where one percent of the limit is more.
const maxOverdraft = 64 << 20

// readQuota is the row of a scope, and zeros where it never stored anything. The limit is that of a row without its own.
func readQuota(tx *sqldb.Tx, scope string, limit int64, suffix string) (q quota, found bool, err error) {
	err = tx.QueryRow(`SELECT COALESCE(limit_bytes, $2), used, reserved, attachments, streams, measured_at, warned FROM storage_quotas WHERE scope = $1`+suffix,
		scope, limit).Scan(&q.limit, &q.used, &q.reserved, &q.attachments, &q.streams, &q.measuredAt, &q.warned)
	if errors.Is(err, sql.ErrNoRows) {
		return quota{limit: limit}, false, nil
	}
	if err != nil {
		return q, false, fmt.Errorf("read quota: %w", err)
	}
	return q, true, nil
}

// lockQuota is the row of a scope, which is made if need be. Until the transaction ends nobody else changes the quota, the
// reservations, the files and the announced changes of the scope.
func (p *Projects) lockQuota(tx *sqldb.Tx, scope string) (quota, error) {
	suffix := tx.ForUpdate()
	q, found, err := readQuota(tx, scope, p.Limit, suffix)
	if err != nil || found {
		return q, err
	}
	if _, err := tx.Exec("INSERT INTO storage_quotas (scope) VALUES ($1) ON CONFLICT (scope) DO NOTHING", scope); err != nil {
		return q, fmt.Errorf("make quota: %w", err)
	}
	q, _, err = readQuota(tx, scope, p.Limit, suffix)
	return q, err
}

// count adds to what is used and what is reserved.
func count(tx *sqldb.Tx, scope string, used, reserved int64) error {
	if used == 0 && reserved == 0 {
		return nil
	}
	_, err := tx.Exec("UPDATE storage_quotas SET used = used + $2, reserved = reserved + $3 WHERE scope = $1", scope, used, reserved)
	if err != nil {
		return fmt.Errorf("count bytes: %w", err)
	}
	return nil
}

// take reserves bytes if they are there, by one statement, and reports false if they are not.
func (p *Projects) take(tx *sqldb.Tx, scope string, n int64) (bool, error) {
	if n == 0 {
		return true, nil // who takes nothing may be over the limit
	}
	changed, err := tx.Exec(`UPDATE storage_quotas SET reserved = reserved + $2
		WHERE scope = $1 AND $2 <= COALESCE(limit_bytes, $3) - attachments - streams - used - reserved`, scope, n, p.Limit)
	if err != nil {
		return false, fmt.Errorf("reserve bytes: %w", err)
	}
	return changed == 1, nil
}
