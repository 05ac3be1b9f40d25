package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/doctor"
	"svc.dev/svc/service/scope"
)

// listen takes the address that others reach this process by.
func (s *server) listen(ctx context.Context) (net.Listener, error) {
	if s.part == config.RuntimeAlone {
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
	for _, s := range new(config.Config).Settings() {
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

// surfaces follow the public address, which a runtime alone only knows from its configuration.
func (s *server) surfaces() config.Surfaces {
	if s.part.Faces {
		return s.config.SurfacesAt(s.front.Addr().String())
	}
	return s.config.Surfaces()
}

// shownAddress is where this process is reached.
func (s *server) shownAddress() string {
	at := s.front.Addr()
	switch {
	case at.Network() == "unix":
		return "unix:" + at.String()
	case s.sealed():
		return "https://" + at.String()
	}
	return "http://" + at.String()
}

// shownPlain is where one is led to that address.
func (s *server) shownPlain() string {
	if s.plain == nil {
		return ""
	}
	return "http://" + s.plain.Addr().String()
}

// labour does the work that is this process's, until ctx ends and it has been left in order.
func (s *server) labour(ctx context.Context, n *node) error {
	if s.part.Works {
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
	all := []func(context.Context) error{func(ctx context.Context) error { return s.reloadOn(ctx, n) }, n.mcps.Run}
	if s.part.Faces {
		all = append(all, n.keep, n.gateway.PassOn)
	} else {
		all = append(all, n.secrets.Run)
	}
	if s.part.Works {
		all = append(all, n.agents.Watch)
	}
	if s.certificates != nil {
		all = append(all, s.certificates.Run)
	}
	if n.projects != nil && database.IsPostgres(s.config.Database) {
		all = append(all, func(ctx context.Context) error {
			return doctor.LeaveMarks(ctx, s.config.FilesDir, database.NodeIn(s.config.DataDir), n.log)
		})
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

// checks are those of a part, and of its project where there is one.
func checksOf(p config.Part, project bool) []readinessCheck {
	all := []readinessCheck{
		{name: "database", ask: func(_ *server, n *node, ctx context.Context) error { return n.db.Ping(ctx) }},
		{name: "migrations", ask: func(_ *server, n *node, ctx context.Context) error { return n.migrated(ctx) }},
	}
	if p.Works {
		all = append(all, readinessCheck{name: "clock", ask: (*server).agreesOnTime, tell: (*node).skew})
	}
	if p.Works && project {
		all = append(all, readinessCheck{
			name: "project", ask: func(_ *server, n *node, _ context.Context) error { return n.project.Ready() },
			tell: func(n *node) string { return database.Bundle{Hash: n.bundle()}.String() },
		})
	}
	all = append(all, readinessCheck{name: "keys", ask: func(_ *server, n *node, ctx context.Context) error { return n.keys.Check(ctx) }})
	name := "workers"
	if !p.Works {
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
	if n.rt.Skew().Abs() > scope.Skew {
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
