package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/fault"
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

// TestOneScopeLeavesConnectionsToOthers has one use all that it may, and another come after it.
func TestOneScopeLeavesConnectionsToOthers(t *testing.T) {
	each(t, func(t *testing.T, s scene) {
		for i := range mcp.MaxScopeLinks {
			if err := s.Hold(t.Context(), space, i); err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
		}
		wants(t, s.Hold(t.Context(), space, mcp.MaxScopeLinks), fault.Busy)
		if err := s.Hold(t.Context(), "users/eve/shop", 0); err != nil {
			t.Errorf("of another scope: %v", err)
		}
	})
}

// TestAConnectionThatFailedForNobodyIsMadeAnew has the only one who waits for a connection leave before it fails.
func TestAConnectionThatFailedForNobodyIsMadeAnew(t *testing.T) {
	each(t, func(t *testing.T, s scene) {
		p, held, met, release := newPeer(t, ""), new(atomic.Bool), make(chan struct{}, 1), make(chan struct{})
		door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && held.Load() {
				select {
				case met <- struct{}{}:
				default: // it is known that somebody came
				}
				<-release
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			p.Config.Handler.ServeHTTP(w, r)
		}))
		t.Cleanup(func() {
			door.CloseClientConnections()
			door.Close()
		})
		s.enable(t, s.connected(t, "peer", &peer{Server: door}), "echo")
		tools, err := s.Tools(t.Context(), space, []string{"peer"})
		if err != nil || len(tools) != 1 {
			t.Fatal(tools, err)
		}
		held.Store(true)
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := tools[0].Call(ctx, []byte(`{}`))
			left <- err
		}()
		<-met
		leave()
		if err := <-left; err == nil {
			t.Error("a call that was given up has an answer")
		}
		close(release)
		eventually(t, "the connection that failed is forgotten", func() bool { return s.Links() == 0 })
		held.Store(false)
		if _, err := use(t, s.Servers, "peer"); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}
