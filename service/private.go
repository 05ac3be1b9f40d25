package service

import (
	"context"
	"net"
	"net/http"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/scope"
)

// listenPrivate takes the address of a runtime.
func listenPrivate(ctx context.Context, address string) (l net.Listener, err error) {
	if path, found := config.SocketPath(address); found {
		l, err = listenSocket(ctx, "runtime.listen", path)
	} else {
		l, err = new(net.ListenConfig).Listen(ctx, "tcp", address)
	}
	if err != nil {
		return nil, addressError("runtime.listen", address, err)
	}
	return l, nil
}

// engine is the runtime of this process behind a guard.
func (n *node) engine(g *scope.Guard) http.Handler {
	// Work is refused in a workspace that is not there, or is suspended, whatever the gateway says.
	g.Standing = func(ctx context.Context, c scope.Claims) error {
		return unanswered(account.CheckStanding(ctx, n.db, c))
	}
	c := n.engineConfig()
	c.Guard = g
	if n.project != nil {
		c.Project = n.project
	}
	return engine.New(c)
}

func (n *node) engineConfig() engine.Config {
	at := facing(n.surfaces)
	return engine.Config{
		Runtime: n.rt, Agents: n.agents, Dev: n.develops(), Log: n.log, Redact: n.redactor.JSON, MCP: n.offer.Serve, About: engine.About{Agents: at.Agents.String(), Admin: at.Admin.String(), Development: n.develops()},
		MaxBody: n.config.LimitBody, MaxInput: n.config.LimitInput, MaxBuffered: n.config.LimitBuffered,
		Admit: func(ctx context.Context, c scope.Claims) error { return unanswered(n.gauge.Admit(ctx, c.Scope)) },
	}
}

// unanswered is the refusal of a request that the database did not answer: it may come again.
func unanswered(err error) error {
	if !sqldb.Unavailable(err) {
		return err
	}
	return fault.NotAvailable(string(svc.Failed)).Because(err)
}

// private answers a gateway in another process.
func (s *server) private(n *node) http.Handler {
	g, err := s.config.Guard()
	if err != nil {
		// The configuration was checked: what is left is a guard that believes nobody.
		g = &scope.Guard{}
	}
	s.guard = g
	return n.engine(g)
}

// runtime is the runtime as the gateway of this process reaches it.
func (s *server) runtime(n *node) http.Handler {
	if s.part.Works {
		forward, guard := scope.NewPair()
		return forward.Within(n.engine(guard))
	}
	forward, err := s.config.Forward()
	if err != nil {
		return nil // the configuration was checked
	}
	s.forward = forward
	target, dial := s.config.RuntimeTarget()
	return gateway.NewProxy(target, forward, &http.Transport{
		DialContext: dial, MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
	}, n.log)
}

// reachRuntime reports a runtime that nobody listens for.
func (s *server) reachRuntime(_ *node, ctx context.Context) error {
	u, dial := s.config.RuntimeTarget()
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}
