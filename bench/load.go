package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// times are how long things took, the shortest first.
type times []time.Duration

func sorted(all ...[]time.Duration) times {
	t := slices.Concat(all...)
	slices.Sort(t)
	return t
}

// at is a quantile; zero of nothing.
func (t times) at(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[min(len(t)-1, int(q*float64(len(t))))]
}

func (t times) p50() time.Duration  { return t.at(0.5) }
func (t times) p99() time.Duration  { return t.at(0.99) }
func (t times) most() time.Duration { return t.at(1) }

func (t times) String() string { return fmt.Sprintf("p50 %s, p99 %s", ms(t.p50()), ms(t.p99())) }

// drive lets so many writers do something for a while, each again and again, and returns how long each time took. What is
// under way at the end is waited for and counts.
func drive(ctx context.Context, writers int, d time.Duration, do func(writer int) error) (times, error) {
	until := time.Now().Add(d)
	took := make([][]time.Duration, writers)
	var group errgroup.Group
	for i := range writers {
		group.Go(func() error {
			for at := time.Now(); at.Before(until) && ctx.Err() == nil; {
				if err := do(i); err != nil {
					return err
				}
				now := time.Now()
				took[i], at = append(took[i], now.Sub(at)), now
			}
			return nil
		})
	}
	err := group.Wait()
	return sorted(took...), err
}

// atOnce is how many things are under way while a database is filled, where they share their commits, or connections opened.
const atOnce = 64

// inParallel does something so many times.
func inParallel(n int, do func(i int) error) error {
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(atOnce)
	for i := 0; i < n && ctx.Err() == nil; i++ {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}
