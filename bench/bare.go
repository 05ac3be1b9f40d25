package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// serveBare is the role of what open connections are held against: the least net/http server that keeps them, and that
// tells all of them the same. There is no store behind it: what disturbs it is the machine.
func serveBare(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bare", flag.ContinueOnError)
	events := flags.Int("events", 0, "events to tell once it is told to begin")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := untilInputEnds(ctx)
	defer cancel()
	t := &teller{committed: map[int64]int64{}, wake: make(chan struct{})}
	mux := controls()
	mux.HandleFunc("POST /begin", func(w http.ResponseWriter, _ *http.Request) {
		go t.tell(ctx, *events)
		answer(w, nil, nil)
	})
	mux.HandleFunc("POST /commits", func(w http.ResponseWriter, _ *http.Request) {
		t.mu.Lock()
		defer t.mu.Unlock()
		answer(w, t.committed, nil)
	})
	return serveUntil(ctx, t, mux)
}

// teller tells every connection the same frames, each made of as many events as a runtime gathers.
type teller struct {
	mu        sync.Mutex
	frames    [][]byte
	committed map[int64]int64 // when an event was handed out, by eventIndex, in microseconds
	wake      chan struct{}   // closed by the next frame
	ended     bool
}

const (
	gathered = 4   // events of a frame: 100 a second, 40 ms apart
	eventPad = 160 // bytes of an event beside its index
)

func (t *teller) tell(ctx context.Context, events int) {
	every := time.NewTicker(gathered * time.Second / eventsPerSecond)
	defer every.Stop()
	for first := 1; first <= events; first += gathered {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		t.publish(first, min(gathered, events-first+1), first+gathered > events)
	}
}

func (t *teller) publish(first, n int, last bool) {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(`{"message":"%s","eventIndex":%d}`, strings.Repeat("x", eventPad), first+i))
	}
	frame := []byte("event: data\ndata:[" + strings.Join(items, ",") + "]\n\n")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames, t.ended = append(t.frames, frame), last
	for i := range n {
		t.committed[int64(first+i)] = time.Now().UnixMicro()
	}
	close(t.wake)
	t.wake = make(chan struct{})
}

// after returns the frames behind the first n, and what to wait for if there are none.
func (t *teller) after(n int) (frames [][]byte, wake <-chan struct{}, ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frames[n:], t.wake, t.ended
}

func (t *teller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	for told := 0; ; {
		if out.Flush() != nil {
			return
		}
		frames, wake, ended := t.after(told)
		for _, frame := range frames {
			if _, err := w.Write(frame); err != nil {
				return
			}
		}
		told += len(frames)
		switch {
		case len(frames) > 0:
			continue
		case ended:
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		}
	}
}
