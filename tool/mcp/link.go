package mcp

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// carrier carries messages to a server and back: a process or a web.
type carrier interface {
	sdk.Transport
	// broken reports that a message would not arrive.
	broken() bool
	// denied reports that the server refused who we are.
	denied() bool
	// sever breaks it at once.
	sever()
	// end returns when nothing is left of it.
	end() error
}

// link is one connection; a Server has one after the other.
type link struct {
	carrier
	session *sdk.ClientSession
	dead    chan struct{} // closed when the session has ended
	lost    atomic.Bool   // a call found out before dead was closed
}

// connect returns when the server is ready to be asked, and nothing is left of the attempt when it fails.
func connect(ctx context.Context, c Config, options *sdk.ClientOptions) (*link, error) {
	way, err := c.open()
	if err != nil {
		return nil, unavailable(err)
	}
	// The SDK waits for a peer that does not read, however late it is.
	unhook := context.AfterFunc(ctx, way.sever)
	defer unhook()
	client := sdk.NewClient(&sdk.Implementation{Name: "svc", Version: "1"}, options)
	session, err := client.Connect(ctx, way, nil)
	if err != nil {
		way.sever()
		_ = way.end()
		return nil, notConnected(ctx, way, err)
	}
	l := &link{carrier: way, session: session, dead: make(chan struct{})}
	go func() {
		defer close(l.dead)
		_ = session.Wait()
	}()
	return l, nil
}

// broken reports that the next call needs another link.
func (l *link) broken() bool {
	select {
	case <-l.dead:
		return true
	default:
		return l.lost.Load() || l.carrier.broken()
	}
}

// close returns when session and carrier have ended.
func (l *link) close(grace time.Duration) error {
	timer := time.AfterFunc(grace, l.sever)
	defer timer.Stop()
	_ = l.session.Close()
	<-l.dead
	return l.end()
}

// within makes a request and breaks the link when the request does not return although its context has ended: it may be
// stuck in writing to a peer that does not read.
func (l *link) within(ctx context.Context, grace time.Duration, request func()) {
	done := make(chan struct{})
	defer close(done)
	unhook := context.AfterFunc(ctx, func() {
		select {
		case <-done:
		case <-time.After(grace):
			l.sever()
		}
	})
	defer unhook()
	request()
}

// blame takes the link for lost when the error was the end of it.
func (l *link) blame(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing) {
		l.lost.Store(true)
	}
}

// neverSent reports that a request did not reach the server, so that it may be made again.
func (l *link) neverSent(err error) bool {
	if errors.Is(err, sdk.ErrSessionMissing) {
		return true
	}
	if !errors.Is(err, sdk.ErrConnectionClosed) {
		return false
	}
	// A server may word its answer like the SDK does; then the connection does not end.
	select {
	case <-l.dead:
		return true
	case <-time.After(100 * time.Millisecond):
		return false
	}
}
