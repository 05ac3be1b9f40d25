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
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc.dev/svc/internal/front"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/certificate"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/operate"
	"svc.dev/svc/service/redact"
	"svc.dev/svc/service/scope"
)

// lastCommands is how long a command on the admin socket may go on while the service stops.
const lastCommands = 5 * time.Second

// Caller is whoever starts the service.
type Caller struct {
	// Announce is told once where the service is found, when it takes requests. Defaults to nobody.
	Announce func(Serving)
	// Reload asks the service to read its key ring again, and what gateway and runtime show each other. Defaults to never.
	Reload <-chan os.Signal
	// Configure reads the configuration again, at Reload. Defaults to none: tokens stay as they are.
	Configure func() (config.Config, error)
}

// Serving says where a service that has started is found.
type Serving struct {
	Part       string // serve, gateway or runtime
	Address    string // where it listens
	Plain      string // where one is led there who came without TLS; empty: nowhere
	Operations string
	Mode       string
	Platform   string
	Agents     string
	Admin      string
	SetupLink  string // where the first administrator begins; empty: there is one
	Data       string
	Database   string // without user and password
}

// Serve runs the service, or a part of it, until ctx ends, and then stops within the configuration's StopTimeout. A configuration that
// Check refuses is not served, and nothing is made. A database that failed ends Serve at once, with an error: nothing can
// be written any more, so there is nothing to wait for.
func Serve(ctx context.Context, p config.Part, c config.Config, log *slog.Logger, caller Caller) (err error) {
	c = c.WithDefaults()
	if err := p.Check(c); err != nil {
		return err
	}
	folder, err := database.HoldFolder(c.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	warnOfOthers(log, folder.Path())
	if err := backup.Tidy(folder.Path()); err != nil {
		log.Warn("what a backup has left stays", "error", err)
	}
	limitHeap(c)
	s := newServer(p, c, log, folder, caller)
	if err := s.bind(ctx); err != nil {
		return err
	}
	return s.run(ctx)
}

// warnOfOthers says that others may look into a folder. One that they may change was refused.
func warnOfOthers(log *slog.Logger, path string) {
	if stat, err := os.Stat(path); err == nil && stat.Mode().Perm()&0o077 != 0 {
		log.Warn("others can look into the data folder", "mode", fmt.Sprintf("%04o", stat.Mode().Perm()), "mend", "chmod 700 "+path)
	}
}

// server is one process that serves.
type server struct {
	part     config.Part
	config   config.Config
	log      *slog.Logger
	redactor *redact.Redactor // of all that leaves the process
	metrics  *metrics
	memory   *memory.Budget
	folder   *sqldb.Folder
	caller   Caller

	front, back, socket net.Listener // the public address, that of operations, and the admin socket
	plain               net.Listener // where one is led to the public address; nil: it has no TLS
	certificates        *certificate.Certificates
	node                atomic.Pointer[node] // nil while it is loading
	stopping            chan struct{}        // closed when a gateway alone stops
	started             time.Time
	guard               *scope.Guard   // of a runtime alone
	forward             *scope.Forward // of a gateway alone
}

func newServer(p config.Part, c config.Config, log *slog.Logger, folder *sqldb.Folder, caller Caller) *server {
	s := &server{part: p, config: c, metrics: newMetrics(), folder: folder, caller: caller, stopping: make(chan struct{}), started: time.Now()}
	s.log, s.redactor = redacted(log)
	s.memory = memory.New(lent(c.LimitMemory))
	s.metrics.registry.MustRegister(memoryGauges{s.memory}, engineGauges{s.engineStats})
	return s
}

// lent is the part of the memory that callers may hold. The rest is what the collector works with: where what is held comes near
// its limit, it does nothing else.
func lent(limit int64) int64 { return limit / 4 * 3 }

// besideOf is the part of the memory that lies beside the heap: pages of SQLite, and rows of many megabytes on their way.
const besideOf = 8

// limitHeap lets the collector work harder near a limit that was asked for. One that the environment gives is left alone.
func limitHeap(c config.Config) {
	limit := c.LimitMemory
	if limit <= 0 || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(limit - limit/besideOf)
}

// bind takes all addresses before anything else is touched, so that a taken one is noticed early.
func (s *server) bind(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			s.unbind()
		}
	}()
	if err := s.bindPublic(ctx); err != nil {
		return err
	}
	if s.back, err = new(net.ListenConfig).Listen(ctx, "tcp", s.config.OpsListen); err != nil {
		return addressError("ops_listen", s.config.OpsListen, err)
	}
	if !s.part.Faces {
		return nil
	}
	if s.socket, err = listenSocket(ctx, "admin_socket", s.config.AdminSocket); err != nil {
		return fmt.Errorf("admin_socket: %w", err)
	}
	return nil
}

// unbind gives up what was taken.
func (s *server) unbind() {
	for _, l := range []net.Listener{s.front, s.plain, s.back} {
		if l != nil {
			l.Close()
		}
	}
}

// leastConnections are allowed however little memory there is.
const leastConnections = 256

// limits bound the connections that strangers may have, each of so many bytes. Those of a gateway to its runtime come from few addresses.
func (s *server) limits(each int64) front.Limits {
	limits := front.Limits{Write: writeTimeout}
	if s.part.Faces {
		// No more than a quarter of the memory is for connections alone.
		limits.Connections = min(s.config.LimitConnections, max(leastConnections, int(s.memory.Share()/each)))
		limits.PerAddress, limits.Memory = s.config.LimitConnectionsPerAddress, s.memory
		limits.Trusted, limits.Refused = s.config.TrustedProxies, s.metrics.refused.Inc
	}
	return limits
}

// run answers operators from the first moment to the last, and the public while the node stands.
func (s *server) run(ctx context.Context) error {
	ctx, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	var listeners errgroup.Group
	defer func() { _ = listeners.Wait() }()
	listen := func(h http.Handler, l net.Listener) *http.Server {
		srv := s.newHTTP(h)
		listeners.Go(func() error {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				broken(fmt.Errorf("listen on %s: %w", l.Addr(), err))
			}
			return nil
		})
		return srv
	}
	operations := listen(s.operations(), s.back)
	defer operations.Close()
	defer s.front.Close()
	for _, l := range []net.Listener{s.plain, s.socket} {
		if l != nil {
			defer l.Close()
		}
	}
	n, err := s.open(ctx)
	if err != nil && ctx.Err() != nil {
		return cause(ctx)
	}
	if err != nil {
		return err
	}
	s.node.Store(n)
	if s.part.Works {
		s.metrics.watch(streamsWorking, n.rt.Working)
	}
	if !s.part.Faces {
		private := listen(s.private(n), s.front)
		defer private.Close()
		return s.work(ctx, n, private, nil)
	}
	if n.application, err = s.openApplication(facing(n.surfaces)); err != nil {
		return err
	}
	if doubt := n.surfaces.DoubtCookies(s.config.CookieDomain); doubt != "" {
		s.log.Warn("nobody can stay signed in", "reason", doubt)
	}
	door := s.public(n)
	public, socket := listen(door, s.front), listen(identified(operate.NewAdminSocket(n.machine())), s.socket)
	defer public.Close()
	defer socket.Close()
	if s.plain != nil {
		plain := listen(s.leading(n, door), s.plain)
		defer plain.Close()
	}
	return s.work(ctx, n, public, socket)
}

// work runs the node until ctx ends. While it stops, the public is still answered, and refused what is new; then the
// rooms put things in order, and the database is closed last. A runtime alone has no socket.
func (s *server) work(ctx context.Context, n *node, public, socket *http.Server) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	keeping, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	var workers, keepers errgroup.Group
	workers.Go(func() error {
		defer stop()
		return s.labour(working, n)
	})
	keepers.Go(func() error {
		defer stop()
		return s.keep(keeping, n)
	})
	if s.caller.Announce != nil {
		s.caller.Announce(s.serving(n))
	}
	select {
	case <-working.Done():
	case <-n.failed:
		return fmt.Errorf("stopped at once, start again to recover: %w", n.db.Err())
	}
	deadline := time.Now().Add(s.config.StopTimeout)
	s.log.Info("stopping; a second signal stops at once", "working", n.working(), "streams", n.streams(), "timeout", s.config.StopTimeout.String())
	err := errors.Join(cause(ctx), workers.Wait())
	shut(public, deadline)
	n.drain(deadline)
	if socket != nil {
		shut(socket, time.Now().Add(lastCommands))
	}
	rest()
	err = errors.Join(err, keepers.Wait(), n.close())
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

// maxHeader is how long the head of a request may be. What it is taken apart into takes several times as much.
const maxHeader = 64 << 10

// writeTimeout is how long a client may take to accept what it is sent, whatever the answer.
const writeTimeout = 30 * time.Second

func (s *server) newHTTP(h http.Handler) *http.Server {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		// "OPTIONS *" is a request like any other.
		DisableGeneralOptionsHandler: true,
	}
	front.Guard(srv)
	return srv
}

// shut lets requests in flight finish, and cuts them off at the deadline.
func shut(srv *http.Server, deadline time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		srv.Close()
	}
}

func (s *server) serving(n *node) Serving {
	return Serving{
		Part: s.part.Name, Address: s.shownAddress(), Plain: s.shownPlain(), Operations: "http://" + s.back.Addr().String(), Mode: n.surfaces.Mode(),
		Platform: n.surfaces[0].URL.String(), Agents: n.surfaces[1].URL.String(), Admin: n.surfaces[2].URL.String(),
		SetupLink: n.setup, Data: s.folder.Path(), Database: database.Shown(s.config.Database),
	}
}
