package main

import (
	"context"
	"fmt"
	"time"
)

// The targets of idle connections.
const (
	idleRatio    = 1.5
	idleBytes    = 26 << 10
	idleManyFull = 10_000
)

// measureIdle opens connections on which nothing happens, to a run that sleeps and to a bare server.
func measureIdle(ctx context.Context, b *Bench, db Database) error {
	counts := pick(b, []int{1000, idleManyFull}, []int{200, 1000})
	if counts[1] > openFiles()-100 {
		return fmt.Errorf("%d connections need more open files than the %d there may be: raise ulimit -n", counts[1], openFiles())
	}
	var bare, own []float64
	err := b.withServer(ctx, db, Setting{Engine: bareName}, func(s *Server) (err error) {
		bare, err = b.idle(ctx, s, "/", counts)
		return err
	})
	if err != nil {
		return err
	}
	err = b.withServer(ctx, db, Setting{}, func(s *Server) error {
		id, err := invoke(s.Served, "sleeper", "")
		if err == nil {
			own, err = b.idle(ctx, s, liveRun(id), counts)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, n := range counts {
		row := Row{
			Measurement: fmt.Sprintf("idle SSE connections, %s open", count(n)),
			Figure:      fmt.Sprintf("%s of server RSS each", kb(own[i])),
			Beside:      fmt.Sprintf("bare net/http: %s, ratio %.2f", kb(bare[i]), own[i]/bare[i]),
		}
		if n == idleManyFull {
			row.Target = fmt.Sprintf("≤ %.1f × bare, ≤ %s", idleRatio, kb(idleBytes))
			row.Met = met(own[i] <= idleRatio*bare[i] && own[i] <= idleBytes)
		}
		b.Report.add(row)
	}
	return nil
}

// idle says how much of a server's memory each connection holds, for each count of open ones.
func (b *Bench) idle(ctx context.Context, s *Server, path string, counts []int) (each []float64, err error) {
	// What a server makes once is not counted.
	_, closeAll, err := followAll(s.Served, path, 1)
	if err != nil {
		return nil, err
	}
	closeAll()
	var before, u Usage
	if err := s.control(ctx, "/settle", &before); err != nil {
		return nil, err
	}
	opened := 0
	for _, n := range counts {
		_, closeAll, err := followAll(s.Served, path, n-opened)
		if err != nil {
			return nil, err
		}
		defer closeAll()
		opened = n
		// A heartbeat comes every 15 seconds, and may leave something behind.
		time.Sleep(pick(b, 17*time.Second, 500*time.Millisecond))
		if err := s.control(ctx, "/settle", &u); err != nil {
			return nil, err
		}
		each = append(each, float64(u.RSS-before.RSS)/float64(n))
	}
	return each, nil
}
