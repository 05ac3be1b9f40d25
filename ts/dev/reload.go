package dev

import (
	"context"
	"time"

	"svc.dev/svc/ts"
)

// build makes an edition of the files as they are now. It is nil when they cannot be built, and when they make the script that runs already, line
// by line.
func (s *Server) build(ctx context.Context) (*edition, Build) {
	built, err := s.bundle()
	if err != nil {
		return nil, Build{Err: err}
	}
	b := Build{Bytes: built.Bytes()}
	if now := s.current(); now != nil && now.built.Same(built) {
		return nil, b
	}
	next, err := s.newEdition(ctx, built)
	if err != nil {
		b.Err = err
		return nil, b
	}
	return next, b
}

// bundle bundles the files as they are now, all of which are watched then, whatever comes of it. Those that were not may have changed since they
// were read, and are read again.
func (s *Server) bundle() (*ts.Built, error) {
	for {
		built, err := ts.Build(s.config.Folder)
		sources := ts.SourcesOf(err)
		if err == nil {
			sources = built.Sources()
		}
		if !s.watch.also(sources) {
			return built, err
		}
		s.watch.look()
	}
}

// reload builds the project, and lets a good build take over. The build is loaded while the last one serves. From then on requests are the
// new one's: what it admits waits until the last one has given its work back. A build that is not good changes nothing.
func (s *Server) reload(ctx context.Context) {
	began := time.Now()
	next, b := s.build(ctx)
	if next != nil {
		old := s.replace(next)
		if old != nil {
			s.retire(ctx, old)
		}
		s.start(next)
	}
	if next == nil && b.Err == nil && s.Last().Err == nil {
		return // another file has changed, and the script is what it was
	}
	b.Took = time.Since(began)
	s.tell(b)
}

const (
	// grace is how long requests may go on that the last build has begun to answer, before it admits nothing more.
	grace = time.Second
	// patience is how long it then keeps its engines for requests that wait for a run, or follow a stream, and again for what they leave behind.
	patience = 30 * time.Second
	// mostBehind is how many builds keep their engines that way.
	mostBehind = 3
)

// retire ends an edition that takes no more requests.
func (s *Server) retire(ctx context.Context, old *edition) {
	within(ctx, grace, &old.brief)
	if err := old.stop(); err != nil {
		s.config.Log.Error("the last build did not stop as it should", "error", err)
	}
	s.outlive(ctx, old)
}

// outlive keeps the engines of an edition that has stopped while requests need them, also behind their answers. The end of ctx leaves them as
// long as work has. It is called by Run alone.
func (s *Server) outlive(ctx context.Context, old *edition) {
	ctx, cancel := longer(ctx, stopTimeout)
	s.letGo = append(s.letGo, cancel)
	if len(s.letGo) > mostBehind {
		s.letGo[0]()
		s.letGo = s.letGo[1:]
	}
	s.behind.Go(func() {
		defer cancel()
		within(ctx, patience, &old.all)
		last, end := context.WithTimeout(ctx, patience)
		defer end()
		old.project.Drain(last)
		old.project.Close()
	})
}
