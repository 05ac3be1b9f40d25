package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

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
func measureAdmission(ctx context.Context, b *Bench, db Database) error {
	var small, prompts, fsyncs times
	err := b.withServer(ctx, db, Setting{}, func(s *Server) (err error) {
		small, _, err = b.admitSteadily(ctx, s, pick(b, 4*time.Second, time.Second))
		return err
	})
	if err != nil {
		return err
	}
	var filling time.Duration
	size := "a large database"
	large := Setting{Fill: func(store svc.Store) error {
		began := time.Now()
		defer func() { filling = time.Since(began) }()
		return fillBytes(ctx, store, pick(b, 1000<<20, 100<<20))
	}}
	err = b.withServer(ctx, db, large, func(s *Server) (err error) {
		prompts, fsyncs, err = b.admitSteadily(ctx, s, pick(b, 8*time.Second, 2*time.Second))
		if file, err := os.Stat(strings.TrimPrefix(s.address, "sqlite:")); err == nil {
			size = mib(file.Size())
		}
		return err
	})
	if err != nil {
		return err
	}
	most := max(admissionFactor*fsyncs.p99(), admissionLeast)
	b.Report.add(Row{
		Measurement: fmt.Sprintf("admission of %d prompts/s, %s of %s", promptsPerSecond, db.Name, size),
		Figure:      fmt.Sprintf("%s, most %s", prompts, ms(prompts.most())),
		Beside:      fmt.Sprintf("raw fsync %s; to an empty database %s; filled in %.0f s", fsyncs, small, filling.Seconds()),
		Target:      fmt.Sprintf("p99 ≤ %s = max(%d × fsync p99, %s)", ms(most), admissionFactor, ms(admissionLeast)),
		Met:         met(prompts.p99() <= most),
	})
	return nil
}

// admitSteadily prompts for a while, after a fifth of it that is not counted. The disk is shared: how long it needs to make
// one block durable is taken right before and right after.
func (b *Bench) admitSteadily(ctx context.Context, s *Server, d time.Duration) (prompts, fsyncs times, err error) {
	if _, err := promptSteadily(ctx, s, d/5); err != nil {
		return nil, nil, err
	}
	// As often as prompts come, not as fast as the disk can: a queue of our own making is no limit of the disk's.
	const pause = time.Second / promptsPerSecond / 4
	before, err := fsyncTimes(b.Folder, d/8, pause, 0)
	if err != nil {
		return nil, nil, err
	}
	if prompts, err = promptSteadily(ctx, s, d); err != nil {
		return nil, nil, err
	}
	after, err := fsyncTimes(b.Folder, d/8, pause, 0)
	return prompts, sorted(before, after), err
}

// fillBytes writes rows of an ordinary size, which nobody will read, to as many conversations as append at once.
func fillBytes(ctx context.Context, store svc.Store, size int) error {
	var all []*filling
	for i := range atOnce {
		f, err := fillConversation(ctx, store, fmt.Sprint("filled-", i))
		if err != nil {
			return err
		}
		all = append(all, f)
	}
	data := make([]byte, filledRow)
	err := inParallel(size/filledRow, func(i int) error {
		_, err := store.Append(ctx, all[i%len(all)].lease, svc.Commit{Data: data, N: 1})
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
func promptSteadily(ctx context.Context, s *Server, d time.Duration) (times, error) {
	admitted := make([]time.Duration, int(d.Seconds()*promptsPerSecond)+1)
	idle := make(chan *wire, len(admitted))
	defer func() {
		close(idle)
		for w := range idle {
			w.close()
		}
	}()
	one := func(id string) (err error) {
		var w *wire
		select {
		case w = <-idle:
		default:
			if w, err = dial(s.Served); err != nil {
				return err
			}
		}
		defer func() { idle <- w }()
		_, err = w.prompt(id, usualPrompt)
		return err
	}
	own, began := talked.Add(1), time.Now()
	var group errgroup.Group
	for n := range admitted {
		if ctx.Err() != nil {
			break
		}
		due := began.Add(time.Duration(n) * time.Second / promptsPerSecond)
		time.Sleep(time.Until(due))
		group.Go(func() error {
			err := one(fmt.Sprintf("steady-%d-%d", own, n))
			admitted[n] = time.Since(due)
			return err
		})
	}
	err := group.Wait()
	return sorted(admitted), err
}
