package project_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/project"
)

// telling writes warnings down in their transaction, as mails are.
func telling(c project.Config) project.Config {
	c.Warn = func(tx *sqldb.Tx, w project.Warning) (string, error) {
		if w.Scope != shop.Scope {
			return "", fmt.Errorf("warned of %s", w.Scope)
		}
		_, err := tx.Exec("INSERT INTO told SELECT count(*), CAST($1 AS bigint) FROM told", w.Percent)
		return shop.Workspace, err
	}
	return c
}

// eachTelling runs fn on both databases with a node whose warnings are written down.
func eachTelling(t *testing.T, c project.Config, fn func(t *testing.T, s *scene)) {
	t.Helper()
	each(t, telling(c), func(t *testing.T, s *scene) {
		s.exec("CREATE TABLE told (n BIGINT, percent BIGINT)")
		fn(t, s)
	})
}

// told is what the owners were told until now; the audit log must say the same.
func (s *scene) told() string {
	s.t.Helper()
	var mails, events []string
	err := s.db.Read(s.t.Context(), func(tx *sqldb.Tx) (err error) {
		if mails, err = texts(tx, "SELECT CAST(percent AS TEXT) FROM told ORDER BY n"); err != nil {
			return err
		}
		events, err = texts(tx, `SELECT changes FROM audit_events WHERE action = 'storage.warning' AND actor_kind = 'system' AND target_kind = 'workspace'
			AND target_id = $1 AND chain = $2 ORDER BY seq`, shop.Workspace, shop.Scope)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	got := strings.Join(mails, " ")
	if said := strings.NewReplacer(`["threshold_`, "", `"]`, "").Replace(strings.Join(events, " ")); said != got {
		s.t.Errorf("mails %q, events %q", got, said)
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

func (s *scene) watch(news int) {
	s.t.Helper()
	if n, err := s.Watch(s.t.Context()); err != nil || n != news {
		s.t.Errorf("watched %d, %v, want %d", n, err, news)
	}
}

func TestEachThresholdIsToldOnceUntilTheWorkspaceHasFallen(t *testing.T) {
	eachTelling(t, project.Config{Limit: 100}, func(t *testing.T, s *scene) {
		s.create("site")
		told := ""
		for i, step := range []struct {
			bytes int
			news  string
		}{
			{79, ""}, {80, "80"}, {89, ""}, {76, ""}, {80, ""}, {75, ""}, {80, "80"}, {92, "90"}, {100, "100"},
			{96, ""}, {100, ""}, {95, ""}, {100, "100"}, {86, ""}, {90, ""}, {85, ""}, {90, "90"}, {0, ""}, {100, "100"}, {99, ""}, {90, ""}, {80, ""},
		} {
			s.write("site", "f", strings.Repeat("x", step.bytes))
			told = strings.TrimSpace(told + " " + step.news)
			if got := s.told(); got != told {
				t.Fatalf("step %d, %d bytes: told %q, want %q", i, step.bytes, got, told)
			}
		}
		s.watch(0)
		must(t, s.Delete(t.Context(), ada, shop, "site", 0))
		s.create("site")
		s.write("site", "f", strings.Repeat("x", 80))
		if got := s.told(); got != told+" 80" {
			t.Errorf("after a deleted project: %q", got)
		}
		s.agree()
	})
}

// TestNodesThatNoticeTogetherTellOnce passes a threshold by files and by streams on two nodes at once.
func TestNodesThatNoticeTogetherTellOnce(t *testing.T) {
	var streams atomic.Int64
	c := telling(project.Config{Limit: 1000, Measure: func(context.Context, string) (int64, int64, error) { return 0, streams.Load(), nil }})
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		streams.Store(0)
		a := start(t, address, c)
		a.exec("CREATE TABLE told (n BIGINT, percent BIGINT)")
		b := a
		if a.db.Dialect() == sqldb.Postgres {
			shared := c
			shared.Root = a.Root
			b = start(t, address, shared)
		}
		nodes := []*scene{a, b}
		a.create("site")
		a.write("site", "much", strings.Repeat("x", 795))
		at(12, func(i int) error { return nodes[i%2].send(fmt.Sprint("f", i), strings.NewReader("x"), 1) })(t)
		if got := a.told(); got != "80" {
			t.Errorf("by files: %q", got)
		}
		streams.Store(100)
		project.Remeasure(a.Projects)
		project.Remeasure(b.Projects)
		at(12, func(i int) error {
			if i%3 == 0 {
				_, err := nodes[i%2].Watch(t.Context())
				return err
			}
			_, err := nodes[i%2].Storage(t.Context(), shop.Scope)
			return err
		})(t)
		if got := a.told(); got != "80 90" {
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
	eachTelling(t, project.Config{Limit: 100}, func(t *testing.T, s *scene) {
		s.create("site")
		s.write("site", "f", strings.Repeat("x", 50))
		staff := audit.With(t.Context(), audit.Source{Authority: "admin", RequestID: "req_1"})
		told := ""
		for _, step := range []struct {
			limit int64
			news  string
		}{
			{60, "80"}, {50, "100"}, {0, ""}, {50, ""}, {52, ""}, {40, ""}, {math.MaxInt64, ""}, {60, "80"}, {-1, ""}, {10, "100"}, {-1, ""},
		} {
			must(t, s.SetLimit(staff, ada, shop.Scope, step.limit))
			told = strings.TrimSpace(told + " " + step.news)
			if got := s.told(); got != told {
				t.Errorf("limit %d: told %q, want %q", step.limit, got, told)
			}
		}
		if n := s.number("SELECT count(*) FROM audit_events WHERE action = 'storage.warning' AND (chain = '' OR authority <> '' OR request_id <> '')"); n != 0 {
			t.Errorf("%d warnings pass for acts of staff", n)
		}
	})
}

// TestTheGaugeLeavesANoteForWhoWarns fills a workspace by streams alone, where the runtime has no way to its owners.
func TestTheGaugeLeavesANoteForWhoWarns(t *testing.T) {
	var streams atomic.Int64
	measure := func(context.Context, string) (int64, int64, error) { return 0, streams.Load(), nil }
	eachTelling(t, project.Config{Limit: 100, Measure: measure}, func(t *testing.T, s *scene) {
		streams.Store(79)
		admit := func() error { return project.NewGauge(s.db, 100, measure).Admit(t.Context(), shop.Scope) }
		must(t, admit())
		if n := s.number("SELECT count(*) FROM storage_quotas"); n != 0 {
			t.Error("there is a note without news")
		}
		streams.Store(93)
		must(t, admit())
		s.watch(1)
		s.watch(0)
		if got := s.told(); got != "90" {
			t.Errorf("told %q", got)
		}
		streams.Store(200)
		refused(t, admit(), project.StorageQuotaExceeded)
		s.watch(1)
		streams.Store(10)
		project.Remeasure(s.Projects)
		s.watch(1) // it has fallen, and nobody worked there since
		streams.Store(85)
		must(t, admit())
		s.watch(1)
		if got := s.told(); got != "90 100 80" {
			t.Errorf("told %q", got)
		}
	})
}

// TestAnErasedWorkspaceIsToldNothing also has one that is deleted and comes back: it is told then.
func TestAnErasedWorkspaceIsToldNothing(t *testing.T) {
	var gone atomic.Bool
	c := telling(project.Config{Limit: 100})
	warn := c.Warn
	c.Warn = func(tx *sqldb.Tx, w project.Warning) (string, error) {
		if gone.Load() {
			return "", nil
		}
		return warn(tx, w)
	}
	each(t, c, func(t *testing.T, s *scene) {
		s.exec("CREATE TABLE told (n BIGINT, percent BIGINT)")
		gone.Store(true)
		s.create("site")
		s.write("site", "f", strings.Repeat("x", 90))
		s.watch(0)
		gone.Store(false)
		s.watch(1)
		if got := s.told(); got != "90" {
			t.Errorf("told %q", got)
		}
		gone.Store(true)
		s.write("site", "g", strings.Repeat("x", 10))
		must(t, s.Erase(t.Context(), shop))
		s.watch(0)
		if n := s.number("SELECT count(*) FROM storage_quotas"); n != 0 || s.told() != "90" {
			t.Errorf("%d rows, told %q", n, s.told())
		}
	})
}

// TestAWarningThatFailsKeepsNobodyFromWriting makes up for it later.
func TestAWarningThatFailsKeepsNobodyFromWriting(t *testing.T) {
	var fails atomic.Bool
	c := telling(project.Config{Limit: 100})
	warn := c.Warn
	c.Warn = func(tx *sqldb.Tx, w project.Warning) (string, error) {
		id, err := warn(tx, w)
		if fails.Load() {
			err = errors.New("no mail today")
		}
		return id, err
	}
	each(t, c, func(t *testing.T, s *scene) {
		s.exec("CREATE TABLE told (n BIGINT, percent BIGINT)")
		fails.Store(true)
		s.create("site")
		s.write("site", "f", strings.Repeat("x", 80))
		if _, err := s.Watch(t.Context()); err == nil || s.told() != "" {
			t.Errorf("told %q, %v", s.told(), err)
		}
		fails.Store(false)
		s.watch(1)
		if got := s.told(); got != "80" {
			t.Errorf("told %q", got)
		}
	})
}

func TestAdmittedWorkHasABoundedOverdraft(t *testing.T) {
	const mib = 1 << 20
	s := one(t, project.Config{})
	for _, c := range []struct {
		limit, stored int64
		goesOn        bool
	}{
		{1000, 999, true}, {1000, 1000, true}, {1000, 1010, true}, {1000, 1011, false}, {50, 50, true}, {50, 51, false}, {0, 1, false},
		{6400 * mib, 6464 * mib, true}, {6400 * mib, 6464*mib + 1, false}, {1 << 40, 1<<40 + 64*mib, true}, {1 << 40, 1<<40 + 64*mib + 1, false},
		{math.MaxInt64, math.MaxInt64, true},
	} {
		must(t, s.SetLimit(t.Context(), ada, shop.Scope, c.limit))
		gauge := project.NewGauge(s.db, 0, func(context.Context, string) (int64, int64, error) { return 0, c.stored, nil })
		err := gauge.GoOn(t.Context(), shop.Scope)
		if c.goesOn {
			must(t, err)
			continue
		}
		if f := refused(t, err, project.StorageQuotaExceeded); f.Meta["usedBytes"] != c.stored || f.Meta["limitBytes"] != c.limit {
			t.Errorf("%+v: %v", c, f.Meta)
		}
	}
}
