package secret_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/secret"
)

var errUndo = errors.New("undo")

// tamper changes rows as somebody would who has the database and no key, asks for each secret of asked, and undoes it all.
func (s *scene) tamper(what string, asked []place, change func(tx *sqldb.Tx) error) {
	s.t.Helper()
	var answers []string
	err := s.db.Write(s.t.Context(), func(tx *sqldb.Tx) error {
		answers = nil
		if err := change(tx); err != nil {
			return err
		}
		for _, p := range asked {
			value, err := s.store.OpenIn(tx, p.owner, p.name)
			answers = append(answers, answer(value, err))
		}
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		s.t.Fatalf("%s: %v", what, err)
	}
	refusals := 0
	for i, a := range answers {
		if a == "unreadable" {
			refusals++
		}
		if a != "unreadable" && a != "not found" {
			s.t.Errorf("%s: %v: %s", what, asked[i], a)
		}
	}
	if refusals == 0 {
		s.t.Errorf("%s: nobody was told that anything is wrong: %v", what, answers)
	}
}

type place struct {
	owner secret.Owner
	name  string
}

func answer(value []byte, err error) string {
	switch {
	case fault.Is(err, secret.Unreadable):
		return "unreadable"
	case errors.Is(err, secret.ErrNotFound):
		return "not found"
	}
	return fmt.Sprintf("opened as %q, %v", value, err)
}

// row is all that is stored of one secret.
type row struct {
	id, updatedBy, kid              string
	version, bytes, created, update int64
	tag, wrapped, nonce, sealed     []byte
}

func (s *scene) row(o secret.Owner, name string) (r row) {
	s.t.Helper()
	err := s.db.Read(s.t.Context(), func(tx *sqldb.Tx) error {
		return tx.QueryRow(`SELECT h.id, h.updated_by, h.version, h.bytes, h.created_at, h.updated_at, h.tag, v.kid, v.wrapped, v.nonce, v.sealed
FROM secrets h JOIN secret_values v ON v.secret = h.id WHERE owner_kind = $1 AND scope = $2 AND name = $3`, o.Kind, o.Scope, name).
			Scan(&r.id, &r.updatedBy, &r.version, &r.bytes, &r.created, &r.update, &r.tag, &r.kid, &r.wrapped, &r.nonce, &r.sealed)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func run(query string, args ...any) func(tx *sqldb.Tx) error {
	return func(tx *sqldb.Tx) error {
		n, err := tx.Exec(query, args...)
		if err == nil && n == 0 {
			err = errors.New("nothing was tampered with")
		}
		return err
	}
}

func all(steps ...func(tx *sqldb.Tx) error) func(tx *sqldb.Tx) error {
	return func(tx *sqldb.Tx) error {
		for _, step := range steps {
			if err := step(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

const (
	setHead  = `UPDATE secrets SET version = $2, bytes = $3, created_at = $4, updated_at = $5, updated_by = $6, tag = $7 WHERE id = $1`
	setValue = `UPDATE secret_values SET version = $2, kid = $3, wrapped = $4, nonce = $5, sealed = $6 WHERE secret = $1`
)

// head puts another secret's row, or an older one, in the place of id's.
func (r row) head(id string) func(tx *sqldb.Tx) error {
	return run(setHead, id, r.version, r.bytes, r.created, r.update, r.updatedBy, r.tag)
}

func (r row) value(id string, version int64) func(tx *sqldb.Tx) error {
	return run(setValue, id, version, r.kid, r.wrapped, r.nonce, r.sealed)
}

func TestRowsCannotBeMoved(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		places := []place{{shop, "A"}, {shop, "B"}, {bakery, "A"}, {eve, "A"}, {us, "A"}}
		rows := make([]row, len(places))
		for i, p := range places {
			s.seal(p.owner, p.name, "the same value")
			rows[i] = s.row(p.owner, p.name)
		}
		cases := 0
		try := func(what string, asked []place, change func(tx *sqldb.Tx) error) {
			cases++
			s.tamper(what, asked, change)
		}
		for i, from := range rows {
			for j, to := range rows {
				if i == j {
					continue
				}
				what := fmt.Sprintf("%v over %v: ", places[i], places[j])
				asked := []place{places[j]}
				try(what+"value", asked, from.value(to.id, 1))
				try(what+"value and head", asked, all(from.head(to.id), from.value(to.id, 1)))
				try(what+"tag", asked, run(`UPDATE secrets SET tag = $2 WHERE id = $1`, to.id, from.tag))
				try(what+"key", asked, run(`UPDATE secret_values SET wrapped = $2 WHERE secret = $1`, to.id, from.wrapped))
				try(what+"ciphertext", asked, run(`UPDATE secret_values SET nonce = $2, sealed = $3 WHERE secret = $1`, to.id, from.nonce, from.sealed))
				both := []place{places[i], places[j]}
				try(what+"values swapped", both, all(
					run(`UPDATE secret_values SET secret = '-' WHERE secret = $1`, to.id),
					run(`UPDATE secret_values SET secret = $2 WHERE secret = $1`, from.id, to.id),
					run(`UPDATE secret_values SET secret = $1 WHERE secret = '-'`, from.id)))
				try(what+"places swapped", both, all(
					run(`UPDATE secrets SET name = '-' WHERE id = $1`, to.id),
					run(moveTo, from.id, places[j].owner.Kind, places[j].owner.Scope, places[j].name),
					run(moveTo, to.id, places[i].owner.Kind, places[i].owner.Scope, places[i].name)))
			}
		}
		for _, to := range []place{{shop, "NEW"}, {bakery, "NEW"}, {eve, "NEW"}, {us, "NEW"}} {
			try(fmt.Sprintf("moved to %v", to), []place{to, places[0]}, run(moveTo, rows[0].id, to.owner.Kind, to.owner.Scope, to.name))
			try(fmt.Sprintf("copied to %v", to), []place{to}, all(
				run(`INSERT INTO secrets SELECT 'copy', $2, $3, $4, version, bytes, created_at, updated_at, updated_by, last_used_at, tag
FROM secrets WHERE id = $1`, rows[0].id, to.owner.Kind, to.owner.Scope, to.name),
				run(`INSERT INTO secret_values SELECT 'copy', version, kid, wrapped, nonce, sealed FROM secret_values WHERE secret = $1`, rows[0].id)))
		}
		for _, p := range places {
			s.want(p.owner, p.name, "the same value")
		}
		t.Logf("%d hostile cases", cases)
	})
}

const moveTo = `UPDATE secrets SET owner_kind = $2, scope = $3, name = $4 WHERE id = $1`

func TestOldVersionCannotComeBack(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.seal(shop, "A", "version 1 value")
		one := s.row(shop, "A")
		s.seal(shop, "A", "version 2 value")
		two := s.row(shop, "A")
		s.seal(shop, "A", "version 3 value")
		now := s.row(shop, "A")
		here := []place{{shop, "A"}}
		version := func(n int64) func(tx *sqldb.Tx) error {
			return run(`UPDATE secrets SET version = $2 WHERE id = $1`, now.id, n)
		}
		for what, change := range map[string]func(tx *sqldb.Tx) error{
			"value 1 as it was":                          one.value(now.id, 1),
			"value 2 as it was":                          two.value(now.id, 2),
			"value 1 under the current number":           one.value(now.id, 3),
			"value 2 under the current number":           two.value(now.id, 3),
			"value 1 and its number":                     all(one.value(now.id, 1), version(1)),
			"value 1, head 2":                            all(one.value(now.id, 1), two.head(now.id)),
			"value 1 as number 2, head 2":                all(one.value(now.id, 2), two.head(now.id)),
			"head 1":                                     one.head(now.id),
			"head 2":                                     two.head(now.id),
			"head 2 under the current number":            all(two.head(now.id), version(3)),
			"both of 1 under the current number":         all(one.value(now.id, 3), one.head(now.id), version(3)),
			"number raised":                              version(4),
			"number raised everywhere":                   all(version(4), now.value(now.id, 4)),
			"number lowered everywhere":                  all(version(2), now.value(now.id, 2)),
			"negative number":                            all(version(-3), now.value(now.id, -3)),
			"value 1, tag of now":                        all(one.head(now.id), one.value(now.id, 1), run(`UPDATE secrets SET tag = $2 WHERE id = $1`, now.id, now.tag)),
			"both of 1 but for who wrote it":             all(one.head(now.id), one.value(now.id, 1), run(`UPDATE secrets SET updated_by = 'acc_02' WHERE id = $1`, now.id)),
			"value gone":                                 run(`DELETE FROM secret_values WHERE secret = $1`, now.id),
			"key of 1 with the ciphertext of now":        run(`UPDATE secret_values SET wrapped = $2 WHERE secret = $1`, now.id, one.wrapped),
			"ciphertext of 1 with the key of now":        run(`UPDATE secret_values SET nonce = $2, sealed = $3 WHERE secret = $1`, now.id, one.nonce, one.sealed),
			"ciphertext of 1 with its key, kid unnamed":  all(one.value(now.id, 3), run(`UPDATE secret_values SET kid = '' WHERE secret = $1`, now.id)),
			"value 1 in a lineage of its own, head kept": all(run(`UPDATE secrets SET id = 'sec_x' WHERE id = $1`, now.id), run(`UPDATE secret_values SET secret = 'sec_x' WHERE secret = $1`, now.id)),
		} {
			s.tamper(what, here, change)
		}
		s.want(shop, "A", "version 3 value")
	})
}

// TestReplacedSecretNeverFitsAnOldValue lowers the number, lets the owner replace the broken secret, and brings back the
// value that once had the number it then gets.
func TestReplacedSecretNeverFitsAnOldValue(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.seal(shop, "A", "version 1 value")
		s.seal(shop, "A", "version 2 value")
		two := s.row(shop, "A")
		s.exec(`UPDATE secrets SET version = 1 WHERE id = $1`, two.id)
		if _, err := s.value(shop, "A"); !fault.Is(err, secret.Unreadable) {
			t.Fatalf("tampered: %v", err)
		}
		if e := s.seal(shop, "A", "replaced"); e.Version != 2 {
			t.Fatalf("replaced as version %d", e.Version)
		}
		s.want(shop, "A", "replaced")
		now := s.row(shop, "A")
		if now.id == two.id {
			t.Error("the lineage goes on after it was tampered with")
		}
		s.tamper("old value of the same number", []place{{shop, "A"}}, two.value(now.id, 2))
		s.tamper("old value and head of the same number", []place{{shop, "A"}}, all(two.head(now.id), two.value(now.id, 2)))
	})
}

func TestEveryFlippedBitIsNoticed(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.seal(shop, "A", "before")
		s.seal(shop, "A", "a value of some length")
		r := s.row(shop, "A")
		here := []place{{shop, "A"}, {secret.Owner{Kind: secret.Business, Scope: "users/eve/shoq"}, "A"}, {shop, "C"}, {shop, "I"}}
		cases := 0
		for column, blob := range map[string][]byte{"tag": r.tag, "wrapped": r.wrapped, "nonce": r.nonce, "sealed": r.sealed} {
			for i := range blob {
				flipped := append([]byte{}, blob...)
				flipped[i] ^= 1 << (i % 8)
				s.tamper(fmt.Sprintf("%s, byte %d", column, i), here[:1], s.set(column, r.id, flipped))
				cases++
			}
			for _, other := range [][]byte{{}, blob[1:], blob[:len(blob)-1], append([]byte{0}, blob...), append(append([]byte{}, blob...), 0), make([]byte, len(blob))} {
				s.tamper(fmt.Sprintf("%s of %d bytes", column, len(other)), here[:1], s.set(column, r.id, other))
				cases++
			}
		}
		for column, number := range map[string]int64{"head version": r.version, "value version": r.version, "bytes": r.bytes, "created_at": r.created, "updated_at": r.update} {
			for bit := range 63 {
				s.tamper(fmt.Sprintf("%s, bit %d", column, bit), here[:1], s.set(column, r.id, number^1<<bit))
				cases++
			}
		}
		for column, text := range map[string]string{"id": r.id, "secret": r.id, "kid": r.kid, "updated_by": r.updatedBy} {
			for i := range text {
				flipped := []byte(text)
				flipped[i] ^= 1
				s.tamper(fmt.Sprintf("%s, byte %d", column, i), here[:1], s.set(column, r.id, string(flipped)))
				cases++
			}
		}
		s.tamper("scope", here, s.set("scope", r.id, "users/eve/shoq"))
		s.tamper("name, bit 1", here, s.set("name", r.id, "C"))
		s.tamper("name, bit 3", here, s.set("name", r.id, "I"))
		s.want(shop, "A", "a value of some length")
		t.Logf("%d hostile cases", cases+3)
	})
}

// set changes one column of one secret.
func (s *scene) set(column, id string, to any) func(tx *sqldb.Tx) error {
	switch column {
	case "head version":
		return run(`UPDATE secrets SET version = $2 WHERE id = $1`, id, to)
	case "value version":
		return run(`UPDATE secret_values SET version = $2 WHERE secret = $1`, id, to)
	case "wrapped", "nonce", "sealed", "kid", "secret":
		return run(`UPDATE secret_values SET `+column+` = $2 WHERE secret = $1`, id, to)
	}
	return run(`UPDATE secrets SET `+column+` = $2 WHERE id = $1`, id, to)
}

func TestUnreadableIsAnAlarmAndNoValue(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.seal(shop, "A", "plain-value-of-A")
		s.exec(`UPDATE secret_values SET sealed = $1`, []byte("x"))
		called := false
		err := s.store.With(t.Context(), shop, "A", func([]byte) error { called = true; return nil })
		if called || !fault.Is(err, secret.Unreadable) {
			t.Fatalf("called %v, %v", called, err)
		}
		if strings.Count(s.log.String(), "level=ERROR") != 1 || strings.Contains(s.log.String()+err.Error(), "plain-value") {
			t.Errorf("log: %s", s.log)
		}
		s.seal(shop, "A", "replaced")
		s.want(shop, "A", "replaced")
	})
}

// TestStolenDatabaseHoldsNoValue looks for the value in every column of every row.
func TestStolenDatabaseHoldsNoValue(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		value := "correct horse battery staple"
		s.seal(shop, "A", value)
		r := s.row(shop, "A")
		if text := fmt.Sprintf("%s %q %q %q %q", r.id, r.tag, r.wrapped, r.nonce, r.sealed); strings.Contains(text, "horse") {
			t.Error("the value stands in the database")
		}
		s.seal(shop, "B", value)
		if b := s.row(shop, "B"); string(b.sealed) == string(r.sealed) || string(b.nonce) == string(r.nonce) {
			t.Error("two secrets of one value look alike")
		}
	})
}
