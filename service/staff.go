package service

import (
	"context"

	"svc.dev/svc/internal/build"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/sqlstore"
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
	r, b := s.readiness(ctx), build.This()
	h := operation.Health{
		Ready: r.Ready, State: r.State, Checks: []operation.HealthCheck{}, StartedAt: iso.At(s.started),
		Node: r.Node, Nodes: []operation.HealthNode{},
		Build:    operation.HealthBuild{Version: b.Version, Revision: b.Revision, Go: b.Go},
		Database: operation.HealthDatabase{Tables: []operation.HealthRoom{}},
	}
	for _, c := range r.Checks {
		h.Checks = append(h.Checks, operation.HealthCheck{Name: c.Name, OK: c.OK, Detail: c.Detail, Error: c.Error})
	}
	if n := s.node.Load(); n != nil {
		h.Working, h.Streams, h.Database = n.working(), n.streams(), n.sizes(ctx)
		h.Nodes, h.Queue = s.load(ctx, n)
		s.tellBundles(ctx, n, &h)
		if n.rt != nil {
			h.ClockAheadMs = n.rt.Skew().Milliseconds()
		}
	}
	return h
}

// load is who works, and what waits. What cannot be told is left out: a check says why.
func (s *server) load(ctx context.Context, n *node) ([]operation.HealthNode, *operation.HealthQueue) {
	load, err := sqlstore.Look(ctx, n.db)
	if err != nil {
		return []operation.HealthNode{}, nil
	}
	all := []database.Presence{{Part: s.part.Name, Node: database.NodeIn(s.config.DataDir)}}
	if n.db.Shared() {
		if found, err := sqldb.Read(ctx, n.db, database.Present); err == nil && len(found) > 0 {
			all = found
		}
	}
	nodes := make([]operation.HealthNode, 0, len(all))
	for _, p := range all {
		nodes = append(nodes, operation.HealthNode{Node: database.PublicNode(p.Node), Part: p.Part, Working: load.Held[p.Node]})
	}
	return nodes, &operation.HealthQueue{Waiting: load.Waiting, OldestMs: load.Oldest.Milliseconds()}
}

// tellBundles says which project runs where. That nodes run different ones is no reason to refuse requests, and one to look at: where a run
// goes on it finds other code.
func (s *server) tellBundles(ctx context.Context, n *node, h *operation.Health) {
	all := []database.Bundle{{Node: database.NodeIn(s.config.DataDir), Hash: n.bundle()}}
	if n.db.Shared() {
		all, _ = sqldb.Read(ctx, n.db, database.Bundles) // what cannot be told is left out
	}
	for _, b := range all {
		for i, node := range h.Nodes {
			if node.Node == database.PublicNode(b.Node) {
				h.Nodes[i].Project = b.Hash
			}
		}
	}
	if apart := database.Apart(all); apart != "" {
		h.Checks = append(h.Checks, operation.HealthCheck{Name: "bundles", Error: "nodes run different projects: " + apart})
	}
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
