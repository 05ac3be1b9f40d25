// Package project is the projects of a workspace: their records and their files.
//
// Files lie on disk, below one folder for each project, and are opened only through an os.Root at that folder. The database
// holds their index. Disk and index cannot change in one transaction, so a change is announced first: a row of
// project_changes says what is about to happen and locks the path, then the disk changes by one rename or one unlink, and
// then the row is deleted in the transaction that changes the index. Whoever finds the row of a process that died can tell
// from the disk whether it had happened, and completes or forgets it. A file is therefore always the old or the new one, and
// the index always comes to say which.
package project

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/storage"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the tables of this room, and those of storage and repository, which were made with it.
var Migrations = sqldb.NewRoom("project", migrations)

// Owner is the workspace that a project belongs to. The caller has authorised the actor for it.
type Owner struct {
	Workspace string // id
	Scope     string // users/<username>/<business>, or admin
}

// Config is what projects need. DB, Audit, Quotas and Root are required.
type Config struct {
	DB     *sqldb.DB
	Audit  *audit.Log
	Quotas *storage.Quotas
	// Root is the folder that holds all files of all projects. Nodes that share a database share it too. It is made when
	// it is not there.
	Root string

	// MaxFile is how many bytes one file may have. Defaults to 1 GiB.
	MaxFile int64
	// MaxFiles is how many files one project may have. Defaults to 100,000.
	MaxFiles int64
	// Removed lets other rooms forget the name of a project in the transaction that frees it. Defaults to nothing.
	Removed func(tx *sqldb.Tx, workspace, slug string) error
	// Patience is how long a change of a file may stay announced before others complete or forget it. Defaults to 10
	// seconds.
	Patience time.Duration
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log hears what no caller can be told. Defaults to slog.Default().
	Log *slog.Logger
	// Step is told where a change stands, for tests that stop it there. Defaults to nobody.
	Step func(stage string)
}

func (c *Config) setDefaults() {
	c.MaxFile, c.MaxFiles, c.Patience = cmp.Or(c.MaxFile, 1<<30), cmp.Or(c.MaxFiles, 100_000), cmp.Or(c.Patience, 10*time.Second)
	if c.Removed == nil {
		c.Removed = func(*sqldb.Tx, string, string) error { return nil }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Step == nil {
		c.Step = func(string) {}
	}
}

// Projects is the projects of a service, safe for concurrent use. Several nodes have one each.
type Projects struct {
	Config
	root    *os.Root
	keeping atomic.Bool // for a backup, what changes take away
}

// New makes the projects of a database whose tables stand. Close ends their hold on the folder.
func New(c Config) (*Projects, error) {
	if c.DB == nil || c.Audit == nil || c.Quotas == nil || c.Root == "" {
		return nil, errors.New("projects need a database, an audit log, quotas and a folder")
	}
	if c.MaxFile < 0 || c.MaxFiles < 0 {
		return nil, errors.New("the limits of projects are not negative")
	}
	c.setDefaults()
	if err := os.MkdirAll(c.Root, 0o700); err != nil {
		return nil, fmt.Errorf("make folder of projects: %w", err)
	}
	root, err := os.OpenRoot(c.Root)
	if err != nil {
		return nil, fmt.Errorf("open folder of projects: %w", err)
	}
	return &Projects{Config: c, root: root}, nil
}

// Limits are how many bytes one file may have, and how many files one project.
func (p *Projects) Limits() (file, files int64) { return p.MaxFile, p.MaxFiles }

// Close lets go of the folder. Nothing may run any more.
func (p *Projects) Close() error { return p.root.Close() }

// event is an act on something of a scope.
func event(by audit.Actor, scope, action, kind, id string) audit.Event {
	return audit.Event{Actor: by, Action: action, Target: audit.Target{Kind: kind, ID: id}, Scope: scope}
}
