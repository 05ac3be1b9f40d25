package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.dev/svc"
)

// The target of admissions to a large database: so many times the p99 of an fsync, or this, whichever is more.
const (
	admissionFactor = 5
	admissionLeast  = 10 * time.Millisecond
)

const (
	promptsPerSecond = 200
	filledRow        = 8 << 10 // bytes
)

// measureAdmission prompts at a steady rate while the database is large.
func measureAdmission(ctx context.Context, b *Bench) error {
	size := pick(b, 1000<<20, 100<<20)
	db := b.Databases[0]
	var small Admitted
	err := b.withServer(ctx, db, func(s *Server) (err error) {
		small, err = b.admitSteadily(ctx, s, pick(b, 4*time.Second, time.Second), "")
		return err
	})
	if err != nil {
		return err
	}
	began := time.Now()
	return filled(ctx, db, func(store svc.Store) error { return fillBytes(ctx, store, size) }, func(address string) error {
		took := time.Since(began)
		return b.withServerOn(ctx, address, func(s *Server) error {
			large, err := b.admitSteadily(ctx, s, pick(b, 8*time.Second, 2*time.Second), b.profile("admission", db.Name))
			if err == nil {
				b.Report.add(admissionRow(db, address, took, large, small))
			}
			return err
		})
	})
}

// Admitted is how long admissions took, and how long the disk needs to make one block durable: taken right before and
// right after, for the disk is shared.
type Admitted struct {
	prompts []time.Duration // sorted
	fsyncs  []time.Duration
}

// admitSteadily prompts for a while, after a fifth of it that is not counted.
func (b *Bench) admitSteadily(ctx context.Context, s *Server, d time.Duration, profile string) (a Admitted, err error) {
	if _, err := promptSteadily(ctx, s, d/5); err != nil {
		return a, err
	}
	before, err := fsyncTimes(b.Folder, d/8)
	if err != nil {
		return a, err
	}
	_, _, err = spent(ctx, s.Control, profile, func() (err error) {
		a.prompts, err = promptSteadily(ctx, s, d)
		return err
	})
	if err != nil {
		return a, err
	}
	after, err := fsyncTimes(b.Folder, d/8)
	a.fsyncs = append(before, after...)
	slices.Sort(a.prompts)
	slices.Sort(a.fsyncs)
	return a, err
}

func admissionRow(db Database, address string, fill time.Duration, large, small Admitted) Row {
	p50, p99, fsync := quantile(large.prompts, 0.5), quantile(large.prompts, 0.99), quantile(large.fsyncs, 0.99)
	smallP99 := quantile(small.prompts, 0.99)
	most := max(admissionFactor*fsync, admissionLeast)
	size := "a large database"
	if file, err := os.Stat(strings.TrimPrefix(address, "sqlite:")); err == nil {
		size = mib(file.Size())
	}
	return Row{
		Measurement: fmt.Sprintf("admission of %d prompts/s, %s of %s", promptsPerSecond, db.Name, size),
		Figure:      fmt.Sprintf("p50 %s, p99 %s, most %s", ms(p50), ms(p99), ms(quantile(large.prompts, 1))),
		Beside: fmt.Sprintf("raw fsync p50 %s, p99 %s; to an empty database p50 %s, p99 %s; filled in %.0f s",
			ms(quantile(large.fsyncs, 0.5)), ms(fsync), ms(quantile(small.prompts, 0.5)), ms(smallP99), fill.Seconds()),
		Target: fmt.Sprintf("p99 ≤ %s = max(%d × fsync p99, %s)", ms(most), admissionFactor, ms(admissionLeast)),
		Met:    met(p99 <= most),
		Values: map[string]float64{
			"p50Millis": float64(p50) / 1e6, "p99Millis": float64(p99) / 1e6, "fsyncP99Millis": float64(fsync) / 1e6,
			"emptyP99Millis": float64(smallP99) / 1e6, "fillSeconds": fill.Seconds(),
		},
	}
}

// fillBytes writes rows of an ordinary size, which nobody will read, to as many conversations as there are fillers.
func fillBytes(ctx context.Context, store svc.Store, size int) error {
	var all []*filling
	for i := range fillers {
		f, err := fillConversation(ctx, store, fmt.Sprint("filled-", i))
		if err != nil {
			return err
		}
		all = append(all, f)
	}
	data := make([]byte, filledRow)
	err := inParallel(size/filledRow, func(i int) error {
		f := all[i%len(all)]
		_, err := store.Append(ctx, f.lease, svc.Commit{Data: data, N: 1})
		return err
	})
	for _, f := range all {
		if err == nil {
			_, err = f.settle(ctx)
		}
	}
	return err
}

// promptSteadily prompts at a rate that does not wait for answers, and says how long each took from the moment it was due.
func promptSteadily(ctx context.Context, s *Server, d time.Duration) (admitted []time.Duration, err error) {
	var mu sync.Mutex
	var idle []*wire
	defer func() {
		for _, w := range idle {
			w.close()
		}
	}()
	one := func(id string, due time.Time) error {
		mu.Lock()
		var w *wire
		if n := len(idle); n > 0 {
			w, idle = idle[n-1], idle[:n-1]
		}
		mu.Unlock()
		if w == nil {
			var err error
			if w, err = dial(s.Served); err != nil {
				return err
			}
		}
		_, err := w.prompt(id, usualPrompt)
		took := time.Since(due)
		mu.Lock()
		defer mu.Unlock()
		idle, admitted = append(idle, w), append(admitted, took)
		return err
	}
	own := talks.Add(1)
	failures := make(chan error, int(d.Seconds()*promptsPerSecond)+1)
	var group sync.WaitGroup
	for n, due := 0, time.Now(); n < cap(failures) && ctx.Err() == nil; n++ {
		time.Sleep(time.Until(due))
		at := due
		group.Go(func() { failures <- one(fmt.Sprintf("steady-%d-%d", own, n), at) })
		due = due.Add(time.Second / promptsPerSecond)
	}
	group.Wait()
	close(failures)
	for failure := range failures {
		err = errors.Join(err, failure)
	}
	return admitted, err
}

// fsyncTimes is how long each of many writes of 4 KB took to be durable, at the end of a file that grows.
func fsyncTimes(folder string, d time.Duration) (all []time.Duration, err error) {
	f, err := os.Create(filepath.Join(folder, "fsync"))
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer func() { err = errors.Join(err, f.Close()) }()
	block := make([]byte, 4096)
	for began := time.Now(); time.Since(began) < d; {
		// As often as prompts come, not as fast as the disk can: a queue of our own making is no limit of the disk's.
		time.Sleep(time.Second / promptsPerSecond / 4)
		wrote := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
		if err := fdatasync(f); err != nil {
			return nil, err
		}
		all = append(all, time.Since(wrote))
	}
	return all, nil
}
