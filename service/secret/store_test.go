package secret_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/redact"
	"svc.dev/svc/service/secret"
)

var (
	shop   = secret.Owner{Kind: secret.Business, Scope: "users/eve/shop"}
	bakery = secret.Owner{Kind: secret.Business, Scope: "users/eve/bakery"}
	eve    = secret.Owner{Kind: secret.Account, Scope: "acc_01"}
	us     = secret.Owner{Kind: secret.Service}
)

// scene is a store on a fresh database.
type scene struct {
	t     testing.TB
	db    *sqldb.DB
	ring  *secret.Ring
	store *secret.Store
	log   *journal

	mu  sync.Mutex
	now time.Time
}

func each(t *testing.T, fn func(t *testing.T, s *scene)) {
	t.Helper()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		fn(t, newScene(t, openDB(t, address), newRing(t)))
	})
}

func newScene(t testing.TB, db *sqldb.DB, ring *secret.Ring) *scene {
	t.Helper()
	s := &scene{t: t, db: db, ring: ring, log: &journal{}, now: time.UnixMilli(1_782_907_500_000).UTC()}
	s.store = s.open(ring)
	return s
}

func (s *scene) open(ring *secret.Ring) *secret.Store {
	s.t.Helper()
	store, err := secret.Open(s.t.Context(), s.db, ring, s.config())
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

func (s *scene) config() secret.Config {
	return secret.Config{
		Now: s.clock, Log: slog.New(slog.NewTextHandler(s.log, nil)), RewrapPause: time.Millisecond,
	}
}

func (s *scene) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *scene) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// journal is what was logged by all stores of a scene.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

func openDB(t testing.TB, address string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context(), secret.Migrations); err != nil {
		t.Fatal(err)
	}
	return db
}

func newRing(t testing.TB) *secret.Ring {
	t.Helper()
	ring, err := secret.NewRing()
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestStoreTeachesTheRedactor(t *testing.T) {
	db := openDB(t, sqldbtest.SQLite(t))
	ring := newRing(t)
	s := newScene(t, db, ring)
	s.seal(shop, "A", "sealed before the redactor")
	redactor := redact.New()
	var err error
	s.store, err = secret.Open(t.Context(), db, ring, secret.Config{Redactor: redactor})
	must(t, err)
	if out := redactor.Text("sealed before the redactor"); strings.Contains(out, redact.Placeholder) {
		t.Error("known before it was opened")
	}
	s.want(shop, "A", "sealed before the redactor")
	s.seal(shop, "B", "sealed with the redactor")
	for _, v := range []string{"sealed before the redactor", "sealed with the redactor"} {
		if out := redactor.Text(v); out != redact.Placeholder {
			t.Errorf("%q gives %q", v, out)
		}
	}
}

func (s *scene) seal(o secret.Owner, name, value string) secret.Entry {
	s.t.Helper()
	e, err := s.trySeal(o, name, value)
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

func (s *scene) trySeal(o secret.Owner, name, value string) (e secret.Entry, err error) {
	err = s.db.Write(s.t.Context(), func(tx *sqldb.Tx) error {
		e, err = s.store.Seal(tx, o, name, []byte(value), "acc_01")
		return err
	})
	return e, err
}

func (s *scene) value(o secret.Owner, name string) (string, error) {
	return valueIn(s.t.Context(), s.store, o, name)
}

func valueIn(ctx context.Context, store *secret.Store, o secret.Owner, name string) (got string, err error) {
	err = store.With(ctx, o, name, func(value []byte) error {
		got = string(value)
		return nil
	})
	return got, err
}

func (s *scene) want(o secret.Owner, name, value string) {
	s.t.Helper()
	if got, err := s.value(o, name); err != nil || got != value {
		s.t.Fatalf("%s of %v opens as %.40q, %v", name, o, got, err)
	}
}

func (s *scene) exec(query string, args ...any) {
	s.t.Helper()
	err := s.db.Write(s.t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestEveryValueComesBackAsItWas(t *testing.T) {
	values := map[string]string{
		"null": "null", "newlines": "a\nb\r\n\n", "one byte": "x", "nul byte": "\x00", "largest": strings.Repeat("v", secret.MaxBytes),
		"not text": "\xff\xfe\x00\x80", "json": `{"a":"b"}`, "spaces": "   ", "unicode": "schlüssel 🔑", "false": "false", "zero": "0",
	}
	each(t, func(t *testing.T, s *scene) {
		for _, o := range []secret.Owner{shop, bakery, eve, us} {
			for name, value := range values {
				value += o.Scope
				if name == "largest" {
					value = value[:secret.MaxBytes]
				}
				s.seal(o, "VALUE", value)
				s.want(o, "VALUE", value)
			}
		}
	})
}

func TestValuesOutsideOfTheLimitsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		for _, c := range []struct{ value, want string }{
			{strings.Repeat("v", secret.MaxBytes+1), secret.TooLarge}, {strings.Repeat("v", 1<<20), secret.TooLarge}, {"", fault.InvalidRequest},
		} {
			if _, err := s.trySeal(shop, "VALUE", c.value); !fault.Is(err, c.want) {
				t.Errorf("%d bytes: %v, want %s", len(c.value), err, c.want)
			}
		}
		if _, err := s.value(shop, "VALUE"); !errors.Is(err, secret.ErrNotFound) {
			t.Errorf("a refused value left something: %v", err)
		}
	})
}

func TestOwnersAndNamesThatCannotBeAreRefused(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		owners := []secret.Owner{
			{}, {Kind: "root"}, {Kind: secret.Service, Scope: "x"}, {Kind: secret.Account}, {Kind: secret.Account, Scope: "users/eve/shop"},
			{Kind: secret.Business, Scope: "acc_01"}, {Kind: secret.Business, Scope: "users/\x00"}, {Kind: secret.Business, Scope: "users/\xff"},
			{Kind: "Business", Scope: "users/eve/shop"},
		}
		for _, o := range owners {
			if _, err := s.trySeal(o, "A", "value"); err == nil {
				t.Errorf("sealed for %+v", o)
			}
			if _, err := s.value(o, "A"); !errors.Is(err, secret.ErrNotFound) {
				t.Errorf("open for %+v: %v", o, err)
			}
		}
		for _, name := range []string{"", "1A", "a b", "ä", "A\x00", "A\xff", strings.Repeat("A", 129), "../x", "A\n"} {
			if _, err := s.trySeal(shop, name, "value"); err == nil {
				t.Errorf("sealed as %q", name)
			}
			if _, err := s.value(shop, name); !errors.Is(err, secret.ErrNotFound) {
				t.Errorf("open %q: %v", name, err)
			}
		}
		if _, err := s.value(secret.Owner{Kind: "root"}, "root"); !errors.Is(err, secret.ErrNotFound) {
			t.Errorf("the root secret was opened: %v", err)
		}
	})
}

func TestNamesOfPeople(t *testing.T) {
	for name, ok := range map[string]bool{
		"A": true, "API_KEY": true, "A1_": true, "A" + strings.Repeat("B", 63): true,
		"": false, "a": false, "1A": false, "_A": false, "A-B": false, "A" + strings.Repeat("B", 64): false, "A\n": false, "Ä": false, "A/B": false,
	} {
		if err := secret.Name(name); (err == nil) != ok || !ok && !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestListTellsEverythingButTheValue(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.seal(shop, "B", "first")
		s.pass(time.Hour)
		s.seal(shop, "B", "second value")
		s.seal(shop, "A", "x")
		s.seal(bakery, "A", "other tenant")
		all, err := s.store.List(t.Context(), shop)
		if err != nil || len(all) != 2 || all[0].Name != "A" {
			t.Fatalf("listed %+v, %v", all, err)
		}
		b, now := all[1], s.clock()
		want := secret.Entry{Name: "B", Version: 2, Bytes: 12, CreatedAt: iso.At(now.Add(-time.Hour)), UpdatedAt: iso.At(now), UpdatedBy: "acc_01"}
		if b != want {
			t.Errorf("listed %+v, want %+v", b, want)
		}
		if one, err := s.store.Find(t.Context(), shop, "B"); err != nil || one != b {
			t.Errorf("found %+v, %v", one, err)
		}
		if _, err := s.store.Find(t.Context(), bakery, "B"); !errors.Is(err, secret.ErrNotFound) {
			t.Errorf("found in another scope: %v", err)
		}
	})
}

func TestStaleVersionIsRefused(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		at := func(version int64, value string) (err error) {
			return s.db.Write(t.Context(), func(tx *sqldb.Tx) error {
				_, err := s.store.SealAt(tx, shop, "A", version, []byte(value), "acc_01")
				return err
			})
		}
		for _, step := range []struct {
			version int64
			ok      bool
			have    int64
		}{{1, false, 0}, {7, false, 0}, {0, true, 1}, {0, false, 1}, {2, false, 1}, {1, true, 2}, {1, false, 2}, {2, true, 3}} {
			err := at(step.version, fmt.Sprint("value over ", step.version))
			if step.ok != (err == nil) || !step.ok && (!errors.Is(err, secret.ErrVersion) || fault.From(err).Meta["version"] != step.have) {
				t.Fatalf("over version %d: %v", step.version, err)
			}
		}
		s.want(shop, "A", "value over 2")
		for _, version := range []int64{2, 3} {
			gone := version == 3
			var did bool
			err := s.db.Write(t.Context(), func(tx *sqldb.Tx) (err error) {
				did, err = s.store.DeleteAt(tx, shop, "A", version)
				return err
			})
			if did != gone || !gone && !errors.Is(err, secret.ErrVersion) {
				t.Fatalf("delete version %d: %v, %v", version, did, err)
			}
			if !gone {
				s.want(shop, "A", "value over 2")
			}
		}
	})
}

// TestRefusedVersionLeavesNothing commits after the refusal, as a caller does that writes an audit row.
func TestRefusedVersionLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		err := s.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			if _, err := s.store.SealAt(tx, shop, "A", 3, []byte("value"), "acc_01"); !errors.Is(err, secret.ErrVersion) {
				return fmt.Errorf("refusal: %v", err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if all, err := s.store.List(t.Context(), shop); err != nil || len(all) > 0 {
			t.Fatalf("left %+v, %v", all, err)
		}
	})
}

func TestSealersAtOnceTakeTurns(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		const many = 24
		versions := make([]int64, many)
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				e, err := s.trySeal(shop, "A", fmt.Sprint("value ", i))
				if err != nil {
					t.Error(err)
				}
				versions[i] = e.Version
			})
		}
		all.Wait()
		seen := map[int64]bool{}
		for i, v := range versions {
			if seen[v] || v < 1 || v > many {
				t.Fatalf("versions %v", versions)
			}
			seen[v] = true
			if v == many {
				s.want(shop, "A", fmt.Sprint("value ", i))
			}
		}
	})
}

func TestOfSealersOverOneVersionOneWins(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		for version := range int64(3) {
			won := make(chan int, 16)
			var all sync.WaitGroup
			for i := range 16 {
				all.Go(func() {
					err := s.db.Write(t.Context(), func(tx *sqldb.Tx) error {
						_, err := s.store.SealAt(tx, shop, "A", version, fmt.Append(nil, i), "acc_01")
						return err
					})
					if err == nil {
						won <- i
					} else if !errors.Is(err, secret.ErrVersion) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if len(won) != 1 {
				t.Fatalf("%d won version %d", len(won), version)
			}
			s.want(shop, "A", fmt.Sprint(<-won))
		}
	})
}

func TestDeletedSecretIsGone(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.seal(shop, "A", "one")
		s.seal(shop, "B", "two")
		s.seal(shop, "C", "three")
		s.seal(bakery, "A", "stays")
		var first, again bool
		var rest int64
		err := s.db.Write(t.Context(), func(tx *sqldb.Tx) (err error) {
			first, err = s.store.Delete(tx, shop, "A")
			if err == nil {
				again, err = s.store.Delete(tx, shop, "A")
			}
			if err == nil {
				rest, err = s.store.DeleteAll(tx, shop)
			}
			return err
		})
		if err != nil || !first || again || rest != 2 {
			t.Fatalf("deleted %v %v %d, %v", first, again, rest, err)
		}
		if _, err := s.value(shop, "A"); !errors.Is(err, secret.ErrNotFound) {
			t.Errorf("after delete: %v", err)
		}
		s.want(bakery, "A", "stays")
		rows, err := s.store.Rows(t.Context())
		if err != nil || rows[s.ring.Active()] != 2 { // the bakery's and the root secret
			t.Errorf("rows %v, %v", rows, err)
		}
		if e := s.seal(shop, "A", "again"); e.Version != 1 {
			t.Errorf("a secret made anew has version %d", e.Version)
		}
	})
}

func TestSealIsPartOfTheTransaction(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.seal(shop, "A", "before")
		undo := errors.New("undo")
		err := s.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			if _, err := s.store.Seal(tx, shop, "A", []byte("after"), "acc_01"); err != nil {
				return err
			}
			if got, err := s.store.OpenIn(tx, shop, "A"); err != nil || string(got) != "after" {
				t.Errorf("inside: %q, %v", got, err)
			}
			return undo
		})
		if !errors.Is(err, undo) {
			t.Fatal(err)
		}
		s.want(shop, "A", "before")
	})
}

func TestValueIsClearedAfterUse(t *testing.T) {
	s := newScene(t, openDB(t, sqldbtest.SQLite(t)), newRing(t))
	s.seal(shop, "A", "value")
	var kept []byte
	stop := errors.New("stop")
	err := s.store.With(t.Context(), shop, "A", func(value []byte) error {
		kept = value
		return stop
	})
	if !errors.Is(err, stop) || !bytes.Equal(kept, make([]byte, 5)) {
		t.Fatalf("after use %q, %v", kept, err)
	}
}

func TestLastUseIsWrittenOnceAMinute(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.seal(shop, "A", "value")
		other := s.open(s.ring) // another node
		used := func(store *secret.Store) {
			t.Helper()
			if _, err := valueIn(t.Context(), store, shop, "A"); err != nil {
				t.Fatal(err)
			}
			if err := store.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		last := func() time.Time {
			t.Helper()
			e, err := s.store.Find(t.Context(), shop, "A")
			if err != nil {
				t.Fatal(err)
			}
			return e.LastUsedAt.Time
		}
		begin := s.clock()
		if !last().IsZero() {
			t.Fatalf("used at %v before any use", last())
		}
		used(s.store)
		s.pass(59 * time.Second)
		used(s.store)
		used(other)
		if !last().Equal(begin) {
			t.Errorf("written twice in a minute: %v", last().Sub(begin))
		}
		s.pass(time.Second)
		used(other)
		if !last().Equal(begin.Add(time.Minute)) {
			t.Errorf("not written after a minute: %v", last().Sub(begin))
		}
		s.want(shop, "A", "value")
	})
}

func TestRunWritesWhatIsLeftWhenItEnds(t *testing.T) {
	s := newScene(t, openDB(t, sqldbtest.SQLite(t)), newRing(t))
	s.seal(shop, "A", "value")
	s.want(shop, "A", "value")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.store.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if e, err := s.store.Find(t.Context(), shop, "A"); err != nil || !e.LastUsedAt.Equal(s.clock()) {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestDerivedKeysDifferByLabelAndStay(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		seen := map[string]bool{}
		for _, label := range []string{"", "a", "b", "ab", "cookie", "audit"} {
			key := s.store.Derive(label)
			if len(key) != 32 || seen[string(key)] || !bytes.Equal(key, s.store.Derive(label)) {
				t.Fatalf("key of %q", label)
			}
			seen[string(key)] = true
		}
		before := s.store.Derive("cookie")
		s.rotate()
		if !bytes.Equal(before, s.store.Derive("cookie")) || !bytes.Equal(before, s.open(s.ring).Derive("cookie")) {
			t.Error("rotation changed a derived key")
		}
	})
}

func TestBoxOpensOnlyWhatItSealed(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		box := s.store.Box("state")
		sealed := box.Seal("session 1", []byte("plain"))
		if got, err := s.open(s.ring).Box("state").Open("session 1", sealed); err != nil || string(got) != "plain" {
			t.Fatalf("%q, %v", got, err)
		}
		if bytes.Equal(sealed, box.Seal("session 1", []byte("plain"))) {
			t.Error("two boxes are equal")
		}
		if got, err := box.Open("", box.Seal("", nil)); err != nil || len(got) != 0 {
			t.Errorf("empty box: %q, %v", got, err)
		}
		refused := func(what string, box *secret.Box, aad string, sealed []byte) {
			t.Helper()
			if got, err := box.Open(aad, sealed); !errors.Is(err, secret.ErrBox) {
				t.Errorf("%s: %q, %v", what, got, err)
			}
		}
		refused("another label", s.store.Box("other"), "session 1", sealed)
		refused("another aad", box, "session 2", sealed)
		for i := range sealed {
			refused(fmt.Sprint("cut at ", i), box, "session 1", sealed[:i])
			flipped := bytes.Clone(sealed)
			flipped[i] ^= 1 << (i % 8)
			refused(fmt.Sprint("flipped at ", i), box, "session 1", flipped)
		}
	})
}
