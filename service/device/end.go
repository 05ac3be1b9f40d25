package device

import (
	"cmp"
	"context"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/apikey"
)

// Ends is how keys end with what they rest on, and what was approved for a device with them: account.Keys. A pairing ends before the
// keys do: of a program that fetches its key at this moment, the one or the other is found.
type Ends struct{ apikey.Ends }

// OfMaker ends all keys of an account, and what it approved.
func (e Ends) OfMaker(tx *sqldb.Tx, now time.Time, account string) error {
	return cmp.Or(void(tx, "account = $3", account), e.Ends.OfMaker(tx, now, account))
}

// Since ends the keys that were made for a workspace since a time, and what was approved since then, and says how many keys.
func (e Ends) Since(tx *sqldb.Tx, now time.Time, workspace string, since time.Time) (int64, error) {
	if err := void(tx, "workspace = $3 AND decided_at >= $4", workspace, since.UnixMilli()); err != nil {
		return 0, err
	}
	return e.Ends.Since(tx, now, workspace, since)
}

// Erase deletes the keys and pairings of an account that is being erased.
func (e Ends) Erase(tx *sqldb.Tx, account string) error {
	return cmp.Or(tx.Do("erase pairings", "DELETE FROM device_pairings WHERE account = $1", account), e.Ends.Erase(tx, account))
}

// void lets nobody fetch what was approved where a condition says so; its first argument is $3.
func void(tx *sqldb.Tx, where string, args ...any) error {
	return tx.Do("void pairings", "UPDATE device_pairings SET state = $1 WHERE state = $2 AND "+where, append([]any{denied, approved}, args...)...)
}

// batch is how many pairings are swept in one transaction.
const batch = 500

// Sweep deletes pairings that are over, a little at a time, and says how many.
func (d *Devices) Sweep(ctx context.Context) (int64, error) {
	return sqldb.Write(ctx, d.DB, func(tx *sqldb.Tx) (int64, error) {
		return tx.Exec("DELETE FROM device_pairings WHERE id IN (SELECT id FROM device_pairings WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2"+tx.SkipLocked()+")",
			d.Now().UnixMilli(), batch)
	})
}
