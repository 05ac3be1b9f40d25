package service

import (
	"context"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/gateway"
)

// rotate begins for staff what an operator's command does.
func (h *house) rotate(ctx context.Context) (gateway.Rotation, error) {
	r, done, err := h.machine().RotateAside(ctx)
	return gateway.Rotation{Done: done, Active: r.Active, Rows: r.Rows, Todo: r.Todo}, err
}

// health is what the operations listener knows, for staff.
func (s *server) health(ctx context.Context) gateway.Health {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	r, build := s.readiness(ctx), ThisBuild()
	h := gateway.Health{
		Ready: r.Ready, State: r.State, Checks: []gateway.HealthCheck{}, StartedAt: iso.Time(s.started),
		Build:    gateway.HealthBuild{Version: build.Version, Revision: build.Revision, Go: build.Go},
		Database: gateway.HealthDatabase{Tables: []gateway.HealthRoom{}},
	}
	for _, c := range r.Checks {
		h.Checks = append(h.Checks, gateway.HealthCheck{Name: c.Name, OK: c.OK, Error: c.Error})
	}
	if n := s.node.Load(); n != nil {
		h.Working, h.Database = n.working(), n.sizes(ctx)
	}
	return h
}

// sizes is how large the database is, and how far its tables were migrated. What cannot be told is left out: a check says
// why.
func (n *node) sizes(ctx context.Context) gateway.HealthDatabase {
	d := gateway.HealthDatabase{Kind: "sqlite", Tables: []gateway.HealthRoom{}}
	if n.db.Shared() {
		d.Kind = "postgres"
	}
	d.Bytes, _ = n.db.Bytes(ctx)
	all, _ := database.Versions(ctx, n.db)
	for _, v := range all {
		d.Tables = append(d.Tables, gateway.HealthRoom{Room: v.Room, Database: v.Database, Binary: v.Binary})
	}
	return d
}
