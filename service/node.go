package service

import (
	"context"
	"errors"
	"fmt"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/model"
	"svc.dev/svc/service/application"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/offer"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/storage"
	"svc.dev/svc/service/toolbox"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/ts"
)

// node is a runtime and the rooms on their database.
type node struct {
	*house
	failed  <-chan struct{} // closed when the database can no longer be trusted
	store   *sqlstore.Store
	rt      *svc.Runtime
	gauge   *storage.Gauge // of what the runtime admits
	gateway *gateway.Gateway
	setup   string // where the first administrator begins
	tools   *toolbox.Box
	offer   *offer.Offer
	project *ts.Project // of the operator; nil: there is none
	// application is what people see in their browsers; nil: this process faces nobody.
	application *application.Application
}

// open makes the database ready, and the rooms and the runtime on it.
func (s *server) open(ctx context.Context) (_ *node, err error) {
	id, err := s.folder.Node()
	if err != nil {
		return nil, err
	}
	where := s.config.DatabaseConfig()
	where.Address = database.Named(where.Address, s.part.Name, id)
	db, err := database.Open(ctx, where, s.folder, s.log)
	if err != nil {
		return nil, err
	}
	n := &node{failed: db.Failed(), house: &house{
		config: s.config, surfaces: s.surfaces(), log: s.log, redactor: s.redactor, db: db, memory: s.memory, guest: !s.part.Faces,
		asked: s.metrics.asked, swept: s.metrics.swept,
	}}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	if err := db.Migrate(ctx, database.Rooms...); err != nil {
		return nil, err
	}
	if err := n.furnish(ctx); err != nil {
		return nil, err
	}
	if s.part.Faces {
		if err := n.openProjects(); err != nil {
			return nil, err
		}
		if n.setup, err = n.setupLink(ctx); err != nil {
			return nil, err
		}
	}
	if err := n.openAgents(ctx, s.part.Works, n.build); err != nil {
		return nil, err
	}
	if !s.part.Works {
		return n, nil
	}
	if n.store, err = sqlstore.New(ctx, db, n.storeConfig(s.folder)); err != nil {
		return nil, err
	}
	n.keepBlobs = func() func() { return sqlstore.KeepBlobs(n.store) }
	n.wake = func() { sqlstore.Wake(n.store) }
	n.gauge = storage.NewGauge(db, s.config.LimitStorage, n.measure)
	if err := n.openTools(); err != nil {
		return nil, err
	}
	n.rt, err = svc.New(svc.Config{
		Store: n.store, Node: id, Workers: s.config.Workers, StopTimeout: s.config.StopTimeout, Model: n.model, Resolve: n.agents.Resolve, Log: n.log,
		Memory: s.memory, Holder: holder, Redact: n.redactor.JSON,
	})
	if err != nil {
		return nil, err
	}
	engine.Declare(n.rt)
	n.rt.AddWorkflow(n.tools.Digest(n.models.DefaultOf))
	if n.offer, err = n.openOffer(); err != nil {
		return nil, err
	}
	return n, n.openWork(ctx, id)
}

// storeConfig is how the runtime's store keeps what it is given, and for how long.
func (n *node) storeConfig(folder *sqldb.Folder) sqlstore.Config {
	c := n.config
	return sqlstore.Config{
		Folder: folder, IdempotencyAge: c.RetentionIdempotency, RunAge: max(c.RetentionRuns, 0), ConversationAge: max(c.RetentionConversations, 0),
		Swept: n.countStored, Now: n.now, Log: n.log,
	}
}

// holder is on whose share of the memory the streams of a scope draw: all workspaces of an account on one.
func holder(address string) string {
	parsed, err := scope.Parse(address)
	if err != nil {
		return address
	}
	return parsed.Username
}

// model finds the provider of a model for one turn, unless the workspace is so far past its storage that work must end. The
// turn before is recorded whole.
func (n *node) model(ctx context.Context, scope, name string) (model.Provider, error) {
	err := n.gauge.GoOn(ctx, scope)
	if fault.Is(err, fault.StorageQuotaExceeded) {
		return nil, err
	}
	if err != nil && ctx.Err() == nil {
		n.log.Warn("storage is not known, work goes on", "scope", scope, "error", err)
	}
	provider, err := n.models.Find(ctx, scope, name)
	_, told := errors.AsType[*model.Error](err)
	_, refused := errors.AsType[*fault.Error](err)
	if err != nil && !told && !refused {
		return nil, fmt.Errorf("find model: %w: %w", svc.ErrUnavailable, err)
	}
	return provider, err
}

// close closes what was opened, the database last.
func (n *node) close() error {
	var err error
	if n.project != nil {
		n.project.Close()
	}
	if n.store != nil {
		err = n.store.Close()
	}
	if n.mcps != nil {
		n.mcps.Close()
	}
	if n.projects != nil {
		err = errors.Join(err, n.projects.Close())
	}
	return errors.Join(err, n.db.Close())
}
