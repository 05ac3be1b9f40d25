// Package mcp makes the tools of a Model Context Protocol server tools of an agent. A server is another's program: what it
// says is bounded, what it breaks is an error that the model sees, and a connection that it lost is made again when it is
// next needed.
package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.dev/svc"
)

// Server is a server that was reached once. It is safe for use by many.
type Server struct {
	config Config
	life   context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // calls, the refresher, links that are let go
	stale  chan struct{}  // one signal that the list may have changed
	dial   chan struct{}  // held by the one who connects
	rest   backoff        // of the one who connects

	mu     sync.Mutex
	link   *link
	has    catalog
	calls  map[string]*pending // by progress token
	tokens int
	closed bool
}

// Connect returns when the server has told its tools, or why it did not. Close ends what it began.
func Connect(ctx context.Context, c Config) (*Server, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Server{
		config: c.withDefaults(), stale: make(chan struct{}, 1), dial: make(chan struct{}, 1), calls: map[string]*pending{},
	}
	s.life, s.cancel = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeout(ctx, s.config.ConnectTimeout)
	defer cancel()
	l, err := connect(ctx, s.config, s.options())
	if err != nil {
		return nil, err
	}
	if s.has, err = s.list(ctx, l); err != nil {
		_ = l.close(s.config.Grace)
		return nil, err
	}
	s.link = l
	s.work.Go(s.refresh)
	return s, nil
}

// Close ends the session, the process and every call in flight, and returns when nothing of them is left. A second Close
// does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	l := s.link
	s.link, s.closed = nil, true
	s.mu.Unlock()
	s.cancel()
	var err error
	if l != nil {
		err = l.close(s.config.Grace)
	}
	s.work.Wait()
	return err
}

// Tools are those that the server has now and Config allows. A tool that is kept beyond a change can still be called: the
// server answers for it.
func (s *Server) Tools() []svc.Tool {
	s.mu.Lock()
	list := s.has.tools
	s.mu.Unlock()
	var tools []svc.Tool
	for _, t := range list {
		if s.config.Allow(t.source) {
			tools = append(tools, s.tool(t))
		}
	}
	return tools
}

func (s *Server) tool(t listed) svc.Tool {
	tool := svc.RawTool(t.name, t.description, json.RawMessage(t.schema), s.caller(t.source))
	// Our own bounds say more, so that of the runtime comes after them.
	tool.Timeout = s.config.ConnectTimeout + patience*s.config.CallTimeout + time.Second
	return tool
}

// options are what the server may tell us without being asked.
func (s *Server) options() *sdk.ClientOptions {
	return &sdk.ClientOptions{
		Capabilities:                &sdk.ClientCapabilities{},
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { s.outdate() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { s.progress(r.Params) },
	}
}

func (s *Server) outdate() {
	select {
	case s.stale <- struct{}{}:
	default:
	}
}

// refreshPause is how far listings are apart, however often a server asks for one.
const refreshPause = 100 * time.Millisecond

// refresh lists anew whenever the list may have changed, until the server is closed.
func (s *Server) refresh() {
	for {
		select {
		case <-s.life.Done():
			return
		case <-s.stale:
		}
		if s.relist() {
			s.config.OnChange()
		}
		select {
		case <-s.life.Done():
		case <-time.After(refreshPause):
		}
	}
}

// relist reports whether the list is another. Where there is no answer the old one stands.
func (s *Server) relist() bool {
	l := s.current()
	if l == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(s.life, s.config.ConnectTimeout)
	defer cancel()
	has, err := s.list(ctx, l)
	if err != nil {
		if s.life.Err() == nil {
			s.config.Log.Warn("mcp tools not listed anew", "err", err)
		}
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	same := slices.Equal(s.has.tools, has.tools)
	s.has = has
	return !same
}

// current is the link in use, nil where there is none that works.
func (s *Server) current() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil || s.link.broken() {
		return nil
	}
	return s.link
}

// connected is the link in use, or a new one. One caller connects, the others wait for it; after a failure nobody tries until
// the backoff is over.
func (s *Server) connected(ctx context.Context) (*link, error) {
	if l := s.current(); l != nil {
		return l, nil
	}
	select {
	case s.dial <- struct{}{}:
		defer func() { <-s.dial }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l := s.current(); l != nil {
		return l, nil
	}
	if err := s.rest.wait(); err != nil {
		return nil, err
	}
	return s.reconnect(ctx)
}

func (s *Server) reconnect(ctx context.Context) (*link, error) {
	s.adopt(nil)
	bounded, cancel := context.WithTimeout(ctx, s.config.ConnectTimeout)
	defer cancel()
	l, err := connect(bounded, s.config, s.options())
	if err != nil {
		if ctx.Err() == nil {
			s.rest.failed(err)
			s.config.Log.Warn("mcp server not connected again", "err", err)
		}
		return nil, err
	}
	s.rest = backoff{}
	if !s.adopt(l) {
		_ = l.close(s.config.Grace)
		return nil, closed()
	}
	s.config.Log.Info("mcp server connected again")
	s.outdate()
	return l, nil
}

// adopt puts a link in the place of the old one, which is let go. It refuses when the server is closed.
func (s *Server) adopt(l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if old := s.link; old != nil {
		s.work.Go(func() { _ = old.close(s.config.Grace) })
	}
	s.link = l
	return true
}

// backoff keeps attempts to connect apart. It is used by the one who connects.
type backoff struct {
	pause time.Duration
	until time.Time
	err   error
}

const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// wait is the last failure while it is too early for another attempt.
func (b *backoff) wait() error {
	if time.Now().Before(b.until) {
		return b.err
	}
	return nil
}

func (b *backoff) failed(err error) {
	b.pause = min(max(2*b.pause, minBackoff), maxBackoff)
	b.until, b.err = time.Now().Add(b.pause), err
}
