package secret_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/secret"
)

// refusesToStart fails unless these keys do not start, and whoever asks before is told so in the same words.
func (s *scene) refusesToStart(what string, ring *secret.Ring) {
	s.t.Helper()
	proof := secret.Prove(s.t.Context(), s.db, ring)
	store, err := secret.Open(s.t.Context(), s.db, ring, s.config())
	if store != nil || !errors.Is(err, secret.ErrKeyMismatch) || !strings.HasPrefix(err.Error(), "secret_store_key_mismatch") {
		s.t.Errorf("%s: %v", what, err)
	}
	if proof == nil || err == nil || proof.Error() != err.Error() {
		s.t.Errorf("%s: proven with %v, opened with %v", what, proof, err)
	}
}

// sameKid is a ring with the kids of another and other keys.
func sameKid(t testing.TB, ring *secret.Ring) *secret.Ring {
	t.Helper()
	text := `{"active":"` + ring.Active() + `","keys":{`
	for i, kid := range ring.Kids() {
		if i > 0 {
			text += ","
		}
		text += `"` + kid + `":"` + key(t.Name()+kid) + `"`
	}
	other, err := secret.ParseRing([]byte(text + "}}"))
	must(t, err)
	return other
}

func TestWrongKeysDoNotStart(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		for _, state := range []string{"without secrets", "with secrets"} {
			s.refusesToStart("same kid, other key, "+state, sameKid(t, s.ring))
			s.refusesToStart("new ring, "+state, newRing(t))
			more := s.addKey()
			less, err := sameKid(t, more).Remove(newestOf(more, s.ring))
			must(t, err)
			s.refusesToStart("another key beside, "+state, less)
			if empty, err := secret.Empty(t.Context(), s.db); err != nil || empty {
				t.Errorf("empty %s: %v, %v", state, empty, err)
			}
			s.fill(3)
		}
		if err := s.store.Reload(t.Context(), sameKid(t, s.ring)); !errors.Is(err, secret.ErrKeyMismatch) {
			t.Errorf("reloaded with another key: %v", err)
		}
		s.wantFilled(3)
		s.store = s.open(s.ring)
		s.wantFilled(3)
	})
}

func newestOf(more, ring *secret.Ring) string {
	for _, kid := range more.Kids() {
		if kid != ring.Active() {
			return kid
		}
	}
	return ""
}

func TestTamperedCanaryOrRootDoesNotStart(t *testing.T) {
	for what, change := range map[string]string{
		"canary cut":          `UPDATE secret_keys SET canary = substr(canary, 1, 20)`,
		"canary empty":        `UPDATE secret_keys SET canary = substr(canary, 1, 0)`,
		"canary gone":         `DELETE FROM secret_keys`,
		"canary of another":   `UPDATE secret_keys SET kid = 'kother'`,
		"root value gone":     `DELETE FROM secret_values WHERE secret IN (SELECT id FROM secrets WHERE owner_kind = 'root')`,
		"root row gone":       `DELETE FROM secrets WHERE owner_kind = 'root'`,
		"root all gone":       `DELETE FROM secret_values WHERE version > 0`,
		"root is of somebody": `UPDATE secrets SET owner_kind = 'service' WHERE owner_kind = 'root'`,
		"root version raised": `UPDATE secrets SET version = 2 WHERE owner_kind = 'root'`,
		"root written by us":  `UPDATE secrets SET updated_by = 'acc_02' WHERE owner_kind = 'root'`,
		"root kid unknown":    `UPDATE secret_values SET kid = 'kother'`,
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t, openDB(t, sqldbtest.SQLite(t)), newRing(t))
			s.exec(change)
			s.refusesToStart(what, s.ring)
		})
	}
}

// TestRootCannotBeGivenByWhoeverSeals puts a secret of 32 bytes, whose value a person chose, in the root's place.
func TestRootCannotBeGivenByWhoeverSeals(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.seal(us, "A", strings.Repeat("k", 32))
		a := s.row(us, "A")
		s.exec(`UPDATE secret_values SET wrapped = $1, nonce = $2, sealed = $3`, a.wrapped, a.nonce, a.sealed)
		s.refusesToStart("value", s.ring)
		s.exec(`UPDATE secrets SET id = 'x' WHERE owner_kind = 'root'`)
		s.exec(`UPDATE secrets SET owner_kind = 'was' WHERE owner_kind = 'root'`)
		s.exec(`UPDATE secrets SET owner_kind = 'root', name = 'root' WHERE id = $1`, a.id)
		s.refusesToStart("rows", s.ring)
	})
}

// TestFlippedCanaryDoesNotStart flips one bit of each byte, on both databases.
func TestFlippedCanaryDoesNotStart(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		var canary []byte
		must(t, s.db.Read(t.Context(), func(tx *sqldb.Tx) error {
			return tx.QueryRow(`SELECT canary FROM secret_keys`).Scan(&canary)
		}))
		for i := 0; i < len(canary); i += 5 {
			flipped := append([]byte{}, canary...)
			flipped[i] ^= 1 << (i % 8)
			s.exec(`UPDATE secret_keys SET canary = $1`, flipped)
			s.refusesToStart("flipped", s.ring)
		}
		s.exec(`UPDATE secret_keys SET canary = $1`, canary)
		s.open(s.ring)
	})
}

func TestEmptyMeansThatNothingWasEverSealed(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := openDB(t, address)
		if empty, err := secret.Empty(t.Context(), db); err != nil || !empty {
			t.Fatalf("fresh: %v, %v", empty, err)
		}
		s := newScene(t, db, newRing(t))
		s.seal(shop, "A", "value")
		must(t, db.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, err := s.store.DeleteAll(tx, shop)
			return err
		}))
		if empty, err := secret.Empty(t.Context(), db); err != nil || empty {
			t.Errorf("after everything was deleted: %v, %v", empty, err)
		}
	})
}

// TestNodesThatBeginAtOnceAgree starts nodes with one ring, and one with another, on an empty database.
func TestNodesThatBeginAtOnceAgree(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := openDB(t, address)
		rings := []*secret.Ring{newRing(t), newRing(t)}
		const nodes = 8
		stores := make([]*secret.Store, nodes)
		errs := make([]error, nodes)
		var all sync.WaitGroup
		for i := range nodes {
			all.Go(func() { stores[i], errs[i] = secret.Open(t.Context(), db, rings[i%2], secret.Config{}) })
		}
		all.Wait()
		first := ""
		for i := range nodes {
			if (errs[i] == nil) != (errs[i%2] == nil) || errs[i] != nil && !errors.Is(errs[i], secret.ErrKeyMismatch) {
				t.Fatalf("nodes disagree: %v", errs)
			}
			if errs[i] == nil {
				if key := string(stores[i].Derive("x")); first == "" {
					first = key
				} else if key != first {
					t.Error("two roots")
				}
			}
		}
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("both rings or none: %v", errs)
		}
	})
}
