package storage_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/project/projecttest"
	"svc.dev/svc/service/storage"
)

// telling writes warnings down in their transaction, as mails are.
func telling(c projecttest.Config) projecttest.Config {
	c.Warn = func(tx *sqldb.Tx, w storage.Warning) (string, error) {
		if w.Scope != projecttest.Shop.Scope {
			return "", fmt.Errorf("warned of %s", w.Scope)
		}
		_, err := tx.Exec("INSERT INTO told SELECT count(*), CAST($1 AS bigint) FROM told", w.Percent)
		return projecttest.Shop.Workspace, err
	}
	return c
}

// eachTelling runs fn on both databases with a node whose warnings are written down.
func eachTelling(t *testing.T, c projecttest.Config, fn func(t *testing.T, s *projecttest.Scene)) {
	t.Helper()
	projecttest.Each(t, telling(c), func(t *testing.T, s *projecttest.Scene) {
		s.Exec("CREATE TABLE IF NOT EXISTS told (n BIGINT, percent BIGINT)")
		fn(t, s)
	})
}

// heard is what the owners were told until now; the audit log must say the same.
func heard(s *projecttest.Scene) string {
	s.T.Helper()
	var mails, events []string
	err := s.DB.Read(s.T.Context(), func(tx *sqldb.Tx) (err error) {
		if mails, err = texts(tx, "SELECT CAST(percent AS TEXT) FROM told ORDER BY n"); err != nil {
			return err
		}
		events, err = texts(tx, `SELECT changes FROM audit_events WHERE action = 'storage.warning' AND actor_kind = 'system' AND target_kind = 'workspace'
			AND target_id = $1 AND chain = $2 ORDER BY seq`, projecttest.Shop.Workspace, projecttest.Shop.Scope)
		return err
	})
	if err != nil {
		s.T.Fatal(err)
	}
	got := strings.Join(mails, " ")
	if said := strings.NewReplacer(`["threshold_`, "", `"]`, "").Replace(strings.Join(events, " ")); said != got {
		s.T.Errorf("mails %q, events %q", got, said)
	}
	return got
}

func texts(tx *sqldb.Tx, query string, args ...any) (all []string, err error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

func watch(s *projecttest.Scene, news int) {
	s.T.Helper()
	if n, err := s.Quotas.Watch(s.T.Context()); err != nil || n != news {
		s.T.Errorf("watched %d, %v, want %d", n, err, news)
	}
}

func TestEachThresholdIsToldOnceUntilTheWorkspaceHasFallen(t *testing.T) {
	eachTelling(t, projecttest.Config{Limit: 100}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		told := ""
		for i, step := range []struct {
			bytes int
			news  string
		}{
			{79, ""}, {80, "80"}, {89, ""}, {76, ""}, {80, ""}, {75, ""}, {80, "80"}, {92, "90"}, {100, "100"},
			{96, ""}, {100, ""}, {95, ""}, {100, "100"}, {86, ""}, {90, ""}, {85, ""}, {90, "90"}, {0, ""}, {100, "100"}, {99, ""}, {90, ""}, {80, ""},
		} {
			s.Save("site", "f", strings.Repeat("x", step.bytes))
			told = strings.TrimSpace(told + " " + step.news)
			if got := heard(s); got != told {
				t.Fatalf("step %d, %d bytes: told %q, want %q", i, step.bytes, got, told)
			}
		}
		watch(s, 0)
		projecttest.Must(t, s.Delete(t.Context(), projecttest.Ada, projecttest.Shop, "site", 0))
		s.Make("site")
		s.Save("site", "f", strings.Repeat("x", 80))
		if got := heard(s); got != told+" 80" {
			t.Errorf("after a deleted project: %q", got)
		}
		s.Agree()
	})
}

// TestNodesThatNoticeTogetherTellOnce passes a threshold by files and by streams on two nodes at once.
func TestNodesThatNoticeTogetherTellOnce(t *testing.T) {
	var streams atomic.Int64
	c := telling(projecttest.Config{Limit: 1000, Measure: func(context.Context, string) (int64, int64, error) { return 0, streams.Load(), nil }})
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		streams.Store(0)
		a := projecttest.Start(t, address, c)
		a.Exec("CREATE TABLE IF NOT EXISTS told (n BIGINT, percent BIGINT)")
		b := a
		if a.DB.Dialect() == sqldb.Postgres {
			shared := c
			shared.Root = a.Root
			b = projecttest.Start(t, address, shared)
		}
		nodes := []*projecttest.Scene{a, b}
		a.Make("site")
		a.Save("site", "much", strings.Repeat("x", 795))
		at(12, func(i int) error { return nodes[i%2].Send(fmt.Sprint("f", i), strings.NewReader("x"), 1) })(t)
		if got := heard(a); got != "80" {
			t.Errorf("by files: %q", got)
		}
		streams.Store(100)
		storage.Remeasure(a.Quotas)
		storage.Remeasure(b.Quotas)
		at(12, func(i int) error {
			if i%3 == 0 {
				_, err := nodes[i%2].Quotas.Watch(t.Context())
				return err
			}
			_, err := nodes[i%2].Quotas.Of(t.Context(), projecttest.Shop.Scope)
			return err
		})(t)
		if got := heard(a); got != "80 90" {
			t.Errorf("by streams: %q", got)
		}
	})
}

// at calls fn so many times at once.
func at(n int, fn func(i int) error) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if err := fn(i); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

func TestALimitThatChangesIsHeeded(t *testing.T) {
	eachTelling(t, projecttest.Config{Limit: 100}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		s.Save("site", "f", strings.Repeat("x", 50))
		staff := audit.With(t.Context(), audit.Source{Authority: "admin", RequestID: "req_1"})
		told := ""
		for _, step := range []struct {
			limit int64
			news  string
		}{
			{60, "80"}, {50, "100"}, {0, ""}, {50, ""}, {52, ""}, {40, ""}, {math.MaxInt64, ""}, {60, "80"}, {-1, ""}, {10, "100"}, {-1, ""},
		} {
			projecttest.Must(t, s.Quotas.SetLimit(staff, projecttest.Ada, projecttest.Shop.Scope, step.limit))
			told = strings.TrimSpace(told + " " + step.news)
			if got := heard(s); got != told {
				t.Errorf("limit %d: told %q, want %q", step.limit, got, told)
			}
		}
		if n := s.Number("SELECT count(*) FROM audit_events WHERE action = 'storage.warning' AND (chain = '' OR authority <> '' OR request_id <> '')"); n != 0 {
			t.Errorf("%d warnings pass for acts of staff", n)
		}
	})
}

// TestTheGaugeLeavesANoteForWhoWarns fills a workspace by streams alone, where the runtime has no way to its owners.
func TestTheGaugeLeavesANoteForWhoWarns(t *testing.T) {
	var streams atomic.Int64
	measure := func(context.Context, string) (int64, int64, error) { return 0, streams.Load(), nil }
	eachTelling(t, projecttest.Config{Limit: 100, Measure: measure}, func(t *testing.T, s *projecttest.Scene) {
		streams.Store(79)
		admit := func() error { return storage.NewGauge(s.DB, 100, measure).Admit(t.Context(), projecttest.Shop.Scope) }
		projecttest.Must(t, admit())
		if n := s.Number("SELECT count(*) FROM storage_quotas"); n != 0 {
			t.Error("there is a note without news")
		}
		streams.Store(93)
		projecttest.Must(t, admit())
		watch(s, 1)
		watch(s, 0)
		if got := heard(s); got != "90" {
			t.Errorf("told %q", got)
		}
		streams.Store(200)
		projecttest.Refused(t, admit(), fault.StorageQuotaExceeded)
		watch(s, 1)
		streams.Store(10)
		storage.Remeasure(s.Quotas)
		watch(s, 1) // it has fallen, and nobody worked there since
		streams.Store(85)
		projecttest.Must(t, admit())
		watch(s, 1)
		if got := heard(s); got != "90 100 80" {
			t.Errorf("told %q", got)
		}
	})
}

// TestAnErasedWorkspaceIsToldNothing also has one that is deleted and comes back: it is told then.
func TestAnErasedWorkspaceIsToldNothing(t *testing.T) {
	var gone atomic.Bool
	c := telling(projecttest.Config{Limit: 100})
	warn := c.Warn
	c.Warn = func(tx *sqldb.Tx, w storage.Warning) (string, error) {
		if gone.Load() {
			return "", nil
		}
		return warn(tx, w)
	}
	projecttest.Each(t, c, func(t *testing.T, s *projecttest.Scene) {
		s.Exec("CREATE TABLE IF NOT EXISTS told (n BIGINT, percent BIGINT)")
		gone.Store(true)
		s.Make("site")
		s.Save("site", "f", strings.Repeat("x", 90))
		watch(s, 0)
		gone.Store(false)
		watch(s, 1)
		if got := heard(s); got != "90" {
			t.Errorf("told %q", got)
		}
		gone.Store(true)
		s.Save("site", "g", strings.Repeat("x", 10))
		projecttest.Must(t, s.Erase(t.Context(), projecttest.Shop))
		watch(s, 0)
		if n := s.Number("SELECT count(*) FROM storage_quotas"); n != 0 || heard(s) != "90" {
			t.Errorf("%d rows, told %q", n, heard(s))
		}
	})
}

// TestAWarningThatFailsKeepsNobodyFromWriting makes up for it later.
func TestAWarningThatFailsKeepsNobodyFromWriting(t *testing.T) {
	var fails atomic.Bool
	c := telling(projecttest.Config{Limit: 100})
	warn := c.Warn
	c.Warn = func(tx *sqldb.Tx, w storage.Warning) (string, error) {
		id, err := warn(tx, w)
		if fails.Load() {
			err = errors.New("no mail today")
		}
		return id, err
	}
	projecttest.Each(t, c, func(t *testing.T, s *projecttest.Scene) {
		s.Exec("CREATE TABLE IF NOT EXISTS told (n BIGINT, percent BIGINT)")
		fails.Store(true)
		s.Make("site")
		s.Save("site", "f", strings.Repeat("x", 80))
		if _, err := s.Quotas.Watch(t.Context()); err == nil || heard(s) != "" {
			t.Errorf("told %q, %v", heard(s), err)
		}
		fails.Store(false)
		watch(s, 1)
		if got := heard(s); got != "80" {
			t.Errorf("told %q", got)
		}
	})
}
