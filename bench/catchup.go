package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"svc.dev/svc/stream"
)

// measureCatchUp reads a long stream from its start.
func measureCatchUp(ctx context.Context, b *Bench, db Database) error {
	return b.withServer(ctx, db, Setting{}, func(s *Server) error {
		events := pick(b, 100_000, 20_000)
		began := time.Now()
		// Its first and last event come by themselves.
		id, err := invoke(s.Served, "lines?wait=result", fmt.Sprintf(`{"n":%d}`, events-2))
		if err != nil {
			return err
		}
		wrote := time.Since(began)
		w, err := dial(s.Served)
		if err != nil {
			return err
		}
		defer w.close()
		bytes := 0
		spent, err := s.spend(ctx, func() (int, error) {
			reads, err := drive(ctx, 1, pick(b, 2*time.Second, 500*time.Millisecond), func(int) error {
				n, err := readPages(w, "/runs/"+id)
				bytes += n
				return err
			})
			return len(reads) * events, err
		})
		if err != nil {
			return err
		}
		b.Report.add(Row{
			Measurement: fmt.Sprintf("catch-up of %s events, %s, one reader", count(events), db.Name),
			Figure: fmt.Sprintf("%s events/s, %.0f MB/s, %.1f µs server CPU an event", count(spent.perSecond()),
				float64(bytes)/1e6/spent.Took.Seconds(), spent.each(int64(spent.CPU))/1e3),
			Beside: fmt.Sprintf("written at %s events/s", count(float64(events)/wrote.Seconds())),
			Target: fmt.Sprintf("≥ %s events/s", count(caughtUp[db.Name])), Met: met(spent.perSecond() >= caughtUp[db.Name]),
		})
		return nil
	})
}

// caughtUp is how many events a reader who comes late shall get in a second.
var caughtUp = map[string]float64{sqlite: 1_000_000, postgres: 600_000}

// readPages reads every page of a stream, one after another.
func readPages(w *wire, path string) (bytes int, err error) {
	for at, last := stream.Start.String(), false; !last; {
		h, body, err := w.ask(http.MethodGet, path+"?offset="+url.QueryEscape(at), "")
		if err != nil {
			return bytes, err
		}
		at, last = h.Get(stream.HeaderNextOffset), h.Get(stream.HeaderUpToDate) == "true"
		bytes += len(body)
	}
	return bytes, nil
}
