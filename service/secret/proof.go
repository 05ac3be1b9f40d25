package secret

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"svc.dev/svc/internal/sqldb"
)

// Prove reports with ErrKeyMismatch why the keys do not open what a migrated database holds. Unlike Open it only reads. A key
// that the database has not met is no fault: Open leaves a canary for it.
func Prove(ctx context.Context, db *sqldb.DB, keys KeyProvider) error {
	return db.Read(ctx, func(tx *sqldb.Tx) error {
		canaries, err := readCanaries(tx)
		if err != nil {
			return err
		}
		used, err := countKids(tx)
		if err != nil {
			return err
		}
		have := keys.Kids()
		for _, kid := range slices.Sorted(maps.Keys(used)) {
			if !slices.Contains(have, kid) {
				return fmt.Errorf("%w: key %s is not in the ring, but %d values need it", ErrKeyMismatch, kid, used[kid])
			}
		}
		for _, kid := range have {
			if canary := canaries[kid]; canary != nil {
				if err := openCanary(keys, kid, canary); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
