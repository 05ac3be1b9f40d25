package httpapi

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"svc.dev/svc/stream"
)

// catchUp answers with one page, at once.
func (run *exposedRun) catchUp(w http.ResponseWriter, r *http.Request, asked *runQuery) {
	page, err := run.page(r.Context(), asked)
	if err != nil {
		run.failRead(w, r, err)
		return
	}
	if !asked.now && r.Header.Get("If-None-Match") == run.tag(page) {
		setSecure(w.Header())
		w.Header().Set("ETag", run.tag(page))
		w.WriteHeader(http.StatusNotModified)
		return
	}
	run.writePage(w, asked, page)
}

func (run *exposedRun) page(ctx context.Context, asked *runQuery) (stream.Frame, error) {
	page, err := run.rt.Page(ctx, run.stream, asked.after)
	if asked.now && page.Next > asked.after {
		// What was appended since now was asked for lies behind it.
		return stream.Frame{After: asked.after, Next: asked.after, Tail: true}, err
	}
	return page, err
}

// longPoll answers with the next page, or with none when the wait was in vain.
func (run *exposedRun) longPoll(w http.ResponseWriter, r *http.Request, asked *runQuery) {
	page, err := run.nextPage(r.Context(), asked.after)
	if err != nil {
		run.failRead(w, r, err)
		return
	}
	w.Header().Set(stream.HeaderCursor, stream.Cursor(time.Now(), asked.cursor, rand.Int64N))
	if page.Next > asked.after {
		run.writePage(w, asked, page)
		return
	}
	setSecure(w.Header())
	setPlace(w.Header(), page)
	w.WriteHeader(http.StatusNoContent)
}

// nextPage waits until there is something to tell, for as long as a long-poll may take.
func (run *exposedRun) nextPage(ctx context.Context, after stream.Offset) (stream.Frame, error) {
	f := run.rt.Follow(run.stream)
	defer f.Close()
	over, leave := time.Now().Add(run.LongPoll), run.newFarewell()
	timer := time.NewTimer(run.LongPoll)
	defer timer.Stop()
	for {
		// The wake comes before the read: what is appended between the two is not missed.
		wake := f.Wake()
		page, err := f.Page(ctx, after)
		if err != nil || page.Next > after || page.Closed {
			return page, err
		}
		select {
		case <-wake:
		case <-leave.stopping:
			leave.hear()
			timer.Reset(time.Until(leave.before(over)))
		case <-timer.C:
			return page, nil
		case <-ctx.Done():
			return page, ctx.Err()
		}
	}
}

func (run *exposedRun) writePage(w http.ResponseWriter, asked *runQuery, page stream.Frame) {
	body := page.JSON()
	setPage(w.Header(), page)
	if !asked.now {
		w.Header().Set("ETag", run.tag(page))
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // who has gone asks again from where it stood
}

func (run *exposedRun) tag(page stream.Frame) string {
	return stream.ETag("runs/"+run.stream.ID, page.After, page.Next, page.Closed)
}

// setPage sets the headers of a page, whether or not its body follows.
func setPage(h http.Header, page stream.Frame) {
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	setSecure(h)
	setPlace(h, page)
}

// setPlace says where a reader stands once it has the page.
func setPlace(h http.Header, page stream.Frame) {
	h.Set(stream.HeaderNextOffset, page.Next.String())
	if page.Tail {
		h.Set(stream.HeaderUpToDate, "true")
	}
	if page.Closed {
		h.Set(stream.HeaderClosed, "true")
	}
}
