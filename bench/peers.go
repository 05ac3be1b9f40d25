package main

import (
	"context"
	"errors"
	"fmt"
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

// Both is what the same work cost both engines: CPU in milliseconds and WAL in KB, each run.
type Both struct {
	OurCPU, PeerCPU float64
	OurWAL, PeerWAL float64
}

// measurePeers runs the same workflows on our engine and on the peer's, in turns, each on a fresh database.
func measurePeers(ctx context.Context, b *Bench, db Database) error {
	var trivial, steps []Both
	err := b.withServer(ctx, db, Setting{}, func(we *Server) error {
		return b.withServer(ctx, db, Setting{Engine: dbosName}, func(peer *Server) (err error) {
			if trivial, err = b.compare(ctx, we, peer, 0); err == nil {
				steps, err = b.compare(ctx, we, peer, stepsCompared)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	add := func(work string, i int, unit string, ours, peer, most float64) {
		b.Report.Comparisons = append(b.Report.Comparisons, Comparison{work, writersCompared[i], unit, ours, peer, most})
	}
	addCPU := func(work string, all []Both) {
		for i, both := range all {
			most := mostCPU
			if i == len(all)-1 {
				most = mostCPUCrowded
			}
			add(work+", "+db.Name+", CPU", i, "ms", both.OurCPU, both.PeerCPU, most)
		}
	}
	addCPU("trivial workflow", trivial)
	addCPU(fmt.Sprintf("workflow of %d steps", stepsCompared), steps)
	if db.Name != postgres {
		return nil
	}
	for i, one := range trivial {
		add("trivial workflow, PostgreSQL, WAL", i, "KB", one.OurWAL, one.PeerWAL, mostWAL)
	}
	for i, one := range trivial { // what each step adds
		add("a step, PostgreSQL, WAL", i, "KB",
			(steps[i].OurWAL-one.OurWAL)/stepsCompared, (steps[i].PeerWAL-one.PeerWAL)/stepsCompared, mostWAL)
	}
	return nil
}

// compare lets both engines run workflows of so many steps, with each number of writers.
func (b *Bench) compare(ctx context.Context, we, peer *Server, steps int) (all []Both, err error) {
	for _, n := range writersCompared {
		both, err := b.inTurns(ctx, we, peer, Task{Writers: n, Steps: steps})
		if err != nil {
			return nil, err
		}
		all = append(all, both)
	}
	return all, nil
}

// inTurns lets both engines do a task, one after the other and again, so that what disturbs one disturbs both. The first turn
// is shorter, and is not counted.
func (b *Bench) inTurns(ctx context.Context, we, peer *Server, t Task) (both Both, err error) {
	var cost [2]struct{ runs, cpu, wal float64 }
	for turn := range pick(b, 4, 3) {
		t.For = pick(b, time.Second, 300*time.Millisecond)
		if turn == 0 {
			t.For = pick(b, 250*time.Millisecond, 100*time.Millisecond)
		}
		for i, s := range []*Server{we, peer} {
			spent, err := s.do(ctx, t)
			if err == nil && s.db.Name == postgres && spent.Database == 0 {
				err = errors.New("PostgreSQL's processes are not on this machine: what they spend is unknown")
			}
			if err != nil {
				return both, err
			}
			if turn > 0 {
				cost[i].runs += float64(spent.N)
				cost[i].cpu += float64(spent.CPU+spent.Database) / 1e6
				cost[i].wal += float64(spent.WAL) / 1e3
			}
		}
	}
	our, their := cost[0], cost[1]
	return Both{our.cpu / our.runs, their.cpu / their.runs, our.wal / our.runs, their.wal / their.runs}, nil
}
