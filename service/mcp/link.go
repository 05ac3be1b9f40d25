package mcp

import (
	"context"
	"sync"
	"time"

	client "svc.dev/svc/tool/mcp"
)

// maxLinks is how many connections a process has at most, and maxScopeLinks how many of them one scope has.
const (
	maxLinks      = 256
	maxScopeLinks = maxLinks / 4
)

// links are the connections of this process, one for each server that is in use.
type links struct {
	mu     sync.Mutex
	all    map[linkKey]*shared
	closed bool
	work   sync.WaitGroup // connections that are made or let go
}

// linkKey is what a connection is known by: the server, as it is set up, and whose it is.
type linkKey struct{ scope, setting string }

// shared is a connection that many use.
type shared struct {
	linkKey
	ready  chan struct{} // closed when server or err is there
	server *client.Server
	err    error

	users  int // guarded by links
	used   time.Time
	doomed bool // it is no longer among all, and ends with its last user
}

func newLinks() *links { return &links{all: map[linkKey]*shared{}} }

// take is the connection of a key, made by open where there is none. The one who takes it gives it back.
func (l *links) take(ctx context.Context, key linkKey, open func(context.Context) (*client.Server, error)) (*shared, error) {
	s, err := l.join(ctx, key, open)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		l.give(s)
		return nil, context.Cause(ctx)
	}
	if s.err != nil {
		l.give(s)
		return nil, s.err
	}
	return s, nil
}

// join counts a user in, of a connection that may not be ready yet.
func (l *links) join(ctx context.Context, key linkKey, open func(context.Context) (*client.Server, error)) (*shared, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.all[key]; s != nil {
		s.users++
		return s, nil
	}
	if l.closed || !l.room(key.scope) {
		return nil, busy()
	}
	s := &shared{linkKey: key, ready: make(chan struct{}), users: 1}
	l.all[key] = s
	// Others may wait for it too: it does not end with the one who was first.
	ctx = context.WithoutCancel(ctx)
	l.work.Go(func() {
		defer close(s.ready)
		if s.server, s.err = open(ctx); s.err != nil {
			l.drop(s) // nobody may wait for it any more
		}
	})
	return s, nil
}

// room reports whether a scope may have another connection. One of its own that nobody uses makes room for it, and where the process
// has too many, one of anybody's.
func (l *links) room(scope string) bool {
	ofScope := func(s *shared) bool { return s.scope == scope }
	all := func(*shared) bool { return true }
	return l.below(maxScopeLinks, ofScope) && l.below(maxLinks, all)
}

// below lets go of the connection among some that was not used for longest, where they are too many, and reports whether they are
// not then.
func (l *links) below(most int, among func(*shared) bool) bool {
	n := 0
	var oldest *shared
	for _, s := range l.all {
		if !among(s) {
			continue
		}
		n++
		if s.users == 0 && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	if n < most {
		return true
	}
	if oldest == nil {
		return false
	}
	l.end(oldest)
	return true
}

// give gives a connection back.
func (l *links) give(s *shared) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.users--
	s.used = time.Now()
	if s.doomed && s.users == 0 {
		l.end(s)
	}
}

// drop has the next one who asks make another connection.
func (l *links) drop(s *shared) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[s.linkKey] == s {
		delete(l.all, s.linkKey)
	}
	s.doomed = true
}

// end lets go of a connection that nobody uses.
func (l *links) end(s *shared) {
	if l.all[s.linkKey] == s {
		delete(l.all, s.linkKey)
	}
	l.work.Go(func() {
		<-s.ready
		if s.server != nil {
			_ = s.server.Close()
		}
	})
}

// letGo closes a connection that is not shared, and does not wait for that.
func (l *links) letGo(server *client.Server) { l.work.Go(func() { _ = server.Close() }) }

// sweep ends what was not used for a while.
func (l *links) sweep(idle time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
		if s.users == 0 && time.Since(s.used) >= idle {
			l.end(s)
		}
	}
}

// close ends all, also what is in use, and returns when nothing is left of them.
func (l *links) close() {
	l.mu.Lock()
	l.closed = true
	for _, s := range l.all {
		l.end(s)
	}
	l.mu.Unlock()
	l.work.Wait()
}

// count is how many connections there are.
func (l *links) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}
