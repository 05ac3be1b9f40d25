// Package dev serves a project while its author works on it: its files are watched, every change is built, and a build that is good takes
// over. Since everything is recorded, a reload is a resume: runs and conversations go on where they were.
package dev

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/model"
	"svc.dev/svc/ts"
)

// Config is what a Server is made of. Folder and Store are needed.
type Config struct {
	// Folder is the project's.
	Folder string
	// Ignore is a folder below it that is not watched, such as that of the database. Defaults to none; hidden ones are not, nor are installed packages.
	Ignore string
	// Store keeps every stream, through all builds. The caller closes it, after Run.
	Store svc.Store
	// Node names this node in its leases. Defaults to a random name.
	Node string
	// Model finds the provider of a model's name. Defaults to none: every prompt fails.
	Model func(ctx context.Context, scope, name string) (model.Provider, error)
	// Project is how the project is run. Its Dev and that of its API are always set.
	Project ts.Config
	// Told hears of every build, one after another. Defaults to nobody.
	Told func(Build)
	// Log hears the console of scripts, and warnings to authors. Defaults to slog.Default().
	Log *slog.Logger
}

// Build is what came of the project's files as they were at a moment.
type Build struct {
	// Number counts builds, from 1.
	Number int
	// Err is what is wrong with the project: a fault with the lines around each mistake. Nil: the build serves.
	Err error
	// Serving tells whether any build serves: this one, or the last that was good.
	Serving bool
	// Bytes is how long the script is.
	Bytes int
	// Took is how long it was from the first look at the files until the build served.
	Took time.Duration
}

// Server serves a project. It is an http.Handler: the project itself, and a page at Page.
type Server struct {
	config Config
	watch  *lookout
	news   news
	page   http.Handler

	failed chan error           // why a Runtime ended that was not told to
	behind sync.WaitGroup       // editions that were replaced, and have requests left
	letGo  []context.CancelFunc // of those that came last; Run's own

	mu   sync.Mutex
	now  *edition // that takes requests; nil: no build was good yet
	last Build
}

// Open builds the project for the first time. What is wrong with it is no error: it is shown, and the next change may mend it.
func Open(ctx context.Context, c Config) (*Server, error) {
	if c.Store == nil || c.Folder == "" {
		return nil, errors.New("dev: Config.Folder and Config.Store are needed")
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Told == nil {
		c.Told = func(Build) {}
	}
	c.Project.Dev, c.Project.API.Dev = true, true
	c.Project.Log, c.Project.API.Log = c.Log, c.Log
	s := &Server{config: c, watch: newLookout(c.Folder, c.Ignore), failed: make(chan error, 1)}
	s.page = s.newPage()
	began := time.Now()
	s.watch.look()
	next, b := s.build(ctx)
	if next != nil {
		s.replace(next)
	}
	b.Took = time.Since(began)
	s.tell(b)
	return s, nil
}

// Run works, and follows the project's files, until ctx ends. It returns when all that it began has ended; the error is the Store's. It can
// be called once.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if now := s.current(); now != nil {
		s.start(now)
	}
	err := s.follow(ctx)
	cancel()
	s.news.close()
	if now := s.replace(nil); now != nil {
		err = errors.Join(err, now.stop())
		s.outlive(ctx, now)
	}
	s.behind.Wait()
	return err
}

// follow reloads the project whenever its files have changed.
func (s *Server) follow(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.failed:
			return err
		case <-s.watch.next():
		}
		if s.watch.changed() {
			s.reload(ctx)
		}
	}
}

// Last is the newest build.
func (s *Server) Last() Build {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// current is the edition that takes requests, nil if there is none.
func (s *Server) current() *edition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// replace lets another edition take all further requests, and gives the one that did.
func (s *Server) replace(next *edition) (old *edition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, s.now = s.now, next
	return old
}

// tell keeps what came of a build, and lets pages and the caller hear of it.
func (s *Server) tell(b Build) {
	s.mu.Lock()
	b.Number = s.last.Number + 1
	b.Serving = s.now != nil
	s.last = b
	s.mu.Unlock()
	s.news.tell()
	s.config.Told(b)
}
