package service

import (
	"context"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/gateway"
)

// rotationMoment is how long staff wait to hear that a rotation is done. A longer one goes on without them.
const rotationMoment = 2 * time.Second

// rotateAside begins, for staff, what an operator's command does, and says how far it came in a moment.
func (h *house) rotateAside(ctx context.Context) (gateway.Rotation, error) {
	if !h.keys.TryLock() {
		return gateway.Rotation{}, fault.New("already_running", "The keys are being changed already.", "Look again shortly.")
	}
	type end struct {
		Rotation
		err error
	}
	ended := make(chan end, 1)
	go func() {
		defer h.keys.Unlock()
		// Who asked may go: what is begun is ended.
		r, err := h.rotate(context.WithoutCancel(ctx), Rotate{}, func(Rotation) {})
		if err != nil {
			h.log.Error("rotate keys", "error", err)
		}
		ended <- end{r, err}
	}()
	select {
	case e := <-ended:
		return gateway.Rotation{Done: true, Active: e.Active, Rows: e.Rows, Todo: e.Todo}, e.err
	case <-time.After(rotationMoment):
	}
	rows, err := h.secrets.Rows(ctx)
	return gateway.Rotation{Active: h.secrets.ActiveKid(), Rows: rows}, err
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
	query := "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
	if n.db.Dialect() == sqldb.Postgres {
		d.Kind, query = "postgres", "SELECT pg_database_size(current_database())"
	}
	_ = n.db.Read(ctx, func(tx *sqldb.Tx) error { return tx.QueryRow(query).Scan(&d.Bytes) })
	all, _ := versions(ctx, n.db)
	for _, v := range all {
		d.Tables = append(d.Tables, gateway.HealthRoom{Room: v.Room, Database: v.Database, Binary: v.Binary})
	}
	return d
}
