package secret

import (
	"errors"
	"fmt"

	"svc.dev/svc/internal/sqldb"
)

// Delete destroys a secret in the caller's transaction and reports whether there was one.
func (s *Store) Delete(tx *sqldb.Tx, o Owner, name string) (bool, error) {
	return s.delete(tx, o, name, anyVersion)
}

// DeleteAt is Delete of a version that the caller has seen. Another version there is fault version_conflict with
// ErrVersion in its chain, and nothing is destroyed.
func (s *Store) DeleteAt(tx *sqldb.Tx, o Owner, name string, version int64) (bool, error) {
	return s.delete(tx, o, name, max(version, 0))
}

func (s *Store) delete(tx *sqldb.Tx, o Owner, name string, expected int64) (bool, error) {
	if !o.exists(name) {
		return false, nil
	}
	h, err := hold(tx, o, name)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("delete secret: %w", err)
	}
	if expected != anyVersion && expected != h.version {
		return false, versionConflict(h.version)
	}
	if err := destroy(tx, h.id); err != nil {
		return false, fmt.Errorf("delete secret: %w", err)
	}
	return true, nil
}

// DeleteAll destroys all secrets of an owner in the caller's transaction and says how many there were.
func (s *Store) DeleteAll(tx *sqldb.Tx, o Owner) (int64, error) {
	if err := o.check(); err != nil {
		return 0, err
	}
	ids, err := sqldb.Collect(tx, sqldb.Column[string], `SELECT id FROM secrets WHERE owner_kind = $1 AND scope = $2 ORDER BY id`+tx.ForUpdate(), o.Kind, o.Scope)
	if err != nil {
		return 0, fmt.Errorf("delete secrets: %w", err)
	}
	for _, id := range ids {
		if err := destroy(tx, id); err != nil {
			return 0, fmt.Errorf("delete secrets: %w", err)
		}
	}
	return int64(len(ids)), nil
}

func destroy(tx *sqldb.Tx, id string) error {
	if err := tx.Do("destroy value", `DELETE FROM secret_values WHERE secret = $1`, id); err != nil {
		return err
	}
	return tx.Do("destroy head", `DELETE FROM secrets WHERE id = $1`, id)
}
