package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"svc.dev/svc/stream"
)

// listen reads server-sent events. A page counts when the control frame behind it has come; what was cut off before that is asked
// for again.
func (r *pursuit) listen(ctx context.Context, yield func(page, *Error) bool) (over bool, err *Error) {
	began, news := time.Now(), r.at
	over, err = r.hear(ctx, yield)
	if over || ctx.Err() != nil {
		return over, err
	}
	lasted := time.Since(began)
	if r.at == news && lasted < briefly {
		r.brief++
	}
	switch {
	case r.live == Auto && (errors.Is(err, errSilent) || errors.Is(err, errNoEvents) || r.brief >= mostBrief):
		r.brief = 0
		r.c.held.back(time.Now())
	case lasted > heldFirst:
		r.c.held.forget()
	}
	if lasted > mostBackoff {
		r.pace.reset()
	}
	return false, err
}

// mostBrief is how many connections in a row may end at once before they are given up for a while.
const mostBrief = 3

// errNoEvents tells that something else than events was answered to a reader of events.
var errNoEvents = errors.New("no server-sent events")

func (r *pursuit) hear(ctx context.Context, yield func(page, *Error) bool) (over bool, err *Error) {
	answer, err := r.open(ctx, stream.LiveSSE, firstSound, nextSound)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return false, r.notEvents(answer)
	}
	f := frames{most: r.c.config.MaxFrame}
	for event, broken := range stream.EventsWithin(answer.Body, f.most) {
		if errors.Is(broken, stream.ErrEventTooLarge) {
			return false, tooLarge(f.most).of(answer)
		}
		if broken != nil {
			return false, failed(ctx, broken)
		}
		whole, err := f.add(event)
		if err != nil {
			r.garbled++
			return false, err
		}
		if whole && !r.take(f.page, yield) {
			return true, nil
		}
	}
	return false, unreachable(nil)
}

// notEvents is that something between us and the server has made something else of the stream; a reader that may polls.
func (r *pursuit) notEvents(answer *http.Response) *Error {
	if r.live == Auto {
		return unreachable(errNoEvents)
	}
	return unexpected(answer, "Its content type is %q.", answer.Header.Get("Content-Type"))
}

// frames makes pages of events.
type frames struct {
	page page
	size int  // of the items that have come
	most int  // that it may be
	told bool // the page was handed over
}

// add takes an event, and reports whether the page is whole.
func (f *frames) add(e stream.Event) (whole bool, err *Error) {
	if f.told {
		*f = frames{most: f.most}
	}
	switch e.Name {
	case "data":
		if f.size += len(e.Data); f.size > f.most {
			return false, tooLarge(f.most)
		}
		var items []json.RawMessage
		if err := json.Unmarshal(e.Data, &items); err != nil {
			return false, unreachable(err)
		}
		f.page.items = append(f.page.items, items...)
	case "control":
		c, err := stream.ParseControl(e.Data)
		if err == nil && c.NextOffset == "" {
			err = errors.New("a control frame without an offset")
		}
		if err != nil {
			return false, unreachable(err)
		}
		f.page.next, f.page.tail, f.page.closed = c.NextOffset, c.UpToDate || c.Closed, c.Closed
		f.told = true
	}
	return f.told, nil
}

// Server-sent events that were held back are left alone for a while, and longer each time.
const (
	heldFirst = time.Minute
	heldMost  = 10 * time.Minute
)

// held is until when server-sent events are not tried. All streams of a client share it: they share the way.
type held struct {
	mu    sync.Mutex
	until time.Time
	span  time.Duration
}

// free reports whether they may be tried.
func (h *held) free(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !now.Before(h.until)
}

// back notes that they were held back. Many who find out at once have found out one thing.
func (h *held) back(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Before(h.until) {
		return
	}
	h.span = min(max(2*h.span, heldFirst), heldMost)
	h.until = now.Add(h.span)
}

// forget notes that they came through for long enough.
func (h *held) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.span = 0
}
