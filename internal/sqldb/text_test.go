package sqldb_test

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// unstorable are texts that PostgreSQL does not take.
var unstorable = []string{"\x00", "a\x00b", "\xff", "a\xffb", "ab\xe2\x82", "\xed\xa0\x80", "\xc0\x80", strings.Repeat("x", 1<<16) + "\x00"}

type named string

func TestATextThatCannotBeStoredIsRefusedAlike(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec("CREATE TABLE texts (text TEXT NOT NULL)")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var n int
		count := func(tx *sqldb.Tx) error { return tx.QueryRow("SELECT count(*) FROM texts").Scan(&n) }
		for _, text := range unstorable {
			for how, arg := range map[string]any{"string": text, "named": named(text), "pointer": &text, "null": sql.NullString{String: text, Valid: true}} {
				verbs := map[string]func(*sqldb.Tx) error{
					"exec": func(tx *sqldb.Tx) error { _, err := tx.Exec("INSERT INTO texts (text) VALUES ($1)", arg); return err },
					"query": func(tx *sqldb.Tx) error {
						rows, err := tx.Query("SELECT text FROM texts WHERE text = $1", arg)
						if err == nil {
							err = rows.Close()
						}
						return err
					},
					"row": func(tx *sqldb.Tx) error {
						return tx.QueryRow("SELECT count(*) FROM texts WHERE text = $1", arg).Scan(&n)
					},
					"swallowed": func(tx *sqldb.Tx) error { _, _ = tx.Exec("INSERT INTO texts (text) VALUES ($1)", arg); return nil },
				}
				for verb, do := range verbs {
					if err := db.Write(t.Context(), do); !errors.Is(err, sqldb.ErrText) || sqldb.Unavailable(err) {
						t.Errorf("%s of %s %.20q in a write: %v", verb, how, text, err)
					}
					if verb == "query" || verb == "row" {
						if err := errors.Join(refusedText(db.Read(t.Context(), do)), refusedText(db.Snapshot(t.Context(), do))); err != nil {
							t.Errorf("%s of %s %.20q in a read: %v", verb, how, text, err)
						}
					}
				}
			}
		}
		if err := db.Read(t.Context(), count); err != nil || n != 0 {
			t.Errorf("%d texts were stored, %v", n, err)
		}
		good := []any{"", "é\u20ac😀", "\ufffd", "a\n\t\x01", sql.NullString{String: "\x00"}.String[:0], named("x")}
		for _, arg := range good {
			if err := db.Write(t.Context(), func(tx *sqldb.Tx) error { _, err := tx.Exec("INSERT INTO texts (text) VALUES ($1)", arg); return err }); err != nil {
				t.Errorf("%q: %v", arg, err)
			}
		}
		if err := db.Read(t.Context(), count); err != nil || n != len(good) {
			t.Errorf("%d of %d texts were stored, %v", n, len(good), err)
		}
	})
}

func refusedText(err error) error {
	if errors.Is(err, sqldb.ErrText) && !sqldb.Unavailable(err) {
		return nil
	}
	return errors.Join(err, errors.New("not refused as a text"))
}

// TestARefusedTextLeavesItsConnectionAlone asks many at once, some of them with texts that are refused: nobody else is.
func TestARefusedTextLeavesItsConnectionAlone(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db, err := sqldb.Open(t.Context(), address, sqldb.Options{Readers: 2})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				for j := range 100 {
					text, want := "good", error(nil)
					if (i+j)%2 == 0 {
						text, want = "bad\x00", sqldb.ErrText
					}
					var got string
					err := db.Read(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow("SELECT CAST($1 AS TEXT)", text).Scan(&got) })
					if !errors.Is(err, want) || sqldb.Unavailable(err) || want == nil && got != text {
						t.Errorf("%q: %q, %v", text, got, err)
					}
				}
			})
		}
		all.Wait()
	})
}

func TestTextIsWhatCanBeStoredAndShown(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"curl/8", 256, "curl/8"},
		{"", 256, ""},
		{"a\xffb", 256, "a\ufffdb"},
		{"a\x00b\r\nc\x7fd\u2028e\u202ef", 256, "a b  c d e f"},
		{"ab\xe2\x82", 256, "ab\ufffd\ufffd"},
		{"abc", 2, "ab"},
		{"ab\u20ac", 4, "ab"},
		{"ab\u20ac", 5, "ab\u20ac"},
		{"\u20ac", 2, ""},
		{"a\xff", 2, "a"},
		{"a\xff", 4, "a\ufffd"},
	} {
		if got := sqldb.Text(c.text, c.most); got != c.want {
			t.Errorf("%q of %d is %q, want %q", c.text, c.most, got, c.want)
		}
	}
	for _, text := range unstorable {
		if got := sqldb.Text(text, 64); !sqldb.Storable(got) || len(got) > 64 || !utf8.ValidString(got) {
			t.Errorf("%.20q becomes %.20q", text, got)
		}
	}
}

// TestContainsFindsTheTextAndNothingElse compares the pattern with what it stands for, on both databases.
func TestContainsFindsTheTextAndNothingElse(t *testing.T) {
	texts := []string{"", "a", "%", "_", `\`, `\%`, "a%b", "a_b", "axb", `a\b`, "ab", "%_", "é"}
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		for _, text := range texts {
			for _, part := range texts {
				var found bool
				err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
					return tx.QueryRow(`SELECT CAST($1 AS TEXT) LIKE CAST($2 AS TEXT) ESCAPE '\'`, text, sqldb.Contains(part)).Scan(&found)
				})
				if err != nil || found != strings.Contains(text, part) {
					t.Errorf("%q in %q: %t, %v", part, text, found, err)
				}
			}
		}
	})
}
