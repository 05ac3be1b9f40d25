// Package project is the projects of a workspace: their records, their files, the repositories they follow, and the storage
// that all of it may take.
//
// Files lie on disk, below one folder for each project, and are opened only through an os.Root at that folder. The database
// holds their index. Disk and index cannot change in one transaction, so a change is announced first: a row of
// project_changes says what is about to happen and locks the path, then the disk changes by one rename or one unlink, and
// then the row is deleted in the transaction that changes the index. Whoever finds the row of a process that died can tell
// from the disk whether it had happened, and completes or forgets it. A file is therefore always the old or the new one, and
// the index always comes to say which.
//
// Bytes are reserved before they are written, in the one row that each workspace has, so that writers beside each other
// cannot pass the limit together.
package project

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/audit"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("project", migrations)

// Owner is the workspace that a project belongs to. The caller has authorised the actor for it.
type Owner struct {
	Workspace string // id
	Scope     string // users/<username>/<business>, or admin
}

// Config is what projects need. DB, Audit and Root are required.
type Config struct {
	DB    *sqldb.DB
	Audit *audit.Log
	// Root is the folder that holds all files of all projects. Nodes that share a database share it too. It is made when
	// it is not there.
	Root string

	// Limit is how many bytes a workspace may store that has no limit of its own. Defaults to 10 GiB.
	Limit int64
	// MaxFile is how many bytes one file may have. Defaults to 1 GiB.
	MaxFile int64
	// MaxFiles is how many files one project may have. Defaults to 100,000.
	MaxFiles int64
	// Measure is how many bytes a scope stores elsewhere, in attachments and streams. Defaults to none.
	Measure func(ctx context.Context, scope string) (attachments, streams int64, err error)
	// Memory is what the lists of files take from that a pull holds, and Holder on whose share of it a scope draws. Default to
	// a budget of their own, and to the scope.
	Memory *memory.Budget
	Holder func(scope string) string
	// Removed lets other rooms forget the name of a project in the transaction that frees it. Defaults to nothing.
	Removed func(tx *sqldb.Tx, workspace, slug string) error
	// Warn tells the owners of a workspace that its storage has passed a threshold, in the transaction that remembers it,
	// and returns the id of the workspace; without one there is none, and nothing is remembered. Defaults to nobody: the
	// audit log alone tells, of the scope.
	Warn func(tx *sqldb.Tx, w Warning) (workspace string, err error)

	// Token is a token that reads the repository through an installation, which must be one of the scope's. Defaults to
	// none: no project can follow a repository.
	Token func(ctx context.Context, scope string, installationID int64, owner, name string) (string, error)
	// Connected refuses a scope that has no connection to a provider. Defaults to none: nobody is asked.
	Connected func(ctx context.Context, scope string) error
	// Hosts is where the repositories of a provider lie. Defaults to github at https://github.com.
	Hosts map[string]string
	// Git is the program that fetches, a path or a name on the PATH; without it no project can follow a repository.
	// Defaults to git.
	Git string
	// PullTimeout is how long one pull may take. Defaults to 10 minutes.
	PullTimeout time.Duration

	// Patience is how long a change of a file may stay announced before others complete or forget it. Defaults to 10
	// seconds.
	Patience time.Duration
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log hears what no caller can be told. Defaults to slog.Default().
	Log *slog.Logger
}

const (
	gib = 1 << 30

	defaultLimit    = 10 * gib
	defaultMaxFile  = gib
	defaultMaxFiles = 100_000
	defaultPull     = 10 * time.Minute
	defaultPatience = 10 * time.Second
	defaultSlack    = 32 << 20
)

func (c *Config) setDefaults() {
	if c.Limit == 0 {
		c.Limit = defaultLimit
	}
	if c.MaxFile == 0 {
		c.MaxFile = defaultMaxFile
	}
	if c.MaxFiles == 0 {
		c.MaxFiles = defaultMaxFiles
	}
	if c.Measure == nil {
		c.Measure = func(context.Context, string) (int64, int64, error) { return 0, 0, nil }
	}
	if c.Memory == nil {
		c.Memory = memory.New(0)
	}
	if c.Holder == nil {
		c.Holder = func(scope string) string { return scope }
	}
	if c.Removed == nil {
		c.Removed = func(*sqldb.Tx, string, string) error { return nil }
	}
	if c.Warn == nil {
		c.Warn = func(_ *sqldb.Tx, w Warning) (string, error) { return w.Scope, nil }
	}
	if c.Connected == nil {
		c.Connected = func(context.Context, string) error { return nil }
	}
	if c.Hosts == nil {
		c.Hosts = map[string]string{"github": "https://github.com"}
	}
	if c.Git == "" {
		c.Git = "git"
	}
	if c.PullTimeout == 0 {
		c.PullTimeout = defaultPull
	}
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
}

// Projects is the projects of a service, safe for concurrent use. Several nodes have one each.
type Projects struct {
	Config
	root  *os.Root
	gauge *Gauge

	slack int64              // bytes that git may take besides the content itself
	step  func(stage string) // told by tests where a change stands
}

// New makes the projects of a database whose tables stand. Close ends their hold on the folder.
func New(c Config) (*Projects, error) {
	if c.DB == nil || c.Audit == nil || c.Root == "" {
		return nil, errors.New("projects need a database, an audit log and a folder")
	}
	if c.Limit < 0 || c.MaxFile < 0 || c.MaxFiles < 0 {
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
	gauge := NewGauge(c.DB, c.Limit, c.Measure)
	return &Projects{Config: c, root: root, gauge: gauge, slack: defaultSlack, step: func(string) {}}, nil
}

// Close lets go of the folder. Nothing may run any more.
func (p *Projects) Close() error { return p.root.Close() }

// event is an act on something of a scope. What is done with the authority of the service stands in its chain too.
func event(ctx context.Context, by audit.Actor, scope, action, kind, id string) audit.Event {
	return audit.Event{
		Actor: by, Action: action, Target: audit.Target{Kind: kind, ID: id}, Scope: scope,
		Service: audit.From(ctx).Authority == "admin",
	}
}
