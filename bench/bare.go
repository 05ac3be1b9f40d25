package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const bareName = "bare"

const (
	gathered = 4   // events of a frame, as a runtime gathers them: 100 a second, 40 ms apart
	eventPad = 160 // bytes of an event beside its index
)

// openBare is what open connections are held against: the least net/http server that keeps them, and that tells all of them
// the same at the same moments. There is no store behind it: what disturbs it is the machine.
func openBare(_ context.Context, _ string, _ *slog.Logger, control *http.ServeMux) (engine, error) {
	var frames []bareFrame
	committed := map[int]int64{} // when an event is due, by eventIndex, in microseconds
	begin := make(chan struct{})
	control.HandleFunc("POST /begin", func(w http.ResponseWriter, r *http.Request) {
		events, err := strconv.Atoi(r.FormValue("events"))
		due := time.Now()
		for first := 1; first <= events; first += gathered {
			due = due.Add(gathered * time.Second / eventsPerSecond)
			last := min(first+gathered-1, events)
			frames = append(frames, newBareFrame(due, first, last))
			for i := first; i <= last; i++ {
				committed[i] = due.UnixMicro()
			}
		}
		close(begin)
		answer(w, nil, err)
	})
	control.HandleFunc("POST /commits", func(w http.ResponseWriter, _ *http.Request) { answer(w, committed, nil) })
	served := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		out := http.NewResponseController(w)
		if out.Flush() != nil {
			return
		}
		select {
		case <-begin:
		case <-r.Context().Done():
			return
		}
		for _, f := range frames {
			time.Sleep(time.Until(f.due))
			if _, err := w.Write(f.data); err != nil || out.Flush() != nil {
				return
			}
		}
	}
	return engine{served: http.HandlerFunc(served), close: func() error { return nil }}, nil
}

// bareFrame is what every connection is told at one moment.
type bareFrame struct {
	due  time.Time
	data []byte
}

func newBareFrame(due time.Time, first, last int) bareFrame {
	var items []string
	for i := first; i <= last; i++ {
		items = append(items, fmt.Sprintf(`{"message":"%s","eventIndex":%d}`, strings.Repeat("x", eventPad), i))
	}
	return bareFrame{due, []byte("event: data\ndata:[" + strings.Join(items, ",") + "]\n\n")}
}
