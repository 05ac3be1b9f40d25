package mcp_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/service/mcp"
)

func TestConnectionsAreSharedAndClosedWhenIdle(t *testing.T) {
	each(t, func(t *testing.T, s scene) {
		s.enable(t, s.connected(t, "peer", newPeer(t, "")), "echo")
		var all sync.WaitGroup
		tools, err := s.Tools(t.Context(), space, []string{"peer"})
		if err != nil || len(tools) != 1 {
			t.Fatal(tools, err)
		}
		for range 20 {
			all.Go(func() {
				if _, err := tools[0].Call(t.Context(), []byte(`{}`)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := s.Links(); n != 1 {
			t.Errorf("%d connections", n)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		eventually(t, "the connection is closed", func() bool { return s.Links() == 0 })
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := use(t, s.Servers, "peer"); err != nil {
			t.Errorf("after it was closed: %v", err)
		}
	}, func(c *mcp.Config) { c.Idle = 10 * time.Millisecond })
}

func TestACallTellsWhatBecameOfItsServer(t *testing.T) {
	each(t, func(t *testing.T, s scene) {
		p := newPeer(t, "")
		d := s.enable(t, s.connected(t, "peer", p), "echo")
		p.shut.Store(true)
		_, err := use(t, s.Servers, "peer")
		wants(t, err, "mcp_unauthorized")
		d, err = s.Get(t.Context(), space, d.ID)
		if err != nil || d.Status != mcp.NeedsSignIn {
			t.Errorf("kept: %+v %v", d.Server, err)
		}
		p.CloseClientConnections()
		p.Close()
		_, err = use(t, s.Servers, "peer")
		wants(t, err, "mcp_unavailable")
		d, err = s.Get(t.Context(), space, d.ID)
		if err != nil || d.Status != mcp.Down || d.Reason == "" {
			t.Errorf("kept: %+v %v", d.Server, err)
		}
	}, hurried)
}
