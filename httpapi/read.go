package httpapi

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
)

// reader reads one stream, in each of its three modes.
type reader struct {
	*api
	stream svc.Stream
	manner
}

// manner is what the two kinds of streams answer differently. That an agent's stream never closes needs no word: its pages
// say so.
type manner struct {
	missing func(svc.Stream) error                // there is no such stream
	tag     func(svc.Stream, stream.Frame) string // of a page; nil: pages have none
	cursor  bool                                  // control frames carry one; a long-poll always does
	mute    bool                                  // a long-poll in vain has no body; else it has an empty page
	strict  bool                                  // an offset that the stream never gave out is refused
}

// check refuses an offset that the stream never gave out, before anything is promised: its holder has read another store, and
// must read history again.
func (m manner) check(after stream.Offset, page stream.Frame, err error) (stream.Frame, error) {
	if err == nil && m.strict && after > page.Head {
		err = fault.New(fault.StreamOffsetGone, "That offset does not exist.", "Read history again.")
	}
	return page, err
}

// read answers in the mode that was asked for.
func (rd *reader) read(w http.ResponseWriter, r *http.Request, asked readQuery) error {
	switch asked.live {
	case stream.LiveLongPoll:
		return rd.longPoll(w, r, asked)
	case stream.LiveSSE:
		return rd.follow(w, r, asked)
	}
	return rd.catchUp(w, r, asked)
}

// admits refuses new readers while the runtime stops.
func (rd *reader) admits() error {
	if state := rd.rt.State(); state != svc.Serving {
		return fault.NotAvailable(string(state))
	}
	return nil
}

// named is the error of a read before its first byte: a stream that is not there has a name.
func (rd *reader) named(err error) error {
	if errors.Is(err, svc.ErrNoStream) {
		return rd.missing(rd.stream)
	}
	return err
}

// head answers with where the stream stands.
func (rd *reader) head(w http.ResponseWriter, r *http.Request) error {
	tail, err := rd.rt.Tail(r.Context(), rd.stream)
	if err != nil {
		return err
	}
	all := stream.Frame{After: stream.Start, Next: tail.Head, Tail: true, Closed: tail.Closed}
	setPage(w.Header(), all)
	rd.setTag(w.Header(), all)
	w.WriteHeader(http.StatusOK)
	return nil
}

// catchUp answers with one page, at once.
func (rd *reader) catchUp(w http.ResponseWriter, r *http.Request, asked readQuery) error {
	room, err := rd.pageRoom(r)
	if err != nil {
		return err
	}
	defer room.Release()
	page, err := rd.page(r.Context(), asked, room)
	if err != nil {
		return err
	}
	if rd.tag != nil && !asked.now && r.Header.Get("If-None-Match") == rd.tag(rd.stream, page) {
		setSecure(w.Header())
		rd.setTag(w.Header(), page)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	room.Resize(int64(len(page.JSON())))
	rd.writePage(w, asked, page)
	return nil
}

func (rd *reader) page(ctx context.Context, asked readQuery, room *memory.Grant) (stream.Frame, error) {
	page, err := rd.rt.PageWithin(ctx, rd.stream, asked.after, room)
	page, err = rd.check(asked.after, page, err)
	if asked.now && page.Next > asked.after {
		// What was appended since now was asked for lies behind it.
		return stream.Frame{After: asked.after, Next: asked.after, Tail: true}, err
	}
	return page, err
}

// longPoll answers with the next page, or with none when the wait was in vain.
func (rd *reader) longPoll(w http.ResponseWriter, r *http.Request, asked readQuery) error {
	f := rd.rt.Follow(rd.stream)
	defer f.Close()
	page, err := rd.nextPage(r.Context(), f, asked.after)
	if err != nil {
		return err
	}
	w.Header().Set(stream.HeaderCursor, stream.Cursor(time.Now(), asked.cursor, rand.Int64N))
	if page.Next > asked.after || !rd.mute {
		rd.writePage(w, asked, page)
		return nil
	}
	setSecure(w.Header())
	setPlace(w.Header(), page)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// nextPage waits until there is something to tell, for as long as a long-poll may take.
func (rd *reader) nextPage(ctx context.Context, f *svc.Follower, after stream.Offset) (stream.Frame, error) {
	over, leave := time.Now().Add(rd.LongPoll), rd.newFarewell()
	defer leave.gone()
	timer := time.NewTimer(rd.LongPoll)
	defer timer.Stop()
	for {
		// The wake comes before the read: what is appended between the two is not missed.
		wake := f.Wake()
		page, err := f.Page(ctx, after)
		page, err = rd.check(after, page, err)
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

func (rd *reader) writePage(w http.ResponseWriter, asked readQuery, page stream.Frame) {
	setPage(w.Header(), page)
	if !asked.now {
		rd.setTag(w.Header(), page)
	}
	writeWhole(w, page.JSON())
}

func (rd *reader) setTag(h http.Header, page stream.Frame) {
	if rd.tag != nil {
		h.Set("ETag", rd.tag(rd.stream, page))
	}
}

// writeWhole writes a body whose head is set.
func writeWhole(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // who has gone asks again from where it stood
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
