package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The work that is compared with others' engines.
const stepsCompared = 10

var writersCompared = []int{1, 16, 64}

// The most that we may spend, as a share of what the peer does.
const (
	mostCPU        = 0.9
	mostCPUCrowded = 0.5 // with the most writers
	mostWAL        = 1.0
)

// Spent is what some runs cost: the engine's process and, on PostgreSQL, the server's.
type Spent struct {
	Runs int
	Took time.Duration
	CPU  time.Duration
	WAL  int64 // of PostgreSQL
}

func (s Spent) plus(o Spent) Spent {
	return Spent{s.Runs + o.Runs, s.Took + o.Took, s.CPU + o.CPU, s.WAL + o.WAL}
}

// millis is the CPU of one run.
func (s Spent) millis() float64 { return float64(s.CPU) / 1e6 / float64(max(1, s.Runs)) }

// wal is the bytes that PostgreSQL logged for one run.
func (s Spent) wal() float64 { return float64(s.WAL) / float64(max(1, s.Runs)) }

// Both is the same work done by both engines.
type Both struct{ Ours, Peer Spent }

// measurePeers runs the same workflows on our engine and on the peer's, in turns, each on a fresh database.
func measurePeers(ctx context.Context, b *Bench) error {
	for _, db := range b.Databases {
		if err := b.comparePeers(ctx, db); err != nil {
			return fmt.Errorf("%s: %w", db.Name, err)
		}
	}
	return nil
}

func (b *Bench) comparePeers(ctx context.Context, db Database) error {
	var trivial, steps []Both
	err := b.withEngine(ctx, db, ours, func(we *Engine) error {
		return b.withEngine(ctx, db, dbosName, func(peer *Engine) error {
			for _, n := range writersCompared {
				one, err := b.inTurns(ctx, we, peer, Task{Writers: n})
				if err != nil {
					return err
				}
				ten, err := b.inTurns(ctx, we, peer, Task{Writers: n, Steps: stepsCompared})
				if err != nil {
					return err
				}
				trivial, steps = append(trivial, one), append(steps, ten)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	b.Report.Comparisons = slices.Concat(b.Report.Comparisons, compareCPU(db, "trivial workflow", trivial),
		compareCPU(db, fmt.Sprintf("workflow of %d steps", stepsCompared), steps))
	if db.Name == "PostgreSQL" {
		b.Report.Comparisons = slices.Concat(b.Report.Comparisons, compareWAL(trivial, steps))
	}
	return nil
}

// inTurns lets both engines do a task, one after the other and again, so that what disturbs one disturbs both.
func (b *Bench) inTurns(ctx context.Context, we, peer *Engine, t Task) (both Both, err error) {
	t.For = pick(b, 250*time.Millisecond, 100*time.Millisecond)
	if _, err := we.do(ctx, t); err != nil {
		return both, err
	}
	if _, err := peer.do(ctx, t); err != nil {
		return both, err
	}
	t.For = pick(b, time.Second, 300*time.Millisecond)
	for range pick(b, 3, 2) {
		mine, err := we.do(ctx, t)
		if err != nil {
			return both, err
		}
		theirs, err := peer.do(ctx, t)
		if err != nil {
			return both, err
		}
		both.Ours, both.Peer = both.Ours.plus(mine), both.Peer.plus(theirs)
	}
	return both, nil
}

func compareCPU(db Database, work string, all []Both) (rows []Comparison) {
	for i, both := range all {
		most := mostCPU
		if i == len(all)-1 {
			most = mostCPUCrowded
		}
		rows = append(rows, Comparison{
			Work: work + ", " + db.Name + ", CPU", Concurrency: writersCompared[i], Unit: "ms",
			Ours: both.Ours.millis(), Peer: both.Peer.millis(), Most: most,
		})
	}
	return rows
}

// compareWAL is of a trivial run, and of what each step adds to it.
func compareWAL(trivial, steps []Both) (rows []Comparison) {
	row := func(work string, i int, ours, peer float64) Comparison {
		return Comparison{Work: work, Concurrency: writersCompared[i], Unit: "KB", Ours: ours / 1000, Peer: peer / 1000, Most: mostWAL}
	}
	for i, one := range trivial {
		rows = append(rows, row("trivial workflow, PostgreSQL, WAL", i, one.Ours.wal(), one.Peer.wal()))
	}
	for i, one := range trivial {
		rows = append(rows, row("a step, PostgreSQL, WAL", i,
			(steps[i].Ours.wal()-one.Ours.wal())/stepsCompared, (steps[i].Peer.wal()-one.Peer.wal())/stepsCompared))
	}
	return rows
}

// Engine is a library at work in a process of its own.
type Engine struct {
	*Server
	db      Database
	address string
}

// withEngine runs fn with an engine on a fresh database, and ends both.
func (b *Bench) withEngine(ctx context.Context, db Database, name string, fn func(*Engine) error) (err error) {
	address, drop, err := db.make(ctx)
	if err != nil {
		return err
	}
	defer drop()
	s, err := b.startServer(ctx, "library", "-of", name, "-db", address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return fn(&Engine{s, db, address})
}

// do lets the engine do a task, and sees what that cost.
func (e *Engine) do(ctx context.Context, t Task) (spent Spent, err error) {
	before, err := e.used(ctx)
	if err != nil {
		return spent, err
	}
	var done Done
	if err := control(ctx, e.Control, t.path(), &done); err != nil {
		return spent, err
	}
	after, err := e.used(ctx)
	return Spent{done.Runs, done.Took, after.since(before), after.wal - before.wal}, err
}

// used is what the engine and its database have used so far.
type used struct {
	cpu      time.Duration         // of the engine
	backends map[int]time.Duration // of PostgreSQL's processes
	wal      int64
}

func (e *Engine) used(ctx context.Context) (u used, err error) {
	var own Usage
	if err := control(ctx, e.Control, "/usage", &own); err != nil {
		return u, err
	}
	u.cpu = own.CPU
	if u.wal, err = walOf(ctx, e.db, e.address); err != nil {
		return u, err
	}
	u.backends, err = backendsOf(ctx, e.db, e.address)
	return u, err
}

// since is the CPU that was used after an earlier look. What a process used that has ended in between is lost: engines keep
// their connections.
func (u used) since(before used) time.Duration {
	sum := u.cpu - before.cpu
	for pid, cpu := range u.backends {
		sum += cpu - before.backends[pid]
	}
	return sum
}

// backendsOf is the CPU of the processes that serve a database of PostgreSQL, and of those that write for all of them.
func backendsOf(ctx context.Context, db Database, address string) (map[int]time.Duration, error) {
	if db.Name != "PostgreSQL" {
		return nil, nil
	}
	var pids []int32
	err := ask(ctx, address, `SELECT array_agg(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
		AND (datname = current_database() OR backend_type IN ('walwriter', 'checkpointer', 'background writer'))`, &pids)
	if err != nil {
		return nil, err
	}
	all := map[int]time.Duration{}
	for _, pid := range pids {
		if all[int(pid)], err = cpuOf(int(pid)); err != nil {
			return nil, fmt.Errorf("PostgreSQL's process %d, on this machine: %w", pid, err)
		}
	}
	return all, nil
}
