// Package projecttest is a node that stores what workspaces have, for tests of the rooms that do.
package projecttest

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
	"svc.dev/svc/service/storage"
)

// Two workspaces, and the owner of the first.
var (
	Shop   = project.Owner{Workspace: "wsp_01SHOP", Scope: "users/ada/shop"}
	Bakery = project.Owner{Workspace: "wsp_01BAKERY", Scope: "users/bo/bakery"}
	Ada    = audit.Actor{Kind: audit.Account, ID: "acc_01ADA", Username: "ada"}
)

// Clock is a time that tests move.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock stands at a time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the time on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Config is what of the rooms a test wants otherwise.
type Config struct {
	Limit   int64
	Measure storage.Measure
	Warn    func(tx *sqldb.Tx, w storage.Warning) (string, error)

	Root     string
	MaxFile  int64
	MaxFiles int64
	Removed  func(tx *sqldb.Tx, workspace, slug string) error
	Patience time.Duration
	Now      func() time.Time
}

// Scene is one node.
type Scene struct {
	*project.Projects
	T     testing.TB
	Clock *Clock // nil: the node has the clock of its config
}

// Open makes a node on a database, which is closed by whoever opens it.
func Open(ctx context.Context, address string, c Config) (*Scene, error) {
	quiet := slog.New(slog.DiscardHandler)
	db, err := sqldb.Open(ctx, address, sqldb.Options{Synchronous: "NORMAL", Log: quiet, Timeout: time.Minute})
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, audit.Migrations, project.Migrations); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	log, err := audit.Open(ctx, db, audit.Config{Key: make([]byte, 32), Seed: make([]byte, 32), Log: quiet})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	quotas, err := storage.New(storage.Config{DB: db, Audit: log, Limit: c.Limit, Measure: c.Measure, Warn: c.Warn, Now: c.Now, Log: quiet})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	projects, err := project.New(project.Config{
		DB: db, Audit: log, Quotas: quotas, Root: c.Root, MaxFile: c.MaxFile, MaxFiles: c.MaxFiles, Removed: c.Removed, Patience: c.Patience, Now: c.Now, Log: quiet,
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Scene{Projects: projects}, nil
}

// Start is a node on a database for the time of a test.
func Start(t testing.TB, address string, c Config) *Scene {
	t.Helper()
	clock := NewClock(time.UnixMilli(1_782_907_500_000))
	if c.Root == "" {
		c.Root = filepath.Join(t.TempDir(), "root-sandbox")
	}
	if c.Now == nil {
		c.Now = clock.Now
	}
	s, err := Open(t.Context(), address, c)
	if err != nil {
		t.Fatalf("open the node: %v", err)
	}
	s.T, s.Clock = t, clock
	t.Cleanup(func() { s.Close(); s.DB.Close() })
	return s
}

// Each runs fn on both databases.
func Each(t *testing.T, c Config, fn func(t *testing.T, s *Scene)) {
	t.Helper()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) { fn(t, Start(t, address, c)) })
}

// One is a node on SQLite, for what does not depend on the database.
func One(t *testing.T, c Config) *Scene {
	t.Helper()
	return Start(t, sqldbtest.SQLite(t), c)
}

// Make makes a project.
func (s *Scene) Make(slug string) project.Project {
	s.T.Helper()
	made, err := s.Create(s.T.Context(), Ada, Shop, project.Draft{Slug: slug})
	if err != nil {
		s.T.Fatalf("make %s: %v", slug, err)
	}
	return made
}

// Save writes a file.
func (s *Scene) Save(slug, path, text string) project.File {
	s.T.Helper()
	f, _, err := s.Put(slug, path, text, project.Condition{})
	if err != nil {
		s.T.Fatalf("write %.80q: %v", path, err)
	}
	return f
}

// Put tries to write a file.
func (s *Scene) Put(slug, path, text string, when project.Condition) (project.File, bool, error) {
	return s.Write(s.T.Context(), Ada, Shop, slug, path, project.Upload{Body: strings.NewReader(text), Size: int64(len(text)), Condition: when})
}

// Send tries to write a file of the project site.
func (s *Scene) Send(path string, body io.Reader, size int64) error {
	_, _, err := s.Write(s.T.Context(), Ada, Shop, "site", path, project.Upload{Body: body, Size: size})
	return err
}

// Stream is a body whose length nobody knows.
type Stream struct{ io.Reader }

// Content is the text of a file, or the type of the fault.
func (s *Scene) Content(slug, path string) string {
	s.T.Helper()
	c, err := s.Projects.Open(s.T.Context(), Shop, slug, path)
	if err != nil {
		return fault.From(err).Type
	}
	defer c.Close()
	text, err := io.ReadAll(c)
	if err != nil {
		s.T.Fatalf("read %q: %v", path, err)
	}
	return string(text)
}

// Walk goes through all pages of the files of the project site; a folder ends in a slash.
func (s *Scene) Walk(q project.FileQuery) (all []string) {
	s.T.Helper()
	for {
		page, err := s.Files(s.T.Context(), Shop, "site", q)
		if err != nil {
			s.T.Fatalf("list files: %v", err)
		}
		for _, f := range page.Items {
			if f.Kind == project.KindFolder {
				f.Path += "/"
			}
			all = append(all, f.Path)
		}
		if q.Cursor = page.Next; page.Next == "" {
			return all
		}
	}
}

// Stored is what the shop stores.
func (s *Scene) Stored() storage.Storage {
	s.T.Helper()
	is, err := s.Quotas.Of(s.T.Context(), Shop.Scope)
	if err != nil {
		s.T.Fatalf("measure the shop: %v", err)
	}
	return is
}

// Agree fails where disk, index and sums differ, or something temporary is left.
func (s *Scene) Agree() {
	s.T.Helper()
	if s.Clock != nil {
		s.Clock.Advance(2 * time.Minute) // nothing is fresh any more
	}
	d, err := s.Recount(s.T.Context(), Shop.Scope)
	if err != nil || !d.None() {
		s.T.Errorf("drift %+v, %v", d, err)
	}
	for _, path := range s.Disk() {
		if strings.Contains(path, ".svc-tmp-") {
			s.T.Errorf("left behind: %s", path)
		}
	}
}

// Disk is every file below the root, by its path there.
func (s *Scene) Disk() (all []string) {
	s.T.Helper()
	err := filepath.WalkDir(s.Root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(s.Root, path)
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		s.T.Fatalf("look at the disk: %v", err)
	}
	return all
}

// Folder is where a project's files lie.
func (s *Scene) Folder(slug string) string { return filepath.Join(s.Root, "ada/shop/projects", slug) }

// Number is what a query finds.
func (s *Scene) Number(query string, args ...any) (n int64) {
	s.T.Helper()
	err := s.DB.Read(s.T.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow(query, args...).Scan(&n) })
	if err != nil {
		s.T.Fatalf("%s: %v", query, err)
	}
	return n
}

// Exec changes rows behind the back of the rooms.
func (s *Scene) Exec(query string, args ...any) {
	s.T.Helper()
	if err := s.DB.Do(s.T.Context(), query, query, args...); err != nil {
		s.T.Fatal(err)
	}
}

// Refused fails unless an error is a refusal of that type, which tells nothing of our insides.
func Refused(t testing.TB, err error, typ string) *fault.Error {
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

// Must fails where there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("it should have succeeded: %v", err)
	}
}
