package svc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/workflow"
)

// appends counts what a run writes. Nothing of it is written for having waited long.
func appends(n *atomic.Int32) func(*svc.Config) {
	return func(c *svc.Config) {
		c.Gather = time.Minute
		c.Store = &watched{c.Store.(*sqlstore.Store), func(svc.Commit) { n.Add(1) }}
	}
}

func one(context.Context) (int, error) { return 1, nil }

func TestAStepIsOneAppend(t *testing.T) {
	var written atomic.Int32
	n := start(t, sqlite(t), declared("ten", func(ctx context.Context, w *svc.Work, _ struct{}) (sum int, err error) {
		for i := range 10 {
			v, err := svc.Step(ctx, w, fmt.Sprint("step", i), one)
			if err != nil {
				return sum, err
			}
			sum += v
		}
		return sum, w.Sleep(ctx, time.Millisecond)
	}), appends(&written))
	expect(t, "result", string(n.await(t, "ten", n.invoke(t, "ten", nil)).Result), "10")
	expect(t, "appends of ten steps, a sleep and the end", written.Load(), 12)
}

func TestADurableStepIsWrittenAtOnce(t *testing.T) {
	var written atomic.Int32
	n := start(t, sqlite(t), declared("pay", func(ctx context.Context, w *svc.Work, _ struct{}) ([]int32, error) {
		var after []int32
		for i, options := range [][]svc.StepOption{{}, {svc.Durable}} {
			if _, err := svc.Step(ctx, w, fmt.Sprint("step", i), one, options...); err != nil {
				return nil, err
			}
			after = append(after, written.Load())
		}
		return after, nil
	}), appends(&written))
	expect(t, "appends after a step, and after a durable one", string(n.await(t, "pay", n.invoke(t, "pay", nil)).Result), "[1,3]")
}

// TestABranchIsToldWhileOthersWork lets one branch wait until readers were told that the other has ended.
func TestABranchIsToldWhileOthersWork(t *testing.T) {
	var n *node
	heard := make(chan struct{})
	n = start(t, sqlite(t), declared("wide", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
		quick := svc.Branch("quick", one)
		slow := svc.Branch("slow", func(ctx context.Context) (int, error) {
			select {
			case <-heard:
				return 1, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		err := svc.Parallel(ctx, w, quick, slow)
		return quick.Value + slow.Value, err
	}))
	id := n.invoke(t, "wide", nil)
	eventually(t, "the quick branch is told to have ended", func() bool {
		return strings.Contains(told(n.events(t, "wide", id)), "quick#1 finished")
	})
	close(heard)
	expect(t, "result", string(n.await(t, "wide", id).Result), "2")
}

// errGone is what a store says that has lost an append.
var errGone = errors.New("the disk is gone")

// TestNothingBeginsBeforeWhatEndedIsOnDisk fails the append that carries a step's result: the next step must not begin, and the
// step is done again.
func TestNothingBeginsBeforeWhatEndedIsOnDisk(t *testing.T) {
	var first, second, failed atomic.Int32
	n := start(t, sqlite(t), declared("two", func(ctx context.Context, w *svc.Work, _ struct{}) (int32, error) {
		if _, err := svc.Step(ctx, w, "first", func(context.Context) (int32, error) { return first.Add(1), nil }); err != nil {
			return 0, err
		}
		return svc.Step(ctx, w, "second", func(context.Context) (int32, error) {
			second.Add(1)
			return first.Load(), nil
		})
	}), func(c *svc.Config) {
		c.Store = &losing{c.Store.(*sqlstore.Store), func(m svc.Commit) error {
			if events, err := workflow.Events(m.Data, "", 0); err != nil || strings.Contains(string(bytes.Join(events, nil)), `"finished"`) && failed.Add(1) == 1 {
				expect(t, "second steps that began", second.Load(), 0)
				return errGone
			}
			return nil
		}}
	})
	expect(t, "first steps that ran", string(n.await(t, "two", n.invoke(t, "two", nil)).Result), "2")
	expect(t, "second steps that ran", second.Load(), 1)
}

// losing is a store that loses appends.
type losing struct {
	*sqlstore.Store
	lose func(svc.Commit) error
}

func (l *losing) Append(ctx context.Context, lease svc.Lease, c svc.Commit) (svc.Appended, error) {
	if err := l.lose(c); err != nil {
		return svc.Appended{}, err
	}
	return l.Store.Append(ctx, lease, c)
}

// TestAStopKeepsWhatEndedThoughTheFunctionGoesOn stops a node whose workflow has done a step, and then waits for the end of its context.
func TestAStopKeepsWhatEndedThoughTheFunctionGoesOn(t *testing.T) {
	var steps atomic.Int32
	waits := make(chan struct{}, 2)
	address, stopping := sqlite(t), true
	declare := declared("w", func(ctx context.Context, w *svc.Work, _ struct{}) (int32, error) {
		n, err := svc.Step(ctx, w, "first", func(context.Context) (int32, error) { return steps.Add(1), nil })
		if waits <- struct{}{}; stopping {
			<-ctx.Done()
			return n, ctx.Err()
		}
		return n, err
	})
	slow := func(c *svc.Config) { c.Gather, c.StopTimeout = time.Minute, 50*time.Millisecond }
	n := start(t, address, declare, slow)
	id := n.invoke(t, "w", nil)
	<-waits
	n.stop()
	stopping = false
	n = start(t, address, declare, slow)
	expect(t, "status", n.await(t, "w", id).Status, workflow.Completed)
	expect(t, "steps that ran", steps.Load(), 1)
}
