package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"svc.dev/svc/stream"
)

// tailRatio is how much slower the tail of a long stream may be read than that of a short one.
const tailRatio = 2.0

// measureCatchUp reads a long stream from its start, and its tail beside that of a short one.
func measureCatchUp(ctx context.Context, b *Bench) error {
	events := pick(b, 100_000, 20_000)
	for _, db := range b.Databases {
		err := b.withServer(ctx, db, func(s *Server) error {
			long, err := newLog(s, events)
			if err != nil {
				return err
			}
			short, err := newLog(s, 100)
			if err != nil {
				return err
			}
			if err := b.catchUp(ctx, db, s, long); err != nil {
				return err
			}
			return b.readTails(db, s, long, short)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", db.Name, err)
		}
	}
	return nil
}

// log is a run that has ended, with so many events.
type log struct {
	id     string
	events int
	wrote  time.Duration
}

// newLog makes a run that writes lines; its first and last event come by themselves.
func newLog(s *Server, events int) (l log, err error) {
	l.events = events
	began := time.Now()
	l.id, err = invoke(s.Served, "lines", map[string]int{"n": events - 2}, true)
	l.wrote = time.Since(began)
	return l, err
}

// page reads one page after an offset.
func (l log) page(w *wire, after string) (next string, bytes int, last bool, err error) {
	h, body, err := w.ask("GET", "/runs/"+l.id+"?offset="+url.QueryEscape(after), "")
	if err != nil {
		return "", 0, false, err
	}
	return h.Get(stream.HeaderNextOffset), len(body), h.Get(stream.HeaderUpToDate) == "true", nil
}

// readAll reads every page, one after another.
func (l log) readAll(w *wire) (bytes int, err error) {
	for at, last := stream.Start.String(), false; !last; {
		var n int
		if at, n, last, err = l.page(w, at); err != nil {
			return bytes, err
		}
		bytes += n
	}
	return bytes, nil
}

func (b *Bench) catchUp(ctx context.Context, db Database, s *Server, l log) error {
	w, err := dial(s.Served)
	if err != nil {
		return err
	}
	defer w.close()
	bytes, reads := 0, 0
	began := time.Now()
	before, after, err := spent(ctx, s.Control, b.profile("catchup", db.Name), func() error {
		for began = time.Now(); reads == 0 || time.Since(began) < pick(b, 2*time.Second, 500*time.Millisecond); reads++ {
			n, err := l.readAll(w)
			if err != nil {
				return err
			}
			bytes += n
		}
		return nil
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	events := float64(reads * l.events)
	perSecond, megabytes := events/took.Seconds(), float64(bytes)/1e6/took.Seconds()
	cpu := float64((after.CPU - before.CPU).Microseconds()) / events
	b.Report.add(Row{
		Measurement: fmt.Sprintf("catch-up of %s events, %s, one reader", count(l.events), db.Name),
		Figure:      fmt.Sprintf("%s events/s, %.0f MB/s, %.1f µs server CPU an event", count(perSecond), megabytes, cpu),
		Beside:      fmt.Sprintf("written at %s events/s", count(float64(l.events)/l.wrote.Seconds())),
		Values:      map[string]float64{"eventsPerSecond": perSecond, "megabytesPerSecond": megabytes, "cpuMicros": cpu},
	})
	return nil
}

// readTails reads the last ten events of both, turn by turn, so that what disturbs one disturbs the other.
func (b *Bench) readTails(db Database, s *Server, long, short log) error {
	w, err := dial(s.Served)
	if err != nil {
		return err
	}
	defer w.close()
	took := map[log][]time.Duration{}
	for range pick(b, 1000, 200) {
		for _, l := range []log{long, short} {
			asked := time.Now()
			if _, _, _, err := l.page(w, stream.Offset(l.events-1-10).String()); err != nil {
				return err
			}
			took[l] = append(took[l], time.Since(asked))
		}
	}
	slices.Sort(took[long])
	slices.Sort(took[short])
	atLong, atShort := quantile(took[long], 0.5), quantile(took[short], 0.5)
	ratio := float64(atLong) / float64(atShort)
	b.Report.add(Row{
		Measurement: fmt.Sprintf("last 10 of %s events, %s", count(long.events), db.Name),
		Figure:      fmt.Sprintf("p50 %s, ratio %.2f", ms(atLong), ratio),
		Beside:      fmt.Sprintf("of %d events: p50 %s", short.events, ms(atShort)),
		Target:      fmt.Sprintf("ratio ≤ %.0f", tailRatio), Met: met(ratio <= tailRatio),
		Values: map[string]float64{"longMillis": float64(atLong) / 1e6, "shortMillis": float64(atShort) / 1e6, "ratio": ratio},
	})
	return nil
}
