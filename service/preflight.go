package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/toolbox"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/ts"
)

// Obstacle is unfinished work that would not go on by this binary, and why.
type Obstacle struct {
	Kind   string `json:"kind"` // run or conversation
	Scope  string `json:"scope"`
	Name   string `json:"name"` // of the workflow or agent
	ID     string `json:"id"`
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// Rehearsal is what a preflight found.
type Rehearsal struct {
	Runs          int        `json:"runs"` // that are unfinished
	Conversations int        `json:"conversations"`
	Obstacles     []Obstacle `json:"obstacles"`
}

// Preflight rehearses all unfinished runs and conversations of a database with the definitions of this binary and of the project that
// the configuration names, and says which would not go on. It reads the database, and writes nothing.
func Preflight(ctx context.Context, c config.Config, log *slog.Logger) (found Rehearsal, err error) {
	c = c.WithDefaults()
	if err := mustExist(c); err != nil {
		return found, err
	}
	db, done, err := openToLook(ctx, c, log)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, done()) }()
	behind, err := mustBeKnown(ctx, db)
	if err != nil {
		return found, err
	}
	if found, err = rehearseAll(ctx, c, db, log); err != nil && behind {
		err = fmt.Errorf("%w: the tables are behind this binary, which may be why: rehearse on a copy that svc migrate has brought forward", err)
	}
	return found, err
}

func rehearseAll(ctx context.Context, c config.Config, db *sqldb.DB, log *slog.Logger) (found Rehearsal, err error) {
	store := sqlstore.NewReader(db, sqlstore.Config{Log: log})
	rt, closeProject, err := rehearsing(ctx, c, db, store, log)
	if err != nil {
		return found, err
	}
	defer closeProject()
	found.Obstacles = []Obstacle{}
	for l, err := range store.Unfinished(ctx) {
		if err != nil {
			return found, err
		}
		found.add(l, rt.Rehearse(ctx, l))
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
	}
	return found, nil
}

// openToLook opens a database to be read. A file of SQLite belongs to one process, so its folder is held meanwhile.
func openToLook(ctx context.Context, c config.Config, log *slog.Logger) (_ *sqldb.DB, done func() error, err error) {
	var folder *sqldb.Folder
	done = func() error { return nil }
	if !database.IsPostgres(c.Database) {
		if folder, err = database.HoldFolder(c.DataDir); err != nil {
			return nil, nil, err
		}
		done = folder.Close
	}
	where := c.DatabaseConfig()
	where.ReadOnly = true
	db, err := database.Open(ctx, where, folder, log)
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	release := done
	return db, func() error { return errors.Join(db.Close(), release()) }, nil
}

// mustBeKnown refuses a database that a newer binary has written, and reports whether it is behind.
func mustBeKnown(ctx context.Context, db *sqldb.DB) (behind bool, err error) {
	all, err := database.Versions(ctx, db)
	for _, v := range all {
		if newer, ok := errors.AsType[*sqldb.NewerError](v.Check()); ok {
			return false, newer
		}
		behind = behind || v.Database < v.Binary
	}
	return behind, err
}

// rehearsing is a runtime that knows what this binary and the project declare, and does nothing of it.
func rehearsing(ctx context.Context, c config.Config, db *sqldb.DB, store *sqlstore.Store, log *slog.Logger) (_ *svc.Runtime, end func(), err error) {
	someModel := func(context.Context, string) (string, error) { return c.ModelDefault, nil }
	agents, err := agent.New(agent.Config{DB: db, BuiltIn: engine.BuiltIn(), DefaultModel: someModel, Log: log})
	if err != nil {
		return nil, nil, err
	}
	rt, err := svc.New(svc.Config{Store: store, Resolve: orOfFile(agents.Resolve, c), Log: log})
	if err != nil {
		return nil, nil, err
	}
	engine.Declare(rt)
	rt.AddWorkflow(new(toolbox.Box).Digest(someModel))
	if c.Project == "" {
		return rt, func() {}, nil
	}
	p, err := ts.Load(ctx, rt, c.Project, ts.Config{Env: projectEnv(c.ProjectEnv), Serving: 1, Working: 1, Log: log})
	if err != nil {
		return nil, nil, fmt.Errorf("project.path: %w", err)
	}
	return rt, p.Close, nil
}

type resolve = func(ctx context.Context, scope, name, version string) (*svc.Agent, error)

// orOfFile finds what a folder of agents will hold for work that has not begun: a node that starts gives the files their versions.
func orOfFile(find resolve, c config.Config) resolve {
	return func(ctx context.Context, scope, name, version string) (*svc.Agent, error) {
		found, err := find(ctx, scope, name, version)
		if err != nil || found != nil || version != "" || c.AgentsDir == "" {
			return found, err
		}
		if _, err := os.Stat(filepath.Join(c.AgentsDir, filepath.Base(name)+".md")); err != nil {
			return nil, nil
		}
		return &svc.Agent{Name: name, Model: c.ModelDefault}, nil
	}
}

// add counts work, and lists it where it would not go on.
func (r *Rehearsal) add(l svc.Lease, why error) {
	kind := "run"
	if l.Stream.Kind == svc.KindRun {
		r.Runs++
	} else {
		r.Conversations++
		kind = "conversation"
	}
	if why == nil {
		return
	}
	r.Obstacles = append(r.Obstacles, Obstacle{
		Kind: kind, Scope: l.Stream.Scope, Name: l.Stream.Name, ID: l.Stream.ID, Type: fault.From(why).Type, Reason: why.Error(),
	})
}
