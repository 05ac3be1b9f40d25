// Package service is the product assembled: a configuration becomes a running service. It sees every room and is
// imported by cmd/svc alone.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/sqlstore"
)

// mode is development until the url.* keys exist, whose defaults all lie on *.localhost.
const mode = "development"

// Serving says where a service that has started is found.
type Serving struct {
	Address    string
	Operations string
	Mode       string
	Data       string
	Database   string // without user and password
}

// Serve runs the service until ctx ends, and then stops within the configuration's StopTimeout. It announces where it
// serves once it takes requests. A database that failed ends Serve at once, with an error: nothing can be written any
// more, so there is nothing to wait for.
func Serve(ctx context.Context, c Config, log *slog.Logger, announce func(Serving)) (err error) {
	c = c.withDefaults()
	folder, err := holdFolder(c.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	s := &server{config: c, log: log, metrics: newMetrics(), folder: folder, announce: announce}
	if err := s.bind(ctx); err != nil {
		return err
	}
	return s.run(ctx)
}

// server is one process that serves.
type server struct {
	config   Config
	log      *slog.Logger
	metrics  *metrics
	folder   *sqldb.Folder
	announce func(Serving)

	front, back net.Listener         // the public address, and that of operations
	node        atomic.Pointer[node] // nil while it is loading
}

// bind takes both addresses before anything else is touched, so that a taken one is noticed early.
func (s *server) bind(ctx context.Context) (err error) {
	var l net.ListenConfig
	if s.front, err = l.Listen(ctx, "tcp", s.config.Listen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if s.back, err = l.Listen(ctx, "tcp", s.config.OpsListen); err != nil {
		s.front.Close()
		return fmt.Errorf("ops_listen: %w", err)
	}
	return nil
}

// run answers operators from the first moment to the last, and the public while the node stands.
func (s *server) run(ctx context.Context) error {
	public, operations := s.newHTTP(s.public()), s.newHTTP(s.operations())
	ctx, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	var listeners errgroup.Group
	defer func() { _ = listeners.Wait() }()
	listen := func(srv *http.Server, l net.Listener) {
		listeners.Go(func() error {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				broken(fmt.Errorf("listen on %s: %w", l.Addr(), err))
			}
			return nil
		})
	}
	listen(operations, s.back)
	defer operations.Close()
	defer s.front.Close()
	n, err := s.open(ctx)
	if err != nil && ctx.Err() != nil {
		return cause(ctx)
	}
	if err != nil {
		return err
	}
	s.node.Store(n)
	s.metrics.watchWorking(n.rt.Working)
	listen(public, s.front)
	defer public.Close()
	return s.work(ctx, n, public)
}

// work runs the node until ctx ends. While it stops, the public is still answered, and refused what is new.
func (s *server) work(ctx context.Context, n *node, public *http.Server) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	var workers errgroup.Group
	workers.Go(func() error {
		defer stop()
		return n.rt.Run(working)
	})
	s.announce(s.serving())
	select {
	case <-working.Done():
	case <-n.failed:
		return fmt.Errorf("stopped at once, start again to recover: %w", n.db.Err())
	}
	deadline := time.Now().Add(s.config.StopTimeout)
	s.log.Info("stopping", "working", n.rt.Working(), "timeout", s.config.StopTimeout.String())
	err := errors.Join(cause(ctx), workers.Wait())
	shut(public, deadline)
	err = errors.Join(err, n.close())
	s.log.Info("stopped")
	return err
}

// cause is why ctx ended, unless somebody just asked for it.
func cause(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (s *server) newHTTP(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		// "OPTIONS *" is a request like any other.
		DisableGeneralOptionsHandler: true,
	}
}

// shut lets requests in flight finish, and cuts them off at the deadline.
func shut(srv *http.Server, deadline time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		srv.Close()
	}
}

func (s *server) serving() Serving {
	return Serving{
		Address: "http://" + s.front.Addr().String(), Operations: "http://" + s.back.Addr().String(),
		Mode: mode, Data: s.folder.Path(), Database: shownAddress(s.config.Database),
	}
}

// node is a runtime on its database.
type node struct {
	db     *sqldb.DB
	failed <-chan struct{} // closed when the database can no longer be trusted
	store  *sqlstore.Store
	rt     *svc.Runtime
}

// open makes the database ready and the runtime on it.
func (s *server) open(ctx context.Context) (_ *node, err error) {
	id, err := s.folder.Node()
	if err != nil {
		return nil, err
	}
	n := &node{}
	if n.db, err = openDatabase(ctx, s.config, s.folder, s.log); err != nil {
		return nil, err
	}
	n.failed = n.db.Failed()
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	if err := n.db.Migrate(ctx, rooms...); err != nil {
		return nil, err
	}
	if n.store, err = sqlstore.New(ctx, n.db, sqlstore.Config{Folder: s.folder, Log: s.log}); err != nil {
		return nil, err
	}
	n.rt, err = svc.New(svc.Config{
		Store: n.store, Node: id, Workers: s.config.Workers, StopTimeout: s.config.StopTimeout, Log: s.log,
	})
	return n, err
}

// close closes what was opened, the database last.
func (n *node) close() error {
	var err error
	if n.store != nil {
		err = n.store.Close()
	}
	return errors.Join(err, n.db.Close())
}
