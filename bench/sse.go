package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// The targets of open connections.
const (
	deliveryP99  = 50 * time.Millisecond
	idleRatio    = 1.5
	idleBytes    = 40_000
	idleManyFull = 10_000
)

// eventsPerSecond is how fast the one writer of a fan-out writes.
const eventsPerSecond = 100

// measureFanOut lets many readers follow one writer.
func measureFanOut(ctx context.Context, b *Bench) error {
	n, d := pick(b, 1000, 200), pick(b, 10*time.Second, 2*time.Second)
	for _, db := range b.Databases {
		// Right before, for the machine may be another a minute later.
		bare, err := b.fanOutBare(ctx, n, d/2)
		if err != nil {
			return fmt.Errorf("bare: %w", err)
		}
		err = b.withServer(ctx, db, func(s *Server) error {
			got, cores, err := b.fanOut(ctx, db, s, n, d)
			if err == nil {
				b.Report.add(fanOutRow(db, n, d, got, cores, bare))
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", db.Name, err)
		}
	}
	return nil
}

// fanOut lets n readers follow one run, and says what they got and how many cores the server used for it.
func (b *Bench) fanOut(ctx context.Context, db Database, s *Server, n int, d time.Duration) (Delivered, float64, error) {
	events := int(d.Seconds() * eventsPerSecond)
	id, err := invoke(s.Served, chatty, map[string]int{"n": events, "perSecond": eventsPerSecond}, false)
	if err != nil {
		return Delivered{}, 0, err
	}
	// The last event comes by itself.
	return b.deliver(ctx, s, "/runs/"+id+"?offset=-1&live=sse", n, events+1, b.profile("fanout", db.Name))
}

func (b *Bench) fanOutBare(ctx context.Context, n int, d time.Duration) (got Delivered, err error) {
	events := int(d.Seconds() * eventsPerSecond)
	s, err := b.startServer(ctx, "bare", "-events", strconv.Itoa(events))
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	got, _, err = b.deliver(ctx, s, "/", n, events, "")
	return got, err
}

// deliver opens readers, tells the server to begin, and returns when all that was to come has come.
func (b *Bench) deliver(ctx context.Context, s *Server, path string, n, events int, profile string) (got Delivered, cores float64, err error) {
	p, err := b.startReaders(ctx, s, path, n, false)
	if err != nil {
		return got, 0, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	var took time.Duration
	before, after, err := spent(ctx, s.Control, profile, func() error {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		if err := control(ctx, s.Control, "/begin", nil); err != nil {
			return err
		}
		return p.hear(&got)
	})
	got.Missing += n * max(0, events-got.Events) // what was never committed reached nobody
	return got, (after.CPU - before.CPU).Seconds() / took.Seconds(), err
}

func fanOutRow(db Database, n int, d time.Duration, got Delivered, cores float64, bare Delivered) Row {
	lost := got.Missing + got.Astray
	return Row{
		Measurement: fmt.Sprintf("SSE fan-out, %s, %d events/s to %s readers for %s", db.Name, eventsPerSecond, count(n), d),
		Figure: fmt.Sprintf("commit to delivery p50 %s, p99 %s; %s of %s deliveries missing or astray; %.2f cores",
			ms(got.Commit50), ms(got.Commit99), count(lost), count(n*got.Events), cores),
		Beside: fmt.Sprintf("bare net/http: p50 %s, p99 %s; from the call, gathering included: p50 %s, p99 %s",
			ms(bare.Commit50), ms(bare.Commit99), ms(got.Written50), ms(got.Written99)),
		Target: "p99 < " + ms(deliveryP99) + ", all in order", Met: met(lost == 0 && got.Commit99 < deliveryP99),
		Values: map[string]float64{
			"commitP50Millis": float64(got.Commit50) / 1e6, "commitP99Millis": float64(got.Commit99) / 1e6,
			"commitMostMillis": float64(got.CommitMost) / 1e6, "callP50Millis": float64(got.Written50) / 1e6,
			"callP99Millis": float64(got.Written99) / 1e6, "missing": float64(got.Missing), "astray": float64(got.Astray),
			"cores": cores, "bareP50Millis": float64(bare.Commit50) / 1e6, "bareP99Millis": float64(bare.Commit99) / 1e6,
		},
	}
}

// startReaders opens connections to a stream from a process of their own, and returns when all are open.
func (b *Bench) startReaders(ctx context.Context, s *Server, path string, n int, idle bool) (*Process, error) {
	p, err := b.start(ctx, "readers", "-to", s.Served, "-control", s.Control, "-path", path,
		"-n", strconv.Itoa(n), "-idle="+strconv.FormatBool(idle))
	if err != nil {
		return nil, err
	}
	var opened int
	if err := p.hear(&opened); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// measureIdle opens connections on which nothing happens, to a run that sleeps and to a bare server.
func measureIdle(ctx context.Context, b *Bench) error {
	// A heartbeat comes every 15 seconds, and may leave something behind.
	wait := pick(b, 17*time.Second, 500*time.Millisecond)
	counts := pick(b, []int{1000, idleManyFull}, []int{200, 1000})
	if counts[1] > openFiles()-100 {
		return fmt.Errorf("%d connections need more open files than the %d there may be: raise ulimit -n", counts[1], openFiles())
	}
	bare, err := b.startServer(ctx, "bare")
	if err != nil {
		return err
	}
	held, err := b.idle(ctx, bare, "/", counts, wait)
	if err = errors.Join(err, bare.stop()); err != nil {
		return err
	}
	return b.withServer(ctx, b.Databases[0], func(s *Server) error {
		id, err := invoke(s.Served, "sleeper", nil, false)
		if err != nil {
			return err
		}
		ours, err := b.idle(ctx, s, "/runs/"+id+"?offset=-1&live=sse", counts, wait)
		if err != nil {
			return err
		}
		for i, n := range counts {
			b.Report.add(idleRow(n, ours[i], held[i]))
		}
		return nil
	})
}

func idleRow(n int, ours, bare float64) Row {
	row := Row{
		Measurement: fmt.Sprintf("idle SSE connections, %s open", count(n)),
		Figure:      fmt.Sprintf("%s of server RSS each", kb(ours)),
		Beside:      fmt.Sprintf("bare net/http: %s, ratio %.2f", kb(bare), ours/bare),
		Values:      map[string]float64{"bytes": ours, "bareBytes": bare},
	}
	if n == idleManyFull {
		row.Target = fmt.Sprintf("≤ %.1f × bare, ≤ %s", idleRatio, kb(idleBytes))
		row.Met = met(ours <= idleRatio*bare && ours <= idleBytes)
	}
	return row
}

// idle says how much of a server's memory each connection holds, for each count of open ones.
func (b *Bench) idle(ctx context.Context, s *Server, path string, counts []int, wait time.Duration) (each []float64, err error) {
	if err := b.warmUp(ctx, s, path); err != nil {
		return nil, err
	}
	var before Usage
	if err := control(ctx, s.Control, "/settle", &before); err != nil {
		return nil, err
	}
	var open []*Process
	defer func() {
		for _, p := range open {
			err = errors.Join(err, p.stop())
		}
	}()
	opened := 0
	for _, n := range counts {
		p, err := b.startReaders(ctx, s, path, n-opened, true)
		if err != nil {
			return nil, err
		}
		open, opened = append(open, p), n
		time.Sleep(wait)
		var u Usage
		if err := control(ctx, s.Control, "/settle", &u); err != nil {
			return nil, err
		}
		each = append(each, float64(u.RSS-before.RSS)/float64(n))
	}
	return each, nil
}

// warmUp opens a connection and closes it, so that what a server makes once is not counted.
func (b *Bench) warmUp(ctx context.Context, s *Server, path string) error {
	p, err := b.startReaders(ctx, s, path, 1, true)
	if err != nil {
		return err
	}
	return p.stop()
}
