package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// The targets of runs on SQLite.
const (
	runCPU       = 450 * time.Microsecond // at concurrency 16
	memoryLoaded = 120 << 20
)

// measureRuns invokes the least workflow there is, waits for each result, and looks at the server's memory afterwards.
func measureRuns(ctx context.Context, b *Bench, db Database) error {
	return b.withServer(ctx, db, Setting{}, func(s *Server) error {
		for _, n := range []int{1, 16, 64} {
			spent, took, err := invokeFor(ctx, s, n, pick(b, 4*time.Second, 500*time.Millisecond))
			if err != nil {
				return err
			}
			row := Row{
				Measurement: fmt.Sprintf("trivial runs to their result, %s, concurrency %d", db.Name, n),
				Figure:      fmt.Sprintf("%s/s, %s server CPU each", count(spent.perSecond()), ms(spent.cpu())),
				Beside:      took.String(),
			}
			if db.Name == sqlite && n == 16 {
				row.Target, row.Met = "≤ "+ms(runCPU)+" server CPU", met(spent.cpu() <= runCPU)
			}
			b.Report.add(row)
		}
		time.Sleep(pick(b, time.Second, 200*time.Millisecond))
		var u Usage
		if err := s.control(ctx, "/usage", &u); err != nil {
			return err
		}
		b.Report.add(Row{
			Measurement: "memory after these runs, " + db.Name,
			Figure:      mib(u.RSS) + " RSS",
			Beside:      mib(u.HighWater) + " at its most",
			Target:      "< " + mib(memoryLoaded), Met: met(u.RSS < memoryLoaded),
		})
		return nil
	})
}

// invokeFor invokes runs over HTTP for a while, after a fifth of it that is not counted.
func invokeFor(ctx context.Context, s *Server, writers int, d time.Duration) (spent Spent, took times, err error) {
	wires, closeAll, err := dialAll(s.Door, writers)
	if err != nil {
		return spent, nil, err
	}
	defer closeAll()
	one := func(i int) error {
		_, _, err := wires[i].ask(http.MethodPost, "/workflows/trivial?wait=result", "")
		return err
	}
	if _, err := drive(ctx, writers, d/5, one); err != nil {
		return spent, nil, err
	}
	spent, err = s.spend(ctx, func() (int, error) {
		took, err = drive(ctx, writers, d, one)
		return len(took), err
	})
	return spent, took, err
}
