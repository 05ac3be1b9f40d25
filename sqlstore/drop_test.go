package sqlstore_test

import (
	"strconv"
	"strings"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/sqlstore"
)

// TestADroppedRunIsFoundByItsName asks the database how it would find the row of a run.
func TestADroppedRunIsFoundByItsName(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := db.Migrate(t.Context(), sqlstore.Migrations); err != nil {
			t.Fatal(err)
		}
		if got := plan(t, db, sqlstore.DropRun, "users/ada/shop", "run_1", 1); !strings.Contains(got, "Index Cond: ((id = 'run_1'::text) AND (scope = 'users/ada/shop'::text))") &&
			!strings.Contains(got, "Index Cond: ((scope = 'users/ada/shop'::text) AND (id = 'run_1'::text))") && !strings.Contains(got, "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (scope=? AND id=?)") {
			t.Errorf("a run is dropped by %s; want its index", got)
		}
		// The proof can fail: by its stream alone a run is found by looking at all.
		if got := plan(t, db, "DELETE FROM runs WHERE stream = $1", 1); !strings.Contains(got, "Seq Scan on runs") && !strings.Contains(got, "SCAN runs") {
			t.Errorf("runs of a stream are dropped by %s; want a scan", got)
		}
	})
}

// plan is how a statement would be carried out on a table that is empty, which tempts PostgreSQL to read it all.
func plan(t *testing.T, db *sqldb.DB, statement string, args ...any) string {
	t.Helper()
	return planned(t, db, false, statement, args...)
}

func planned(t *testing.T, db *sqldb.DB, tempted bool, statement string, args ...any) string {
	t.Helper()
	var lines []string
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		explain, width := "EXPLAIN QUERY PLAN ", 4
		if tx.Dialect() == sqldb.Postgres {
			explain, width = "EXPLAIN ", 1
			if _, err := tx.Exec("SELECT set_config('enable_seqscan', $1, TRUE)", strconv.FormatBool(tempted)); err != nil {
				return err
			}
		}
		rows, err := tx.Query(explain+statement, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			into, line := make([]any, width), ""
			for i := range into {
				into[i] = new(any)
			}
			into[width-1] = &line
			if err := rows.Scan(into...); err != nil {
				return err
			}
			lines = append(lines, line)
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// TestDropTakesTheRunOfItsStreamAlone drops a conversation whose name is that of a run.
func TestDropTakesTheRunOfItsStreamAlone(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		ctx := t.Context()
		_, s := opened(t, address)
		run := svc.Stream{Scope: "a", Kind: svc.KindRun, Name: "w", ID: "run_1"}
		namesake := svc.Stream{Scope: "a", Kind: svc.KindAgent, Name: "w", ID: "run_1"}
		for _, a := range []svc.Admission{
			{Stream: run, Submission: "s1", Kind: svc.Invoked, Run: true}, {Stream: namesake, Submission: "s2", Kind: svc.Direct},
		} {
			if _, err := s.Admit(ctx, a); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			drop svc.Stream
			runs int
		}{{namesake, 1}, {run, 0}} {
			if err := s.Drop(ctx, step.drop); err != nil {
				t.Fatal(err)
			}
			if page, err := s.ListRuns(ctx, svc.RunQuery{Scope: "a", Limit: 10}); err != nil || len(page.Runs) != step.runs {
				t.Errorf("after %v: %+v %v", step.drop, page, err)
			}
		}
	})
}
