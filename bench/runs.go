package main

import (
	"context"
	"fmt"
	"time"
)

// The targets of runs on SQLite.
const (
	runCPU        = 450 * time.Microsecond // at concurrency 16
	memoryLoaded  = 120 << 20
	stepsOfOneRun = 200
)

// measureRuns invokes the least workflow there is, waits for each result, and looks at the server's memory afterwards.
func measureRuns(ctx context.Context, b *Bench) error {
	d := pick(b, 4*time.Second, 500*time.Millisecond)
	for _, db := range b.Databases {
		err := b.withServer(ctx, db, func(s *Server) error {
			for _, n := range []int{1, 16, 64} {
				done, err := b.load(ctx, s, Load{
					Path: "/workflows/trivial?wait=result", Writers: n, For: d, Profile: b.profile("runs", db.Name, n),
				})
				if err != nil {
					return err
				}
				b.Report.add(runRow(db, n, done))
			}
			return b.memoryAfterLoad(ctx, db, s)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", db.Name, err)
		}
	}
	return nil
}

func runRow(db Database, n int, done Loaded) Row {
	cpu := done.cpu(1)
	row := Row{
		Measurement: fmt.Sprintf("trivial runs to their result, %s, concurrency %d", db.Name, n),
		Figure:      fmt.Sprintf("%s/s, %s server CPU each", count(done.perSecond()), ms(cpu)),
		Beside:      fmt.Sprintf("p50 %s, p99 %s", ms(done.P50), ms(done.P99)),
		Values: map[string]float64{
			"perSecond": done.perSecond(), "cpuMillis": float64(cpu) / 1e6,
			"p50Millis": float64(done.P50) / 1e6, "p99Millis": float64(done.P99) / 1e6,
		},
	}
	if db.Name == "SQLite" && n == 16 {
		row.Target, row.Met = "≤ "+ms(runCPU)+" server CPU", met(cpu <= runCPU)
	}
	return row
}

func (b *Bench) memoryAfterLoad(ctx context.Context, db Database, s *Server) error {
	time.Sleep(pick(b, time.Second, 200*time.Millisecond))
	var u Usage
	if err := control(ctx, s.Control, "/usage", &u); err != nil {
		return err
	}
	row := Row{
		Measurement: "memory after these runs, " + db.Name,
		Figure:      mib(u.RSS) + " RSS",
		Beside:      mib(u.HighWater) + " at its most",
		Target:      "< " + mib(memoryLoaded), Met: met(u.RSS < memoryLoaded),
		Values: map[string]float64{"rss": float64(u.RSS), "highWater": float64(u.HighWater)},
	}
	b.Report.add(row)
	return nil
}

// measureSteps invokes runs of many steps, each made durable before it begins and after it has ended.
func measureSteps(ctx context.Context, b *Bench) error {
	d := pick(b, 4*time.Second, 500*time.Millisecond)
	for _, db := range b.Databases {
		err := b.withServer(ctx, db, func(s *Server) error {
			limit, err := rawFsync(b.Folder, d/4)
			if err != nil {
				return err
			}
			for _, n := range []int{1, 16} {
				done, err := b.load(ctx, s, Load{
					Path: "/workflows/steps?wait=result", Body: fmt.Sprintf(`{"n":%d}`, stepsOfOneRun),
					Writers: n, For: d, Profile: b.profile("steps", db.Name, n),
				})
				if err != nil {
					return err
				}
				perSecond, cpu := stepsOfOneRun*done.perSecond(), done.cpu(stepsOfOneRun)
				b.Report.add(Row{
					Measurement: fmt.Sprintf("steps of runs of %d, %s, concurrency %d", stepsOfOneRun, db.Name, n),
					Figure:      fmt.Sprintf("%s/s, %d µs server CPU each", count(perSecond), cpu.Microseconds()),
					Beside:      fmt.Sprintf("raw fsync %s; one append a step", limit),
					Values:      map[string]float64{"perSecond": perSecond, "cpuMicros": float64(cpu) / 1e3},
				})
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", db.Name, err)
		}
	}
	return nil
}
