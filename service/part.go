package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/service/scope"
)

// part is what one process is of the service: all of it, or one of two that share a database.
type part struct {
	name  string
	faces bool // it has accounts, and answers the public
	works bool // it has a runtime
}

// The parts there are.
var (
	whole     = part{name: "serve", faces: true, works: true}
	doorAlone = part{name: "gateway", faces: true}
	workAlone = part{name: "runtime", works: true}
)

// ServeGateway runs the public half of the service: accounts, and the way to a runtime in another process. It works on
// nothing itself. It stops as Serve does.
func ServeGateway(ctx context.Context, c Config, log *slog.Logger, caller Caller) error {
	return doorAlone.serve(ctx, c, log, caller)
}

// ServeRuntime runs the private half: it believes its gateway alone, and knows nobody's account.
func ServeRuntime(ctx context.Context, c Config, log *slog.Logger, caller Caller) error {
	return workAlone.serve(ctx, c, log, caller)
}

// CheckGateway is Check for ServeGateway.
func (c Config) CheckGateway() error { return doorAlone.check(c) }

// CheckRuntime is Check for ServeRuntime.
func (c Config) CheckRuntime() error { return workAlone.check(c) }

func (p part) check(c Config) error {
	c = c.withDefaults()
	if p == whole {
		return c.Check()
	}
	return errors.Join(c.Check(), p.checkDatabase(c), p.checkTokens(c))
}

// checkDatabase refuses a database that two processes cannot have.
func (p part) checkDatabase(c Config) error {
	if isPostgres(c.Database) {
		return nil
	}
	return fmt.Errorf("database: svc %s shares its database with another process, which SQLite cannot: set it to postgres://…, or run svc serve, which is both in one", p.name)
}

// checkTokens refuses a gateway that would not be believed, and a runtime that would believe too much.
func (p part) checkTokens(c Config) error {
	key, value := "runtime.assertion_key", c.AssertionKey.Reveal()
	if p.works {
		key, value = "runtime.assertion_public", c.AssertionPublic
	}
	token, admin := c.RuntimeToken.Reveal(), c.RuntimeAdminToken.Reveal()
	if err := errors.Join(missing("runtime.token", token), missing("runtime.admin_token", admin), missing(key, value)); err != nil {
		return err
	}
	if p.works {
		_, err := c.guard()
		return err
	}
	if len(token) < scope.MinToken || len(admin) < scope.MinToken || token == admin {
		return errors.New("runtime.token, runtime.admin_token: each needs 32 bytes or more, and must be another than the other")
	}
	if _, err := parseSigningKey(value); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// missing refuses a value that was not given.
func missing(key, value string) error {
	switch {
	case value != "":
		return nil
	case key == "runtime.assertion_key" || key == "runtime.assertion_public":
		return fmt.Errorf("%s: it is missing: svc keys assertion makes a pair for gateway and runtime", key)
	}
	return fmt.Errorf("%s: it is missing: give gateway and runtime the same random value of 32 bytes or more", key)
}

// listen takes the address that others reach this process by.
func (s *server) listen(ctx context.Context) (net.Listener, error) {
	if s.part == workAlone {
		return listenPrivate(ctx, s.config.RuntimeListen)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.config.Listen)
	if err != nil {
		return nil, addressError("listen", s.config.Listen, err)
	}
	return l, nil
}

// addressError says why there is no listening at an address, and what to do about it.
func addressError(key, address string, err error) error {
	how := "choose another with " + key
	for _, s := range new(Config).Settings() {
		if s.Key == key {
			how = fmt.Sprintf("choose another address with --%s or %s", s.Flag, s.Env)
		}
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: %s is taken: stop what listens there, or %s", key, address, how)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s: %s is no address of this machine: %s", key, address, how)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: this user may not listen on %s: %s", key, address, how)
	}
	return fmt.Errorf("%s: %w: %s", key, err, how)
}

// port is that of the public address, which a runtime alone only knows from its configuration.
func (s *server) port() string {
	if s.part.faces {
		return portOf(s.front.Addr().String())
	}
	return portOf(s.config.Listen)
}

// shownListener is where a listener is reached.
func shownListener(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return "unix:" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// labour does the work that is this process's, until ctx ends and it has been left in order.
func (s *server) labour(ctx context.Context, n *node) error {
	if s.part.works {
		return n.rt.Run(ctx)
	}
	<-ctx.Done()
	close(s.stopping)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.StopTimeout)
	defer cancel()
	n.gateway.Drain(ctx)
	return nil
}

// keep does what the rooms do by themselves, until ctx ends.
func (s *server) keep(ctx context.Context, n *node) error {
	all := []func(context.Context) error{func(ctx context.Context) error { return s.reloadOn(ctx, n) }}
	if s.part.faces {
		all = append(all, n.keep, n.gateway.PassOn)
	}
	if s.part.faces && isPostgres(s.config.Database) {
		all = append(all, func(ctx context.Context) error { return n.leaveMarks(ctx, s.config.FilesDir, nodeIn(s.config.DataDir)) })
	}
	return together(ctx, all...)
}

// working is how many streams are worked on.
func (n *node) working() int {
	if n.rt == nil {
		return 0
	}
	return n.rt.Working()
}

// streams is how many streams are open to the public.
func (n *node) streams() int {
	if n.gateway == nil {
		return 0
	}
	return n.gateway.Streams()
}

// farewell is how long open streams may take to end.
func (s *server) farewell() time.Duration { return max(1, min(10*time.Second, s.config.StopTimeout/3)) }

// state is loading, serving, draining or failed.
func (s *server) state(n *node) string {
	if n.rt != nil {
		return string(n.rt.State())
	}
	select {
	case <-s.stopping:
		return string(svc.Draining)
	default:
		return string(svc.Serving)
	}
}

// readinessCheck is something that must hold before requests should come here.
type readinessCheck struct {
	name string
	ask  func(*server, *node, context.Context) error
	tell func(*node) string // what is known of it; nil: nothing
}

// checks are those of a part.
func (p part) checks() []readinessCheck {
	all := []readinessCheck{
		{name: "database", ask: func(_ *server, n *node, ctx context.Context) error { return n.db.Ping(ctx) }},
		{name: "migrations", ask: func(_ *server, n *node, ctx context.Context) error { return n.migrated(ctx) }},
	}
	if p.works {
		all = append(all, readinessCheck{name: "clock", ask: (*server).agreesOnTime, tell: (*node).skew})
	}
	if p.faces {
		all = append(all, readinessCheck{name: "keys", ask: func(_ *server, n *node, ctx context.Context) error { return n.keysOpen(ctx) }})
	}
	name := "workers"
	if !p.works {
		all = append(all, readinessCheck{name: "runtime", ask: (*server).reachRuntime})
		name = "gateway"
	}
	return append(all, readinessCheck{name: name, ask: func(s *server, n *node, _ context.Context) error {
		if state := s.state(n); state != string(svc.Serving) {
			return errors.New(state)
		}
		return nil
	}})
}

// agreesOnTime refuses a node whose clock is so far from the database's that other nodes refuse what it signs. Streams do not
// mind: their times are the database's.
func (s *server) agreesOnTime(n *node, _ context.Context) error {
	if n.rt.Skew().Abs() > clockWrong {
		return errors.New("let this machine keep time by NTP: " + n.skew())
	}
	return nil
}

// skew says how far this machine's clock is from the database's.
func (n *node) skew() string {
	apart := n.rt.Skew().Round(time.Millisecond)
	switch {
	case apart > 0:
		return apart.String() + " behind the database"
	case apart < 0:
		return (-apart).String() + " ahead of the database"
	}
	return "as the database's"
}
