package dev

import (
	"context"
	"net/http"
	"sync"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/ts"
)

// edition is one build that runs: a Runtime, and the project in it.
type edition struct {
	rt      *svc.Runtime
	project *ts.Project
	built   *ts.Built
	try     http.Handler // the API without the guards of modules, for the page

	cancel context.CancelFunc
	ended  chan error // of the Runtime's Run; nil before

	// Requests that it has. Further ones are counted only while it is the Server's own, by the Server's mutex.
	all, brief sync.WaitGroup
}

// stopTimeout is how long work in flight may take to come to a recorded point. What is cut off is done again.
const stopTimeout = time.Second

// newEdition loads a build beside the one that serves: nothing runs yet, and what is wrong with it changes nothing.
func (s *Server) newEdition(ctx context.Context, built *ts.Built) (*edition, error) {
	c := svc.Config{Store: s.config.Store, Node: s.config.Node, Model: s.config.Model, StopTimeout: stopTimeout, Succeeded: true, Log: s.config.Log}
	rt, err := svc.New(c)
	if err != nil {
		return nil, err
	}
	p, err := built.Load(ctx, rt, s.config.Project)
	if err != nil {
		return nil, err
	}
	try, err := unguarded(c, rt, p, s.config.Project.API)
	if err != nil {
		p.Close()
		return nil, err
	}
	return &edition{rt: rt, project: p, built: built, try: try}, nil
}

// unguarded is the API of all that a project declares, served or not, for the author's own page. It is a Runtime that never runs: what it
// admits is worked on by the one that does, and those who follow there outlive a reload.
func unguarded(c svc.Config, rt *svc.Runtime, p *ts.Project, api httpapi.Config) (http.Handler, error) {
	open, err := svc.New(c)
	if err != nil {
		return nil, err
	}
	for _, d := range p.Declarations() {
		switch d.Kind {
		case "agent":
			open.AddAgent(&svc.Agent{Name: d.Name, Description: d.Description, Route: svc.Open, Attachments: svc.Open})
		case "workflow":
			wf := *rt.Workflow(d.Name)
			wf.Route, wf.Runs = svc.Open, svc.Open
			open.AddWorkflow(&wf)
		case "channel":
			open.AddChannel(rt.Channel(d.Name))
		}
	}
	return httpapi.New(open, api), nil
}

// start lets the Runtime of an edition work.
func (s *Server) start(on *edition) {
	ctx, cancel := context.WithCancel(context.Background())
	on.cancel, on.ended = cancel, make(chan error, 1)
	go func() {
		err := on.rt.Run(ctx)
		if ctx.Err() == nil {
			select {
			case s.failed <- err:
			default: // it was said already
			}
		}
		on.ended <- err
	}()
}

// stop gives all work back, and returns when that is done.
func (on *edition) stop() error {
	if on.ended == nil {
		return nil
	}
	on.cancel()
	return <-on.ended
}

// longer is a context that ends so long after another.
func longer(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return lasting, func() {
		stop()
		cancel()
	}
}

// within waits for a group, but not for ever.
func within(ctx context.Context, d time.Duration, group *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-ctx.Done():
	}
}
