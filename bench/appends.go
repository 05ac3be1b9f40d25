package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/sqlstore"
)

const recordBytes = 400

// The targets of an append on SQLite, at 128 writers.
const (
	appendCPU   = 60 * time.Microsecond
	appendBytes = 12_000
	fsyncFactor = 5   // times the rate of raw fsyncs: group commit
	writerShare = 0.6 // of a second of CPU, where the CPU is the limit
)

// Appended is what came of a number of writers, each in its own stream.
type Appended struct {
	Appends int
	Took    time.Duration
	CPU     time.Duration // of this process
	Written int64         // by this process, with what a last checkpoint wrote
	WAL     int64         // of PostgreSQL
}

func (a Appended) perSecond() float64 { return float64(a.Appends) / a.Took.Seconds() }
func (a Appended) cpu() time.Duration { return a.CPU / time.Duration(max(1, a.Appends)) }
func (a Appended) bytes(n int64) float64 {
	return float64(n) / float64(max(1, a.Appends))
}

func measureAppends(ctx context.Context, b *Bench) error {
	writers := []int{1, 16, 128}
	d := pick(b, 4*time.Second, 500*time.Millisecond)
	var syncs Raw
	for _, db := range b.Databases {
		last := 0.0
		for _, n := range writers {
			// The disk is shared: its limit is taken right before and right after.
			limit, err := rawFsync(b.Folder, d/4)
			if err != nil {
				return err
			}
			done, err := appendFor(ctx, db, n, d, b.profile("appends", db.Name, n))
			if err != nil {
				return fmt.Errorf("%s: %w", db.Name, err)
			}
			after, err := rawFsync(b.Folder, d/4)
			if err != nil {
				return err
			}
			limit = limit.plus(after)
			syncs = syncs.plus(limit)
			b.Report.add(appendRow(db, n, done, limit, last))
			last = done.perSecond()
		}
	}
	b.Report.fsync = syncs.String()
	return nil
}

func appendRow(db Database, n int, done Appended, limit Raw, last float64) Row {
	row := Row{
		Measurement: fmt.Sprintf("appends of %d bytes, %s, writers: %d", recordBytes, db.Name, n),
		Figure:      fmt.Sprintf("%s/s, %d µs CPU", count(done.perSecond()), done.cpu().Microseconds()),
		Beside:      "raw fsync " + limit.String(),
		Values: map[string]float64{
			"perSecond": done.perSecond(), "cpuMicros": float64(done.cpu()) / 1e3,
			"rawFsyncPerSecond": limit.Append.perSecond(), "rawOverwritePerSecond": limit.Overwrite.perSecond(),
		},
	}
	if db.Name == "PostgreSQL" {
		row.Figure += fmt.Sprintf(" of the client, %s of WAL", kb(done.bytes(done.WAL)))
		row.Values["walBytes"] = done.bytes(done.WAL)
		if n > 1 {
			row.Target, row.Met = "more than with fewer writers", met(done.perSecond() > last)
		}
		return row
	}
	row.Figure += fmt.Sprintf(", %s written", kb(done.bytes(done.Written)))
	row.Values["writtenBytes"] = done.bytes(done.Written)
	if n < 128 {
		return row
	}
	least := min(fsyncFactor*limit.Append.perSecond(), writerShare/done.cpu().Seconds())
	row.Values["leastPerSecond"] = least
	row.Target = fmt.Sprintf("≤ %d µs, ≤ %s, ≥ %s/s = min(%d × raw fsync, %.1f s ÷ CPU)", appendCPU.Microseconds(), kb(appendBytes),
		count(least), fsyncFactor, writerShare)
	row.Met = met(done.cpu() <= appendCPU && done.bytes(done.Written) <= appendBytes && done.perSecond() >= least)
	return row
}

// appendFor appends in a loop from n writers, to a fresh database.
func appendFor(ctx context.Context, db Database, n int, d time.Duration, profile string) (done Appended, err error) {
	address, drop, err := db.make(ctx)
	if err != nil {
		return done, err
	}
	defer drop()
	store, err := sqlstore.Open(ctx, address, sqlstore.Config{})
	if err != nil {
		return done, err
	}
	leases, err := leaseStreams(ctx, store, n)
	if err == nil {
		_, err = appendAll(ctx, store, leases, d/5)
	}
	if err != nil {
		return done, errors.Join(err, store.Close())
	}
	before, err := usage()
	if err == nil {
		done, err = appendMeasured(ctx, db, address, store, leases, d, profile)
	}
	// Closing folds the WAL into the file: what was written is then all there is.
	if err := errors.Join(err, store.Close()); err != nil {
		return done, err
	}
	after, err := usage()
	done.Written = after.Written - before.Written
	return done, err
}

func appendMeasured(ctx context.Context, db Database, address string, store svc.Store, leases []svc.Lease, d time.Duration, profile string) (done Appended, err error) {
	wal, err := walOf(ctx, db, address)
	if err != nil {
		return done, err
	}
	if profile != "" {
		if err := startProfile(profile); err != nil {
			return done, err
		}
		defer pprof.StopCPUProfile()
	}
	before, err := usage()
	if err != nil {
		return done, err
	}
	began := time.Now()
	if done.Appends, err = appendAll(ctx, store, leases, d); err != nil {
		return done, err
	}
	done.Took = time.Since(began)
	after, err := usage()
	if err != nil {
		return done, err
	}
	done.CPU = after.CPU - before.CPU
	walAfter, err := walOf(ctx, db, address)
	done.WAL = walAfter - wal
	return done, err
}

// leaseStreams makes a stream for each writer, held by it.
func leaseStreams(ctx context.Context, store svc.Store, n int) ([]svc.Lease, error) {
	owner := svc.Owner{Node: "bench", Boot: "bench", Lease: longest}
	var leases []svc.Lease
	for i := range n {
		id := fmt.Sprintf("run_%d", i)
		receipt, err := store.Admit(ctx, svc.Admission{
			Stream:     svc.Stream{Kind: svc.KindRun, Name: "bench", ID: id},
			Submission: id, Kind: svc.Invoked, Run: true, Owner: &owner,
		})
		if err != nil {
			return nil, err
		}
		leases = append(leases, *receipt.Lease)
	}
	return leases, nil
}

// appendAll lets every writer append for a while, and counts.
func appendAll(ctx context.Context, store svc.Store, leases []svc.Lease, d time.Duration) (int, error) {
	data := make([]byte, recordBytes)
	until := time.Now().Add(d)
	var appends atomic.Int64
	var mu sync.Mutex
	var failure error
	var group sync.WaitGroup
	for _, l := range leases {
		group.Go(func() {
			for time.Now().Before(until) && ctx.Err() == nil {
				if _, err := store.Append(ctx, l, svc.Commit{Data: data, N: 1}); err != nil {
					mu.Lock()
					failure = err // one tells enough
					mu.Unlock()
					return
				}
				appends.Add(1)
			}
		})
	}
	group.Wait()
	return int(appends.Load()), failure
}

// walOf is how many bytes PostgreSQL has logged in its life; zero of SQLite.
func walOf(ctx context.Context, db Database, address string) (n int64, err error) {
	if db.Name != "PostgreSQL" {
		return 0, nil
	}
	err = ask(ctx, address, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint", &n)
	return n, err
}

// rate is how often something was done in some time.
type rate struct {
	n    int
	took time.Duration
}

func (r rate) plus(o rate) rate { return rate{r.n + o.n, r.took + o.took} }

func (r rate) perSecond() float64 { return float64(r.n) / max(r.took.Seconds(), 1e-9) }

// Raw is what the disk allows, one write of 4 KB and one fdatasync after another. A WAL is longer only until its first
// checkpoint, and written over from then on, which a file system makes durable with less work: a store with one writer may
// therefore pass the first figure, not the second.
type Raw struct {
	Append    rate // to the end of a file
	Overwrite rate // within it
}

func (r Raw) plus(o Raw) Raw { return Raw{r.Append.plus(o.Append), r.Overwrite.plus(o.Overwrite)} }

func (r Raw) String() string {
	return fmt.Sprintf("%s/s, overwriting %s/s", count(r.Append.perSecond()), count(r.Overwrite.perSecond()))
}

// walBlocks is how far a WAL grows before it is written over.
const walBlocks = 4000

func rawFsync(folder string, d time.Duration) (r Raw, err error) {
	f, err := os.Create(filepath.Join(folder, "fsync"))
	if err != nil {
		return r, err
	}
	defer os.Remove(f.Name())
	defer func() { err = errors.Join(err, f.Close()) }()
	if r.Append, err = syncFor(f, d/2, func(n int) int { return n }); err != nil {
		return r, err
	}
	blocks := min(r.Append.n, walBlocks)
	r.Overwrite, err = syncFor(f, d/2, func(n int) int { return n % blocks })
	return r, err
}

// syncFor writes blocks for a while, the nth at the place that is given for it.
func syncFor(f *os.File, d time.Duration, place func(n int) int) (r rate, err error) {
	block := make([]byte, 4096)
	for began := time.Now(); r.n == 0 || r.took < d; r.took = time.Since(began) {
		if _, err := f.WriteAt(block, int64(place(r.n)*len(block))); err != nil {
			return r, err
		}
		if err := fdatasync(f); err != nil {
			return r, err
		}
		r.n++
	}
	return r, nil
}
