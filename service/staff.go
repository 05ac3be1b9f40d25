package service

import (
	"context"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/operation"
)

// rotate begins for staff what an operator's command does.
func (h *house) rotate(ctx context.Context) (operation.Rotation, error) {
	r, done, err := h.machine().RotateAside(ctx)
	status := "rotating"
	if done {
		status = "rotated"
	}
	return operation.Rotation{Status: status, Active: r.Active, Rows: r.Rows, Todo: r.Todo}, err
}

// health is what the operations listener knows, for staff.
func (s *server) health(ctx context.Context) operation.Health {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	r, build := s.readiness(ctx), ThisBuild()
	h := operation.Health{
		Ready: r.Ready, State: r.State, Checks: []operation.HealthCheck{}, StartedAt: iso.At(s.started),
		Build:    operation.HealthBuild{Version: build.Version, Revision: build.Revision, Go: build.Go},
		Database: operation.HealthDatabase{Tables: []operation.HealthRoom{}},
	}
	for _, c := range r.Checks {
		h.Checks = append(h.Checks, operation.HealthCheck{Name: c.Name, OK: c.OK, Error: c.Error})
	}
	if n := s.node.Load(); n != nil {
		h.Working, h.Database = n.working(), n.sizes(ctx)
	}
	return h
}

// sizes is how large the database is, and how far its tables were migrated. What cannot be told is left out: a check says
// why.
func (n *node) sizes(ctx context.Context) operation.HealthDatabase {
	d := operation.HealthDatabase{Kind: "sqlite", Tables: []operation.HealthRoom{}}
	if n.db.Shared() {
		d.Kind = "postgres"
	}
	d.Bytes, _ = n.db.Bytes(ctx)
	all, _ := database.Versions(ctx, n.db)
	for _, v := range all {
		d.Tables = append(d.Tables, operation.HealthRoom{Room: v.Room, Database: v.Database, Binary: v.Binary})
	}
	return d
}
