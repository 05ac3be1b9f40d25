package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/sqlstore"
)

const (
	recordBytes = 400
	mostWriters = 128
)

// The targets of an append on SQLite, with the most writers.
const (
	appendCPU   = 60 * time.Microsecond
	appendBytes = 12_000
	fsyncFactor = 5   // times the rate of raw fsyncs: group commit
	writerShare = 0.6 // of a second of CPU, where the CPU is the limit
)

// measureAppends appends from more and more writers, each in its own stream, to a fresh database each time.
func measureAppends(ctx context.Context, b *Bench, db Database) error {
	d := pick(b, 4*time.Second, 500*time.Millisecond)
	last := 0.0
	for _, n := range []int{1, 16, mostWriters} {
		// The disk is shared: its limit is taken right before and right after.
		before, err := rawFsync(b.Folder, d/4)
		if err != nil {
			return err
		}
		var done Spent
		err = b.withServer(ctx, db, Setting{Engine: storeName}, func(s *Server) (err error) {
			done, err = appendFor(ctx, s, n, d)
			return err
		})
		if err != nil {
			return err
		}
		after, err := rawFsync(b.Folder, d/4)
		if err != nil {
			return err
		}
		limit := before.plus(after)
		b.Report.fsync = b.Report.fsync.plus(limit)
		b.Report.add(appendRow(db, n, done, limit, last))
		last = done.perSecond()
	}
	return nil
}

// appendFor appends from n writers, after a fifth of the time that is not counted.
func appendFor(ctx context.Context, s *Server, n int, d time.Duration) (done Spent, err error) {
	if _, err := s.do(ctx, Task{Writers: n, For: d / 5}); err != nil {
		return done, err
	}
	if done, err = s.do(ctx, Task{Writers: n, For: d}); err != nil {
		return done, err
	}
	// Closing folds the WAL into the file: what was written is then all there is.
	var before, after Usage
	if err := s.control(ctx, "/usage", &before); err != nil {
		return done, err
	}
	if err := s.control(ctx, "/close", nil); err != nil {
		return done, err
	}
	err = s.control(ctx, "/usage", &after)
	done.Written += after.Written - before.Written
	return done, err
}

func appendRow(db Database, n int, done Spent, limit Raw, last float64) Row {
	row := Row{
		Measurement: fmt.Sprintf("appends of %d bytes, %s, writers: %d", recordBytes, db.Name, n),
		Figure:      fmt.Sprintf("%s/s, %d µs CPU", count(done.perSecond()), done.cpu().Microseconds()),
		Beside:      "raw fsync " + limit.String(),
	}
	if db.Name == postgres {
		row.Figure += fmt.Sprintf(" of the client, %s of WAL", kb(done.each(done.WAL)))
		if n > 1 {
			row.Target, row.Met = "more than with fewer writers", met(done.perSecond() > last)
		}
		return row
	}
	bytes := done.each(done.Written)
	row.Figure += fmt.Sprintf(", %s written", kb(bytes))
	if n == mostWriters {
		least := min(fsyncFactor*perSecond(limit.Append), writerShare/done.cpu().Seconds())
		row.Target = fmt.Sprintf("≤ %d µs, ≤ %s, ≥ %s/s = min(%d × raw fsync, %.1f s ÷ CPU)", appendCPU.Microseconds(), kb(appendBytes),
			count(least), fsyncFactor, writerShare)
		row.Met = met(done.cpu() <= appendCPU && bytes <= appendBytes && done.perSecond() >= least)
	}
	return row
}

const storeName = "store"

// openStore is a store without a runtime: each writer holds a stream, and appends to it.
func openStore(ctx context.Context, address string, log *slog.Logger, control *http.ServeMux) (e engine, err error) {
	store, err := sqlstore.Open(ctx, address, sqlstore.Config{Log: log})
	if err != nil {
		return e, err
	}
	var leases []svc.Lease
	for i := range mostWriters {
		id := fmt.Sprintf("run_%d", i)
		receipt, err := store.Admit(ctx, svc.Admission{
			Stream:     svc.Stream{Kind: svc.KindRun, Name: "bench", ID: id},
			Submission: id, Kind: svc.Invoked, Run: true, Owner: &svc.Owner{Node: "bench", Boot: "bench", Lease: longest},
		})
		if err != nil {
			return e, errors.Join(err, store.Close())
		}
		leases = append(leases, *receipt.Lease)
	}
	data := make([]byte, recordBytes)
	e.work = func(ctx context.Context, writer, _ int) error {
		_, err := store.Append(ctx, leases[writer], svc.Commit{Data: data, N: 1})
		return err
	}
	e.close = sync.OnceValue(store.Close)
	control.HandleFunc("POST /close", func(w http.ResponseWriter, _ *http.Request) { answer(w, nil, e.close()) })
	return e, nil
}

// Raw is what the disk allows, one write of 4 KB and one fdatasync after another. A WAL is longer only until its first
// checkpoint, and written over from then on, which a file system makes durable with less work: a store with one writer may
// therefore pass the first figure, not the second.
type Raw struct {
	Append    []time.Duration // to the end of a file
	Overwrite []time.Duration // within it
}

func (r Raw) plus(o Raw) Raw {
	return Raw{slices.Concat(r.Append, o.Append), slices.Concat(r.Overwrite, o.Overwrite)}
}

func (r Raw) String() string {
	return fmt.Sprintf("%s/s, overwriting %s/s", count(perSecond(r.Append)), count(perSecond(r.Overwrite)))
}

// perSecond is how often something is done that took so long each time.
func perSecond(took []time.Duration) float64 {
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	return float64(len(took)) / max(sum.Seconds(), 1e-9)
}

// walBlocks is how far a WAL grows before it is written over.
const walBlocks = 4000

func rawFsync(folder string, d time.Duration) (r Raw, err error) {
	if r.Append, err = fsyncTimes(folder, d/2, 0, 0); err != nil {
		return r, err
	}
	r.Overwrite, err = fsyncTimes(folder, d/2, 0, min(len(r.Append), walBlocks))
	return r, err
}

// fsyncTimes is how long each write of 4 KB took to be durable, with a pause before it: at the end of a file that grows, or
// over the blocks that it has already.
func fsyncTimes(folder string, d, pause time.Duration, blocks int) (all []time.Duration, err error) {
	f, err := os.Create(filepath.Join(folder, "fsync"))
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer func() { err = errors.Join(err, f.Close()) }()
	block := make([]byte, 4096)
	if _, err := f.Write(make([]byte, blocks*len(block))); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	for began := time.Now(); len(all) == 0 || time.Since(began) < d; {
		time.Sleep(pause)
		place := len(all)
		if blocks > 0 {
			place %= blocks
		}
		wrote := time.Now()
		if _, err := f.WriteAt(block, int64(place*len(block))); err != nil {
			return nil, err
		}
		if err := fdatasync(f); err != nil {
			return nil, err
		}
		all = append(all, time.Since(wrote))
	}
	return all, nil
}
