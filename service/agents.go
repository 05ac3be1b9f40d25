package service

import (
	"context"

	"svc.dev/svc"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/models"
)

// openAgents opens the agents that people write. The runtime reads the folder of files; who faces people writes to the database.
func (h *house) openAgents(ctx context.Context, works bool, build func(context.Context, string, agent.Definition) ([]svc.Tool, error)) (err error) {
	c := agent.Config{
		DB: h.db, Audit: h.audit, BuiltIn: engine.BuiltIn(), Models: h.hasModel, Tools: h.toolNames, MCPs: h.mcps.Names, Projects: h.projectNames, Build: build, ByKey: byKey, Log: h.log,
		DefaultModel: h.models.DefaultOf,
	}
	if works {
		c.Folder = h.config.AgentsDir
	}
	if h.quotas != nil {
		c.Admit = h.quotas.Admit
	}
	if h.agents, err = agent.New(c); err != nil {
		return err
	}
	return h.agents.Load(ctx)
}

// hasModel refuses the name of a model that there is no provider of.
func (h *house) hasModel(_ context.Context, _, name string) error { return models.CheckName(name) }

// projectNames are the projects of a workspace by their slugs.
func (h *house) projectNames(ctx context.Context, scope string) ([]string, error) {
	if h.projects == nil {
		return nil, nil
	}
	return h.projects.Slugs(ctx, scope)
}
