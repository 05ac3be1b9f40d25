package secret_test

import (
	"errors"
	"strings"
	"testing"

	"svc.dev/svc/service/secret"
)

func TestProveTellsWhetherARingBelongsToADatabase(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		prove := func(ring *secret.Ring) error { return secret.Prove(t.Context(), s.db, ring) }
		if err := prove(s.ring); err != nil {
			t.Errorf("its own: %v", err)
		}
		more, kid, err := s.ring.Add()
		if err != nil {
			t.Fatal(err)
		}
		if err := prove(more); err != nil {
			t.Errorf("a key that is to come: %v", err)
		}
		if rows, err := s.store.Rows(t.Context()); err != nil || rows[kid] != 0 {
			t.Errorf("proving left something behind: %v %v", rows, err)
		}
		if err := prove(newRing(t)); !errors.Is(err, secret.ErrKeyMismatch) || !strings.Contains(err.Error(), "is not in the ring") {
			t.Errorf("another ring: %v", err)
		}
		// A key of another ring under the kid of this one.
		s.exec(`UPDATE secret_keys SET canary = $1`, []byte("not what this key has sealed, however long"))
		if err := prove(s.ring); !errors.Is(err, secret.ErrKeyMismatch) || !strings.Contains(err.Error(), "is not the key that sealed this database") {
			t.Errorf("another key of the same name: %v", err)
		}
	})
}
