package secret_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/secret"
)

// rotate makes a new key active in the order that nodes need, and removes the old one.
func (s *scene) rotate() {
	s.t.Helper()
	old := s.ring.Active()
	more := s.addKey()
	must(s.t, s.store.Reload(s.t.Context(), more))
	s.activateNewest(more, old)
	p, err := s.store.Rewrap(s.t.Context())
	if err != nil || p.Unreadable != 0 {
		s.t.Fatalf("rewrap: %+v, %v", p, err)
	}
	rows, err := s.store.Rows(s.t.Context())
	if err != nil || rows[old] != 0 {
		s.t.Fatalf("rows %v, %v", rows, err)
	}
	less, err := s.ring.Remove(old)
	must(s.t, err)
	must(s.t, s.store.Reload(s.t.Context(), less))
	s.ring = less
}

func (s *scene) addKey() *secret.Ring {
	s.t.Helper()
	more, _, err := s.ring.Add()
	must(s.t, err)
	return more
}

// activateNewest reloads with the kid active that is not the old one.
func (s *scene) activateNewest(more *secret.Ring, old string) {
	s.t.Helper()
	for _, kid := range more.Kids() {
		if kid == old {
			continue
		}
		ring, err := more.Activate(kid)
		must(s.t, err)
		must(s.t, s.store.Reload(s.t.Context(), ring))
		s.ring = ring
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fill seals so many secrets whose values begin with their names.
func (s *scene) fill(n int) {
	s.t.Helper()
	must(s.t, s.db.Write(s.t.Context(), func(tx *sqldb.Tx) error { return fill(s.store, tx, n) }))
}

func fill(store *secret.Store, tx *sqldb.Tx, n int) error {
	for i := range n {
		name := fmt.Sprintf("S%04d", i)
		if _, err := store.Seal(tx, shop, name, []byte(name+" first"), "acc_01"); err != nil {
			return err
		}
	}
	return nil
}

// wantFilled proves that all are readable and hold what they should.
func (s *scene) wantFilled(n int) {
	s.t.Helper()
	for i := range n {
		name := fmt.Sprintf("S%04d", i)
		if got, err := s.value(shop, name); err != nil || !strings.HasPrefix(got, name+" ") {
			s.t.Fatalf("%s is %q, %v", name, got, err)
		}
	}
}

func TestRotationKeepsEverySecret(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.fill(100)
		for range 3 {
			s.rotate()
			s.wantFilled(100)
		}
		rows, err := s.store.Rows(t.Context())
		if err != nil || !maps.Equal(rows, map[string]int64{s.ring.Active(): 101}) {
			t.Fatalf("rows %v, %v", rows, err)
		}
		s.store = s.open(s.ring) // a restart with the new key alone
		s.wantFilled(100)
	})
}

func TestRewrapTouchesNoValue(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.seal(shop, "A", "value")
		before := s.row(shop, "A")
		s.rotate()
		after := s.row(shop, "A")
		if string(after.sealed) != string(before.sealed) || string(after.nonce) != string(before.nonce) || after.version != before.version {
			t.Error("the value was touched")
		}
		if after.kid == before.kid || string(after.wrapped) == string(before.wrapped) {
			t.Error("the key was not")
		}
		s.tamper("old wrap back", []place{{shop, "A"}}, run(`UPDATE secret_values SET kid = $2, wrapped = $3 WHERE secret = $1`, before.id, before.kid, before.wrapped))
	})
}

func TestKeyInUseCannotBeDropped(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.fill(3)
		old := s.ring.Active()
		refused := func(what string, ring *secret.Ring) {
			t.Helper()
			if err := s.store.Reload(t.Context(), ring); !errors.Is(err, secret.ErrKeyInUse) {
				t.Errorf("%s: %v", what, err)
			}
			s.wantFilled(3)
		}
		refused("another ring", newRing(t))
		more := s.addKey()
		must(t, s.store.Reload(t.Context(), more))
		s.activateNewest(more, old)
		less, err := s.ring.Remove(old)
		must(t, err)
		refused("before the rewrap", less)
		back, err := s.ring.Activate(old)
		must(t, err)
		back, err = back.Remove(s.ring.Active())
		must(t, err)
		refused("without the active one, under which nothing is yet", back)
		if _, err := secret.Open(t.Context(), s.db, less, s.config()); !errors.Is(err, secret.ErrKeyMismatch) {
			t.Errorf("opened without a key that is needed: %v", err)
		}
		_, err = s.store.Rewrap(t.Context())
		must(t, err)
		must(t, s.store.Reload(t.Context(), less))
		s.wantFilled(3)
		if _, err := less.Remove(less.Active()); err == nil {
			t.Error("the active key was removed")
		}
	})
}

// takes is what takes its time in a scene. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

// TestDroppingWaitsForThoseWhoSeal has a transaction open that has sealed under the key that is to be dropped.
func TestDroppingWaitsForThoseWhoSeal(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		old := s.ring.Active()
		late := s.open(s.ring) // a node that did not hear of the new key yet
		more := s.addKey()
		must(t, s.store.Reload(t.Context(), more))
		s.activateNewest(more, old)
		_, err := s.store.Rewrap(t.Context())
		must(t, err)
		less, err := s.ring.Remove(old)
		must(t, err)

		sealed, dropped := make(chan bool), make(chan error, 1)
		var once sync.Once
		go func() {
			<-sealed
			dropped <- s.store.Reload(t.Context(), less)
		}()
		must(t, s.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			if _, err := late.Seal(tx, shop, "A", []byte("value"), "acc_01"); err != nil {
				return err
			}
			once.Do(func() { close(sealed) })
			takes(50 * time.Millisecond) // time enough for whoever does not wait
			return nil
		}))
		if err := <-dropped; !errors.Is(err, secret.ErrKeyInUse) {
			t.Fatalf("dropped: %v", err)
		}
		s.want(shop, "A", "value")
	})
}

func TestTwoRewrapsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		const many = 300
		s.fill(many)
		old := s.ring.Active()
		more := s.addKey()
		must(t, s.store.Reload(t.Context(), more))
		s.activateNewest(more, old)
		other := s.open(s.ring)
		var both sync.WaitGroup
		done := make([]secret.Progress, 2)
		for i, store := range []*secret.Store{s.store, other} {
			both.Go(func() {
				var err error
				if done[i], err = store.Rewrap(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Go(func() { // an owner who replaces meanwhile
			for i := range 50 {
				name := fmt.Sprintf("S%04d", i*5)
				if _, err := s.trySeal(shop, name, name+" second"); err != nil {
					t.Error(err)
				}
			}
		})
		both.Wait()
		rows, err := s.store.Rows(t.Context())
		if err != nil || rows[old] != 0 || rows[s.ring.Active()] != many+1 {
			t.Fatalf("rows %v, %v", rows, err)
		}
		if n := done[0].Rewrapped + done[1].Rewrapped; n > many+1 {
			t.Errorf("%d rewrapped of %d", n, many+1)
		}
		s.wantFilled(many)
		s.want(shop, "S0005", "S0005 second")
	})
}

func TestRewrapLeavesWhatDoesNotOpen(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.fill(40)
		old := s.ring.Active()
		broken := s.row(shop, "S0007")
		s.exec(`UPDATE secret_values SET wrapped = $2 WHERE secret = $1`, broken.id, s.row(shop, "S0008").wrapped)
		more := s.addKey()
		must(t, s.store.Reload(t.Context(), more))
		s.activateNewest(more, old)
		p, err := s.store.Rewrap(t.Context())
		if err == nil || p != (secret.Progress{Rewrapped: 40, Unreadable: 1}) {
			t.Fatalf("%+v, %v", p, err)
		}
		rows, err := s.store.Rows(t.Context())
		if err != nil || rows[old] != 1 {
			t.Fatalf("rows %v, %v", rows, err)
		}
		if _, err := s.value(shop, "S0007"); !fault.Is(err, secret.Unreadable) {
			t.Errorf("broken: %v", err)
		}
		s.seal(shop, "S0007", "S0007 replaced")
		if rows, err = s.store.Rows(t.Context()); err != nil || rows[old] != 0 {
			t.Fatalf("rows %v, %v", rows, err)
		}
		s.wantFilled(40)
	})
}

func TestKidOfAnotherKeyDoesNotOpen(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.seal(shop, "A", "value")
		old, r := s.ring.Active(), s.row(shop, "A")
		more := s.addKey()
		must(t, s.store.Reload(t.Context(), more))
		s.activateNewest(more, old)
		s.tamper("kid renamed", []place{{shop, "A"}}, s.set("kid", r.id, s.ring.Active()))
		s.seal(shop, "B", "value")
		b := s.row(shop, "B")
		s.tamper("kid and key of another", []place{{shop, "A"}}, run(`UPDATE secret_values SET kid = $2, wrapped = $3 WHERE secret = $1`, r.id, b.kid, b.wrapped))
	})
}

func TestKeyThatWrappedOftenIsTold(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		wraps := func() (n int64) {
			t.Helper()
			must(t, s.db.Read(t.Context(), func(tx *sqldb.Tx) error {
				return tx.QueryRow(`SELECT wraps FROM secret_keys WHERE kid = $1`, s.ring.Active()).Scan(&n)
			}))
			return n
		}
		s.fill(10)
		must(t, s.store.Flush(t.Context()))
		if wraps() != 12 || strings.Contains(s.log.String(), "rotate") { // with canary and root
			t.Fatalf("%d wraps; %s", wraps(), s.log)
		}
		s.exec(`UPDATE secret_keys SET wraps = $1`, int64(secret.ManyWraps)-1)
		s.seal(shop, "S0000", "once more")
		must(t, s.store.Flush(t.Context()))
		if !strings.Contains(s.log.String(), "level=WARN") || !strings.Contains(s.log.String(), s.ring.Active()) {
			t.Errorf("not told: %s", s.log)
		}
		if secret.ManyWraps > 1<<31 {
			t.Error("that is too late")
		}
	})
}
