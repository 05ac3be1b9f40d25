package svc_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
)

// silent is a store that can be made to answer nothing: its calls then hang until their contexts end, as those on a dead
// connection do. It can be made to fail for good too.
type silent struct {
	svc.Store
	failed chan struct{}

	mu   sync.Mutex
	hush chan struct{} // closed when it speaks again; nil: it speaks
	deaf bool          // to releases alone
}

func quiet(stores chan<- *silent) func(*svc.Config) {
	return func(c *svc.Config) {
		s := &silent{Store: c.Store, failed: make(chan struct{})}
		c.Store = s
		stores <- s
	}
}

// silence makes the store fall silent until what it returns is called.
func (s *silent) silence() (speak func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hush := make(chan struct{})
	s.hush = hush
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hush = nil
		close(hush)
	})
}

func (s *silent) setDeaf(deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = deaf
}

// wait hangs while the store is silent.
func (s *silent) wait(ctx context.Context) error {
	s.mu.Lock()
	hush := s.hush
	s.mu.Unlock()
	select {
	case <-s.failed:
		return svc.ErrUnavailable
	default:
	}
	if hush == nil {
		return nil
	}
	select {
	case <-hush:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", svc.ErrUnavailable, ctx.Err())
	}
}

func (s *silent) Failed() <-chan struct{} { return s.failed }

func (s *silent) Renew(ctx context.Context, o svc.Owner, held []svc.Lease) (svc.Renewed, error) {
	if err := s.wait(ctx); err != nil {
		return svc.Renewed{}, err
	}
	return s.Store.Renew(ctx, o, held)
}

func (s *silent) Append(ctx context.Context, l svc.Lease, c svc.Commit) (svc.Appended, error) {
	if err := s.wait(ctx); err != nil {
		return svc.Appended{}, err
	}
	return s.Store.Append(ctx, l, c)
}

func (s *silent) Claim(ctx context.Context, o svc.Owner, n int) (svc.Claimed, error) {
	if err := s.wait(ctx); err != nil {
		return svc.Claimed{}, err
	}
	return s.Store.Claim(ctx, o, n)
}

func (s *silent) Release(ctx context.Context, l svc.Lease, r svc.Release) error {
	s.mu.Lock()
	deaf := s.deaf
	s.mu.Unlock()
	if deaf {
		<-ctx.Done()
		return fmt.Errorf("%w: %w", svc.ErrUnavailable, ctx.Err())
	}
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.Release(ctx, l, r)
}

func (s *silent) Tail(ctx context.Context, of svc.Stream) (svc.Tail, error) {
	if err := s.wait(ctx); err != nil {
		return svc.Tail{}, err
	}
	return s.Store.Tail(ctx, of)
}

// TestWorkStopsBeforeItsLeaseLapses lets the store fall silent while a step and a tool are at work: both contexts end before
// another node could have the streams, and when the store speaks again the streams go on.
func TestWorkStopsBeforeItsLeaseLapses(t *testing.T) {
	const lease = 5 * time.Second
	stores := make(chan *silent, 1)
	begun, ended := make(chan struct{}, 4), make(chan time.Time, 4)
	hold := func(ctx context.Context) {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- time.Now()
	}
	var once sync.Map
	first := func(what string) bool { _, again := once.LoadOrStore(what, true); return !again }
	tool := svc.NewTool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
		if first("tool") {
			hold(ctx)
			return "", ctx.Err()
		}
		return "late", nil
	})
	declare, configure := talking(scripted.New(
		scripted.Turn{scripted.Call("wait", struct{}{})}, scripted.Turn{scripted.Say("done")},
	), func(a *svc.Agent) { a.Tools = []svc.Tool{tool} })
	n := start(t, sqlite(t), func(rt *svc.Runtime) {
		declare(rt)
		rt.AddWorkflow(svc.NewWorkflow("hold", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
			return svc.Step(ctx, w, "hold", func(context.Context) (string, error) {
				if first("step") {
					hold(ctx)
					return "", ctx.Err()
				}
				return "again", nil
			})
		}))
	}, configure, quiet(stores), func(c *svc.Config) { c.Lease = lease })
	store := <-stores
	id := n.invoke(t, "hold", nil)
	n.prompt(t, "42", "wait")
	<-begun
	<-begun
	speak := store.silence()
	defer speak()
	silenced := time.Now()
	for range 2 {
		select {
		case at := <-ended:
			if took := at.Sub(silenced); took > lease*9/10 {
				t.Errorf("work stopped %s after the store fell silent; the lease is %s", took, lease)
			}
		case <-time.After(4 * lease):
			t.Fatal("work goes on although its lease is another's")
		}
	}
	speak()
	if run := n.await(t, "hold", id); string(run.Result) != `"again"` {
		t.Errorf("run %+v", run)
	}
	n.updates(t, "42", 0, 1)
}

// TestANodeStopsInTimeThoughItsStoreIsSilent stops a node that cannot give its work back: its leases lapse without it.
func TestANodeStopsInTimeThoughItsStoreIsSilent(t *testing.T) {
	inner, err := sqlstore.Open(t.Context(), sqlite(t), sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	store := &silent{Store: inner, failed: make(chan struct{})}
	const limit = 3 * time.Second
	rt, err := svc.New(svc.Config{Store: store, StopTimeout: limit, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	declared("hold", func(ctx context.Context, w *svc.Work, _ struct{}) (struct{}, error) {
		return svc.Step(ctx, w, "hold", func(ctx context.Context) (struct{}, error) {
			close(begun)
			<-ctx.Done()
			return struct{}{}, ctx.Err()
		})
	})(rt)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	if _, err := rt.Invoke(t.Context(), "hold", svc.Invocation{}); err != nil {
		t.Fatal(err)
	}
	<-begun
	defer store.silence()()
	stop()
	stopped := time.Now()
	select {
	case <-ended:
	case <-time.After(limit + 10*time.Second):
		t.Fatal("the runtime does not stop")
	}
	if took := time.Since(stopped); took > limit+5*time.Second {
		t.Errorf("the runtime took %s to stop, and may take %s", took, limit)
	}
}

// TestASleepIsNotLongerForAStoreThatDoesNotTakeIt lets a sleep begin that the store hears of only later.
func TestASleepIsNotLongerForAStoreThatDoesNotTakeIt(t *testing.T) {
	const nap = 4 * time.Second
	stores := make(chan *silent, 1)
	n := start(t, sqlite(t), declared("nap", func(ctx context.Context, w *svc.Work, _ struct{}) (int64, error) {
		before := w.Now()
		if err := w.Sleep(ctx, nap); err != nil {
			return 0, err
		}
		return w.Now().Sub(before).Milliseconds(), nil
	}), quiet(stores), func(c *svc.Config) { c.Park, c.Lease = 100*time.Millisecond, 2*time.Second })
	store := <-stores
	store.setDeaf(true)
	began := time.Now()
	id := n.invoke(t, "nap", nil)
	takes(nap - time.Second)
	store.setDeaf(false)
	n.await(t, "nap", id)
	if took := time.Since(began); took > nap+2500*time.Millisecond {
		t.Errorf("a sleep of %s took %s", nap, took)
	}
}

// TestASleepIsOverWhenItsTimeHasComeThoughNoTimerSaysSo sets the clock forward, as a machine does that was suspended.
func TestASleepIsOverWhenItsTimeHasComeThoughNoTimerSaysSo(t *testing.T) {
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	store, err := sqlstore.Open(t.Context(), sqlite(t), sqlstore.Config{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	begun := make(chan struct{}, 1)
	n := start(t, sqlite(t), declared("nap", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		select {
		case begun <- struct{}{}:
		default:
		}
		return "slept", w.Sleep(ctx, time.Hour)
	}), func(c *svc.Config) { c.Store, c.Now, c.Lease = store, now, 2*time.Second })
	id := n.invoke(t, "nap", nil)
	<-begun
	eventually(t, "the run is parked", func() bool { return n.Working() == 0 })
	ahead.Store(int64(time.Hour))
	began := time.Now()
	n.await(t, "nap", id)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the run slept on for %s after its time had come", took)
	}
}

// TestAFailedStoreEndsTheRuntimeAtOnce has work that does not heed its context.
func TestAFailedStoreEndsTheRuntimeAtOnce(t *testing.T) {
	inner, err := sqlstore.Open(t.Context(), sqlite(t), sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	store := &silent{Store: inner, failed: make(chan struct{})}
	rt, err := svc.New(svc.Config{Store: store, StopTimeout: time.Minute, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	begun, let := make(chan struct{}), make(chan struct{})
	defer close(let)
	declared("stubborn", func(ctx context.Context, w *svc.Work, _ struct{}) (struct{}, error) {
		return svc.Step(ctx, w, "stand", func(context.Context) (struct{}, error) {
			close(begun)
			<-let
			return struct{}{}, nil
		})
	})(rt)
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(t.Context()) }()
	if _, err := rt.Invoke(t.Context(), "stubborn", svc.Invocation{}); err != nil {
		t.Fatal(err)
	}
	<-begun
	close(store.failed)
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the runtime ended without an error")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the runtime waits for work that it cannot record")
	}
}

// TestNodesWithWrongClocksAgree lets three nodes share runs that sleep: each sleeps as long as it asked for, whichever nodes
// it falls asleep and wakes up on, and nobody claims again and again what is not due.
func TestNodesWithWrongClocksAgree(t *testing.T) {
	address := sqldbtest.Postgres(t)
	const nap = 1500 * time.Millisecond
	declare := declared("nap", func(ctx context.Context, w *svc.Work, _ struct{}) (int64, error) {
		before := w.Now()
		if err := w.Sleep(ctx, nap); err != nil {
			return 0, err
		}
		return w.Now().Sub(before).Milliseconds(), nil
	})
	var nodes []*node
	for _, wrong := range []time.Duration{0, -90 * time.Second, time.Hour} {
		nodes = append(nodes, start(t, address, declare, func(c *svc.Config) {
			c.Now = func() time.Time { return time.Now().Add(wrong) }
			c.Park = 100 * time.Millisecond
		}))
	}
	eventually(t, "every node knows the time", func() bool {
		return nodes[1].Skew() > 85*time.Second && nodes[2].Skew() < -55*time.Minute
	})
	var all sync.WaitGroup
	for i := range 12 {
		n := nodes[i%3]
		all.Go(func() {
			began := time.Now()
			answer, err := n.Invoke(t.Context(), "nap", svc.Invocation{Wait: true})
			if err != nil {
				t.Error(err)
				return
			}
			took := time.Since(began)
			slept, err := strconv.ParseInt(string(answer.Run.Result), 10, 64)
			if err != nil || took < nap-500*time.Millisecond || took > nap+20*time.Second || time.Duration(slept)*time.Millisecond < nap-500*time.Millisecond {
				t.Errorf("node %d slept %s, by its own account %d ms: %+v", i%3, took, slept, answer.Run)
			}
			if off := time.Since(answer.Run.StartedAt); off < -time.Second || off > 30*time.Second {
				t.Errorf("node %d says that its run started %s ago", i%3, off)
			}
		})
	}
	all.Wait()
}
