package project_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/project"
)

var (
	shop   = project.Owner{Workspace: "wsp_01SHOP", Scope: "users/ada/shop"}
	bakery = project.Owner{Workspace: "wsp_01BAKERY", Scope: "users/bo/bakery"}
	ada    = audit.Actor{Kind: audit.Account, ID: "acc_01ADA", Username: "ada"}
	quiet  = slog.New(slog.NewTextHandler(io.Discard, nil))
)

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// scene is one node.
type scene struct {
	*project.Projects
	t     testing.TB
	db    *sqldb.DB
	log   *audit.Log
	clock *clock
}

func openDB(ctx context.Context, address string) (*sqldb.DB, *audit.Log, error) {
	db, err := sqldb.Open(ctx, address, sqldb.Options{Synchronous: "NORMAL", Log: quiet})
	if err != nil {
		return nil, nil, err
	}
	if err := db.Migrate(ctx, audit.Migrations, project.Migrations); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	log, err := audit.Open(ctx, db, audit.Config{Key: make([]byte, 32), Seed: make([]byte, 32), Log: quiet})
	return db, log, err
}

// start is a node on a database; the config lacks only what every test needs.
func start(t testing.TB, address string, c project.Config) *scene {
	t.Helper()
	s := &scene{t: t, clock: &clock{now: time.UnixMilli(1_782_907_500_000)}}
	var err error
	if s.db, s.log, err = openDB(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close() })
	if c.Root == "" {
		c.Root = filepath.Join(t.TempDir(), "root-sandbox")
	}
	if c.Now == nil {
		c.Now = s.clock.Now
	}
	c.DB, c.Audit, c.Log = s.db, s.log, quiet
	if s.Projects, err = project.New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// each runs fn on both databases.
func each(t *testing.T, c project.Config, fn func(t *testing.T, s *scene)) {
	t.Helper()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) { fn(t, start(t, address, c)) })
}

// one runs fn on SQLite, for what does not depend on the database.
func one(t *testing.T, c project.Config) *scene {
	t.Helper()
	return start(t, sqldbtest.SQLite(t), c)
}

func (s *scene) create(slug string) project.Project {
	s.t.Helper()
	made, err := s.Create(s.t.Context(), ada, shop, project.Draft{Slug: slug})
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

func (s *scene) write(slug, path, text string) project.File {
	s.t.Helper()
	f, _, err := s.put(slug, path, text, project.Condition{})
	if err != nil {
		s.t.Fatalf("write %.80q: %v", path, err)
	}
	return f
}

func (s *scene) put(slug, path, text string, when project.Condition) (project.File, bool, error) {
	return s.Write(s.t.Context(), ada, shop, slug, path, project.Upload{Body: strings.NewReader(text), Size: int64(len(text)), Condition: when})
}

// content is the text of a file, or the type of the fault.
func (s *scene) content(slug, path string) string {
	s.t.Helper()
	c, err := s.Open(s.t.Context(), shop, slug, path)
	if err != nil {
		return fault.From(err).Type
	}
	defer c.Close()
	text, err := io.ReadAll(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *scene) storage() project.Storage {
	s.t.Helper()
	storage, err := s.Storage(s.t.Context(), shop.Scope)
	if err != nil {
		s.t.Fatal(err)
	}
	return storage
}

// agree fails where disk, index and sums differ, or something temporary is left.
func (s *scene) agree() {
	s.t.Helper()
	if s.clock != nil {
		s.clock.Advance(2 * time.Minute) // nothing is fresh any more
	}
	d, err := s.Recount(s.t.Context(), shop.Scope)
	if err != nil || !d.None() {
		s.t.Errorf("drift %+v, %v", d, err)
	}
	for _, path := range s.disk() {
		if strings.Contains(path, ".svc-tmp-") {
			s.t.Errorf("left behind: %s", path)
		}
	}
}

// disk is every file below the root, by its path there.
func (s *scene) disk() (all []string) {
	s.t.Helper()
	err := filepath.WalkDir(s.Root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(s.Root, path)
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// folder is where a project's files lie.
func (s *scene) folder(slug string) string { return filepath.Join(s.Root, "ada/shop/projects", slug) }

func refused(t testing.TB, err error, typ string) *fault.Error {
	t.Helper()
	if !fault.Is(err, typ) {
		t.Fatalf("got %v, want %s", err, typ)
	}
	f := fault.From(err)
	for _, secret := range []string{os.TempDir(), "root-sandbox", "ghs_"} {
		if strings.Contains(f.Message+f.Details, secret) {
			t.Errorf("the fault tells %q: %v", secret, f)
		}
	}
	return f
}

func (s *scene) number(query string, args ...any) (n int64) {
	s.t.Helper()
	err := s.db.Read(s.t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow(query, args...).Scan(&n) })
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *scene) exec(query string, args ...any) {
	s.t.Helper()
	err := s.db.Write(s.t.Context(), func(tx *sqldb.Tx) error { _, err := tx.Exec(query, args...); return err })
	if err != nil {
		s.t.Fatal(err)
	}
}
