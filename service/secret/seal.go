package secret

import (
	"errors"
	"fmt"

	"svc.dev/svc/internal/sqldb"
)

// Seal writes the next version of a secret in the caller's transaction, over whatever there is. The version before is
// gone when that commits. A value that no longer opens can be replaced like any other.
func (s *Store) Seal(tx *sqldb.Tx, o Owner, name string, value []byte, by string) (Entry, error) {
	return s.seal(tx, o, name, anyVersion, value, by)
}

// SealAt is Seal over a version that the caller has seen, 0 for none. Another version there is fault version_conflict with
// ErrVersion in its chain, and nothing is written.
func (s *Store) SealAt(tx *sqldb.Tx, o Owner, name string, version int64, value []byte, by string) (Entry, error) {
	return s.seal(tx, o, name, max(version, 0), value, by)
}

const (
	anyVersion = -1
	// sealAttempts is how often a name is looked for that others make and delete at the same time.
	sealAttempts = 5
)

func (s *Store) seal(tx *sqldb.Tx, o Owner, name string, expected int64, value []byte, by string) (Entry, error) {
	if err := checkSeal(o, name, value, by); err != nil {
		return Entry{}, err
	}
	s.learn(value)
	for range sealAttempts {
		before, err := hold(tx, o, name)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return Entry{}, fmt.Errorf("seal secret: %w", err)
		}
		if expected != anyVersion && expected != before.version {
			return Entry{}, versionConflict(before.version)
		}
		h, written, err := s.next(tx, o, name, before, value, by)
		if err != nil {
			return Entry{}, fmt.Errorf("seal secret: %w", err)
		}
		if written {
			return h.entry(name), nil
		}
	}
	return Entry{}, errors.New("seal secret: others make and delete it at the same time")
}

// next writes the version after the one that is held, or the first where there is none.
func (s *Store) next(tx *sqldb.Tx, o Owner, name string, before head, value []byte, by string) (head, bool, error) {
	id, err := s.lineage(tx, o, name, before)
	if err != nil {
		return head{}, false, err
	}
	at := binding{owner: o, name: name, id: id, version: before.version + 1}
	return s.put(tx, sealing{keys: s.Keys(), root: s.root, at: at, value: value, by: by, before: before})
}

// lineage is the id under which the next version is sealed. Where the row was tampered with, its version may have been
// before: a new id keeps an old value from ever fitting again.
func (s *Store) lineage(tx *sqldb.Tx, o Owner, name string, before head) (string, error) {
	if before.id == "" {
		return newID(), nil
	}
	h, e, err := read(tx, o, name)
	if err != nil {
		return "", err
	}
	if !h.genuine(s.root, o, name, e) {
		return newID(), nil
	}
	return h.id, nil
}

// sealing is a value on its way into the database.
type sealing struct {
	keys   KeyProvider
	root   Secret
	at     binding
	value  []byte
	by     string
	before head // whose place it takes; zero for none
}

// put seals a value and writes both of its rows; what was there before is gone with that. It reports false, and has
// written nothing, when somebody made a first version meanwhile.
func (s *Store) put(tx *sqldb.Tx, n sealing) (head, bool, error) {
	e, err := seal(n.keys, n.at, n.value)
	if err != nil {
		return head{}, false, err
	}
	s.notes.wrapped(e.kid, 1)
	h := n.head(s.now(), e)
	if written, err := n.writeHead(tx, h); err != nil || !written {
		return head{}, false, err
	}
	for _, id := range []string{n.before.id, h.id} {
		if _, err := tx.Exec(`DELETE FROM secret_values WHERE secret = $1`, id); err != nil {
			return head{}, false, err
		}
	}
	_, err = tx.Exec(`INSERT INTO secret_values (secret, version, kid, wrapped, nonce, sealed) VALUES ($1, $2, $3, $4, $5, $6)`,
		h.id, e.version, e.kid, e.wrapped, e.nonce, e.sealed)
	return h, true, err
}

func (n sealing) head(now int64, e envelope) head {
	h := head{
		id: n.at.id, version: n.at.version, bytes: int64(len(n.value)), lastUsedAt: n.before.lastUsedAt,
		createdAt: now, updatedAt: now, updatedBy: n.by,
	}
	if n.before.id != "" {
		h.createdAt = n.before.createdAt
	}
	h.tag = h.sum(n.root, n.at.owner, n.at.name, e)
	return h
}

func (n sealing) writeHead(tx *sqldb.Tx, h head) (bool, error) {
	var rows int64
	var err error
	if n.before.id == "" {
		rows, err = tx.Exec(`INSERT INTO secrets (id, owner_kind, scope, name, version, bytes, created_at, updated_at, updated_by, tag)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
			h.id, n.at.owner.Kind, n.at.owner.Scope, n.at.name, h.version, h.bytes, h.createdAt, h.updatedAt, h.updatedBy, h.tag)
	} else {
		rows, err = tx.Exec(`UPDATE secrets SET id = $1, version = $2, bytes = $3, created_at = $4, updated_at = $5, updated_by = $6, tag = $7 WHERE id = $8`,
			h.id, h.version, h.bytes, h.createdAt, h.updatedAt, h.updatedBy, h.tag, n.before.id)
	}
	return rows == 1, err
}
