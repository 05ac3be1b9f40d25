package service

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"svc.dev/svc/internal/bundle"
	"svc.dev/svc/service/database"
	"svc.dev/svc/ts"
)

// openWork opens the operator's project, and tells the other nodes which it is.
func (n *node) openWork(ctx context.Context, id string) error {
	if err := n.openProject(ctx); err != nil {
		return err
	}
	if !n.db.Shared() {
		return nil
	}
	return database.TellBundle(ctx, n.db, database.Bundle{Node: id, Hash: n.bundle()})
}

// bundle is the hash of the project that runs; empty: there is none.
func (n *node) bundle() string {
	if n.project == nil {
		return ""
	}
	return n.project.Hash()
}

// openProject runs the operator's project in the runtime: its modules stand in every workspace, behind the same guard as the rest.
func (n *node) openProject(ctx context.Context) error {
	if n.config.Project == "" {
		return nil
	}
	p, err := ts.Load(ctx, n.rt, n.config.Project, ts.Config{
		Env: projectEnv(n.config.ProjectEnv), API: n.engineConfig().API(), Around: n.engineConfig().Around, Log: n.log,
		Admit: func(ctx context.Context, scope string) error { return unanswered(n.gauge.Admit(ctx, scope)) },
	})
	if err != nil {
		return fmt.Errorf("project.path: %w", err)
	}
	n.project = p
	n.log.Info("project runs", "path", n.config.Project, "bundle", p.Hash())
	n.agents.KnowProject(func(name string) bool { return p.Declares(string(bundle.Agents), name) })
	for _, a := range n.rt.ListAgents() {
		if n.agents.IsBuiltIn(a.Name) {
			return fmt.Errorf("project.path: agents/%s: an agent of that name is built in: choose another", a.Name)
		}
	}
	return nil
}

// drain waits for what requests of the project have left behind their answers, until the deadline.
func (n *node) drain(deadline time.Time) {
	if n.project == nil {
		return
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	n.project.Drain(ctx)
}

// projectEnv is what the project sees of the environment. A variable that is not set is not there.
func projectEnv(names string) map[string]string {
	env := map[string]string{}
	for name := range strings.SplitSeq(names, ",") {
		if value, set := os.LookupEnv(name); set && name != "" {
			env[name] = value
		}
	}
	return env
}

// engineStats is what the project's engines do.
func (s *server) engineStats() (serving, working ts.Stats) {
	if n := s.node.Load(); n != nil && n.project != nil {
		return n.project.Stats()
	}
	return serving, working
}

// Initialized is a folder that was made a project.
type Initialized struct {
	Folder string   `json:"folder"`
	Files  []string `json:"files"` // that were written
}

// InitProject makes a folder a project in TypeScript. What is there stays, but for the types of our own package, which are renewed.
func InitProject(folder string) (Initialized, error) {
	files, err := ts.Init(folder)
	return Initialized{Folder: folder, Files: files}, err
}
