package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/scope"
)

// place is where a gateway finds its runtime.
type place string

func (p *place) String() string { return string(*p) }

func (p *place) Set(s string) error {
	if path, found := strings.CutPrefix(s, unixPrefix); found && path != "" {
		*p = place(s)
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return errors.New("it is not an address like http://127.0.0.1:8081 without a path, or unix:PATH")
	}
	*p = place(strings.TrimSuffix(s, "/"))
	return nil
}

// unixPrefix begins an address that is a socket.
const unixPrefix = "unix:"

// listenPrivate takes the address of a runtime.
func listenPrivate(ctx context.Context, address string) (l net.Listener, err error) {
	if path, found := strings.CutPrefix(address, unixPrefix); found {
		l, err = listenSocket(ctx, "runtime.listen", path)
	} else {
		l, err = new(net.ListenConfig).Listen(ctx, "tcp", address)
	}
	if err != nil {
		return nil, addressError("runtime.listen", address, err)
	}
	return l, nil
}

// guard is what a runtime of its own believes.
func (c Config) guard() (*scope.Guard, error) {
	keys, err := parsePublicKeys(c.AssertionPublic)
	if err != nil {
		return nil, fmt.Errorf("runtime.assertion_public: %w", err)
	}
	g, err := scope.NewGuard(
		given(c.RuntimeToken.Reveal(), c.RuntimeTokenPrevious.Reveal()), given(c.RuntimeAdminToken.Reveal(), c.RuntimeAdminTokenPrevious.Reveal()), keys)
	if err != nil {
		return nil, fmt.Errorf("runtime.token, runtime.admin_token, runtime.assertion_public: %w", err)
	}
	return g, nil
}

// given are the values that there are.
func given(values ...string) (all []string) {
	for _, v := range values {
		if v != "" {
			all = append(all, v)
		}
	}
	return all
}

// engine is the runtime of this process behind a guard.
func (n *node) engine(g *scope.Guard) http.Handler {
	g.Standing = n.standing
	at := facing(n.surfaces)
	return engine.New(engine.Config{
		Runtime: n.rt, Guard: g, Dev: n.develops(), Log: n.log, About: engine.About{Agents: at.Agents.String(), Admin: at.Admin.String(), Development: n.develops()},
		MaxBody: n.config.LimitBody, MaxInput: n.config.LimitInput, MaxBuffered: n.config.LimitBuffered,
		Admit: func(ctx context.Context, c scope.Claims) error { return unanswered(n.gauge.Admit(ctx, c.Scope)) },
	})
}

// standing refuses work in a workspace that is not there, or is suspended, whatever the gateway says.
func (n *node) standing(ctx context.Context, c scope.Claims) error {
	return unanswered(account.CheckStanding(ctx, n.db, c))
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
	g, err := s.config.guard()
	if err != nil {
		// The configuration was checked: what is left is a guard that believes nobody.
		g = &scope.Guard{}
	}
	s.guard = g
	return n.engine(g)
}

// runtime is the runtime as the gateway of this process reaches it.
func (s *server) runtime(n *node) http.Handler {
	if s.part.works {
		forward, guard := scope.NewPair()
		return forward.Within(n.engine(guard))
	}
	forward, err := s.config.forward()
	if err != nil {
		return nil // the configuration was checked
	}
	s.forward = forward
	target, dial := s.config.runtimeTarget()
	return gateway.NewProxy(target, forward, &http.Transport{
		DialContext: dial, MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
	}, n.log)
}

// runtimeTarget is the address of the runtime, and how it is reached.
func (c Config) runtimeTarget() (*url.URL, func(context.Context, string, string) (net.Conn, error)) {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if path, found := strings.CutPrefix(c.RuntimeURL, unixPrefix); found {
		return &url.URL{Scheme: "http", Host: "runtime"}, func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", path)
		}
	}
	u, err := url.Parse(c.RuntimeURL)
	if err != nil {
		u = &url.URL{} // Set has refused it before
	}
	return u, dialer.DialContext
}

// reachRuntime reports a runtime that nobody listens for.
func (s *server) reachRuntime(_ *node, ctx context.Context) error {
	u, dial := s.config.runtimeTarget()
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
