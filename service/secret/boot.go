package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"svc.dev/svc/internal/sqldb"
)

// canaryText is what every canary holds; only that it opens matters.
var canaryText = []byte("the key of this kid is the same.")

func canaryAAD(kid string) []byte { return tuple("svc-canary-v1", kid) }

// attach proves that the keys belong to this database, leaves a canary for each new one, and returns the root secret,
// which it makes where nothing was ever sealed. Nodes that come at once do it one after the other.
func (s *Store) attach(ctx context.Context, keys KeyProvider, dropping bool) (Secret, error) {
	return sqldb.Write(ctx, s.db, func(tx *sqldb.Tx) (root Secret, err error) {
		if err := lockKeys(tx, dropping); err != nil {
			return root, err
		}
		found, err := examine(tx, keys)
		if err != nil {
			return root, err
		}
		for _, kid := range found.unmet {
			if err := s.leaveCanary(tx, keys, kid); err != nil {
				return root, err
			}
		}
		if found.fresh {
			return s.makeRoot(tx, keys)
		}
		return found.root, nil
	})
}

// lockKeys makes whoever attaches wait. A key that is dropped must also wait for those who are about to use it.
func lockKeys(tx *sqldb.Tx, dropping bool) error {
	if err := tx.LockTable("secret_keys", "EXCLUSIVE"); err != nil || !dropping {
		return err
	}
	return tx.LockTable("secret_values", "SHARE")
}

// examined is what a database says to some keys.
type examined struct {
	fresh bool     // nothing was ever sealed
	unmet []string // kids that the database has not met
	root  Secret   // which every derived key comes from; none while the database is fresh
}

// examine reads what a database holds of its keys. It is ErrKeyMismatch, with the reason, unless these are its keys.
func examine(tx *sqldb.Tx, keys KeyProvider) (found examined, err error) {
	if found.fresh, err = isEmpty(tx); err != nil {
		return found, err
	}
	canaries, err := byKid[[]byte](tx, `SELECT kid, canary FROM secret_keys`)
	if err != nil {
		return found, err
	}
	if err := checkUse(tx, keys, canaries); err != nil {
		return found, err
	}
	for _, kid := range keys.Kids() {
		if canary, met := canaries[kid]; !met {
			found.unmet = append(found.unmet, kid)
		} else if err := openCanary(keys, kid, canary); err != nil {
			return found, err
		}
	}
	if !found.fresh {
		found.root, err = openRoot(tx, keys)
	}
	return found, err
}

// Prove reports with ErrKeyMismatch why Open would refuse the keys, for the same reason, on a migrated database. Unlike Open it
// only reads. A key that the database has not met is no fault: Open leaves a canary for it.
func Prove(ctx context.Context, db *sqldb.DB, keys KeyProvider) error {
	_, err := sqldb.Snapshot(ctx, db, func(tx *sqldb.Tx) (examined, error) { return examine(tx, keys) })
	return err
}

// checkUse refuses keys that lack one which values need, and a database that lacks the canary of one.
func checkUse(tx *sqldb.Tx, keys KeyProvider, canaries map[string][]byte) error {
	used, err := countKids(tx)
	if err != nil {
		return err
	}
	have := keys.Kids()
	for _, kid := range slices.Sorted(maps.Keys(used)) {
		if !slices.Contains(have, kid) {
			return fmt.Errorf("%w: key %s is not in the ring, but %d values need it: %w", ErrKeyMismatch, kid, used[kid], ErrKeyInUse)
		}
		if _, met := canaries[kid]; !met {
			return fmt.Errorf("%w: the canary of key %s is missing", ErrKeyMismatch, kid)
		}
	}
	return nil
}

func openCanary(keys KeyProvider, kid string, canary []byte) error {
	text, err := keys.Unwrap(kid, canary, canaryAAD(kid))
	if err != nil || !bytes.Equal(text, canaryText) {
		return fmt.Errorf("%w: key %s is not the key that sealed this database", ErrKeyMismatch, kid)
	}
	return nil
}

func (s *Store) leaveCanary(tx *sqldb.Tx, keys KeyProvider, kid string) error {
	canary, err := keys.Wrap(kid, canaryText, canaryAAD(kid))
	if err != nil {
		return fmt.Errorf("seal canary: %w", err)
	}
	return tx.Do("leave canary", `INSERT INTO secret_keys (kid, canary, wraps, created_at) VALUES ($1, $2, 1, $3)`, kid, canary, s.now())
}

// rootAt is where the secret lies that every derived key comes from.
var rootAt = binding{owner: Owner{Kind: ownRoot}, name: ownRoot}

// makeRoot makes the root on a fresh database.
func (s *Store) makeRoot(tx *sqldb.Tx, keys KeyProvider) (Secret, error) {
	root, at := Hide(string(randomBytes(keyBytes))), rootAt
	at.id, at.version = newID(), 1
	_, _, err := s.put(tx, sealing{keys: keys, root: root, at: at, value: []byte(root.Reveal()), by: ownRoot})
	return root, err
}

// openRoot opens the root that there must be.
func openRoot(tx *sqldb.Tx, keys KeyProvider) (Secret, error) {
	at := rootAt
	h, e, err := read(tx, at.owner, at.name)
	if errors.Is(err, ErrNotFound) {
		return Secret{}, fmt.Errorf("%w: the root secret is missing", ErrKeyMismatch)
	}
	if err != nil {
		return Secret{}, err
	}
	at.id, at.version = h.id, h.version
	value, err := e.open(keys, at)
	if err != nil || len(value) != keyBytes || !h.genuine(Hide(string(value)), at.owner, at.name, e) {
		return Secret{}, fmt.Errorf("%w: the root secret does not open", ErrKeyMismatch)
	}
	return Hide(string(value)), nil
}

// countKids is how many values each kid wraps.
func countKids(tx *sqldb.Tx) (map[string]int64, error) {
	return byKid[int64](tx, `SELECT kid, count(*) FROM secret_values GROUP BY kid`)
}

// byKid reads rows of a kid and something of it.
func byKid[T any](tx *sqldb.Tx, query string) (map[string]T, error) {
	all := map[string]T{}
	_, err := sqldb.Collect(tx, func(row sqldb.Row) (kid string, err error) {
		var value T
		err = row.Scan(&kid, &value)
		all[kid] = value
		return kid, err
	}, query)
	return all, err
}
