package sqlstore_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// TestALargeInputStandsApart admits inputs of many sizes: each is listed by its head and read whole, rows that are written again
// hold no more than that head, and a dropped stream leaves none.
func TestALargeInputStandsApart(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		ctx := t.Context()
		db, s := opened(t, address)
		a := svc.Stream{Scope: "users/ada/shop", Kind: svc.KindAgent, Name: "central", ID: "chat"}
		var inputs [][]byte
		for i, size := range []int{0, 1, svc.InputHead, svc.InputHead + 1, 1 << 20} {
			inputs = append(inputs, bytes.Repeat([]byte{0, '"', 0xff, byte('a' + i)}, size/4+1)[:size])
			if _, err := s.Admit(ctx, svc.Admission{Stream: a, Submission: string(rune('a' + i)), Kind: svc.Direct, Input: inputs[i]}); err != nil {
				t.Fatal(err)
			}
		}
		list, err := s.Submissions(ctx, a)
		if err != nil || len(list) != len(inputs) {
			t.Fatalf("%d are listed, %v", len(list), err)
		}
		for i, b := range list {
			if b.Bytes != int64(len(inputs[i])) || !bytes.Equal(b.Input, inputs[i][:min(len(inputs[i]), svc.InputHead)]) {
				t.Errorf("input of %d bytes is listed as %d of %d", len(inputs[i]), len(b.Input), b.Bytes)
			}
		}
		o := svc.Owner{Node: "n", Boot: "b", Agents: true}
		claimed, err := s.Claim(ctx, o, 1)
		if err != nil || len(claimed.Leases) != 1 {
			t.Fatalf("claimed %v, %v", claimed, err)
		}
		l := claimed.Leases[0]
		for _, want := range inputs {
			if got, err := s.Input(ctx, l, l.Submission); err != nil || !bytes.Equal(got, want) || l.Submission.Bytes != int64(len(want)) {
				t.Errorf("input of %d bytes is read as %d of %d, %v", len(want), len(got), l.Submission.Bytes, err)
			}
			done, err := s.Append(ctx, l, svc.Commit{Settle: svc.OutcomeCompleted, Release: true})
			if err != nil {
				t.Fatal(err)
			}
			if done.Next != nil {
				l.Submission = *done.Next
			}
		}
		number := func(query string) (n sql.NullInt64) {
			t.Helper()
			if err := db.Read(ctx, func(tx *sqldb.Tx) error { return tx.QueryRow(query).Scan(&n) }); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := number("SELECT max(length(input)) FROM submissions"); n.Int64 != svc.InputHead {
			t.Errorf("a row of a submission has %d bytes of its input, want %d", n.Int64, svc.InputHead)
		}
		if err := s.Drop(ctx, a); err != nil {
			t.Fatal(err)
		}
		if n := number("SELECT count(*) FROM inputs"); n.Int64 != 0 {
			t.Errorf("%d inputs are left", n.Int64)
		}
	})
}

// TestWhatMayBeLargeStandsLast looks at the columns of every table: SQLite finds what stands behind a large value by walking
// over it.
func TestWhatMayBeLargeStandsLast(t *testing.T) {
	db, _ := opened(t, sqldbtest.SQLite(t))
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		rows, err := tx.Query(`SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name, c.cid`)
		if err != nil {
			return err
		}
		defer rows.Close()
		last, met := "", 0
		for rows.Next() {
			var table, column string
			if err := rows.Scan(&table, &column); err != nil {
				return err
			}
			if table == last {
				t.Errorf("%s: %s stands behind what may be large", table, column)
			}
			if slices.Contains([]string{"data", "result"}, column) {
				last, met = table, met+1
			}
		}
		if met < 4 {
			t.Errorf("%d large columns were met", met)
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestConnectionsHoldNoLargeInput admits large inputs side by side, and looks at what is left of them.
func TestConnectionsHoldNoLargeInput(t *testing.T) {
	_, s := opened(t, sqldbtest.Schema(t))
	const streams, size = 8, 4 << 20
	before := sqldbtest.Held()
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			a := svc.Stream{Kind: svc.KindAgent, Name: "central", ID: fmt.Sprint(i)}
			if _, err := s.Admit(t.Context(), svc.Admission{Stream: a, Submission: fmt.Sprint("s", i), Kind: svc.Direct, Input: bytes.Repeat([]byte("x"), size)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if held := sqldbtest.Held() - before; held > size {
		t.Errorf("%d bytes are held of %d that were admitted", held, streams*size)
	}
}
