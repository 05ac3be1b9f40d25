package client

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/stream"
)

// Bounds of what a stream's reader waits for. The server tells where it stands at once, and shows that it lives every 15 seconds.
const (
	firstSound = 10 * time.Second // of server-sent events: behind it they are held back
	nextSound  = 45 * time.Second // of server-sent events
	pollSound  = 75 * time.Second // of a long-poll, which takes 30 seconds
	briefly    = time.Second      // what ends within it and brought nothing is in vain
)

// mostGarbled is how many answers in a row may be no pages before that is the answer.
const mostGarbled = 8

// pursuit is one reader of a stream: where it stands, and how it fares.
type pursuit struct {
	c     *Client
	path  string
	query url.Values // beside those of the protocol
	live  Live

	at       string // everything up to here has been handed over
	tail     int    // of the first page alone
	cursor   string
	answered bool      // the stream has been there
	since    time.Time // of the present trouble
	garbled  int       // answers in a row that were no pages
	brief    int       // connections in a row that ended at once
	pace     pace
}

func (c *Client) read(path string, query url.Values, o StreamOptions) *pursuit {
	return &pursuit{c: c, path: path, query: query, live: o.Live, at: cmp.Or(o.After, Start), tail: o.Tail, since: time.Now(), pace: c.pace()}
}

// pages gives the pages of the stream, each once, until it closes, or with CatchUp until there is no more. The error of the last
// is final. Where the reader stands moves when a page was taken whole.
func (r *pursuit) pages(ctx context.Context) iter.Seq2[page, *Error] {
	return func(yield func(page, *Error) bool) {
		for {
			over, err := r.connect(ctx, yield)
			if over {
				return
			}
			if err == nil {
				continue // in another mode
			}
			if ctx.Err() != nil {
				err = failed(ctx, ctx.Err())
			}
			wait := r.pace.next(err.RetryAfter)
			if r.isFinal(err, wait) {
				yield(page{}, err)
				return
			}
			if !r.c.pause(ctx, err, wait) {
				yield(page{}, failed(ctx, ctx.Err()))
				return
			}
		}
	}
}

// isFinal reports whether there is no use in asking again.
func (r *pursuit) isFinal(err *Error, wait time.Duration) bool {
	passes := err.passes() || err.Status >= http.StatusInternalServerError // no stream answers so for ever
	if !passes || r.garbled >= mostGarbled {
		return true
	}
	return (!r.answered || err.Type == TokenUnavailable) && outOf(r.c.config.Patience, r.since, wait)
}

// connect reads in the mode that will do now. It is over when the stream is or its reader leaves; without an error another mode
// will do better.
func (r *pursuit) connect(ctx context.Context, yield func(page, *Error) bool) (over bool, err *Error) {
	if r.live == SSE || r.live == Auto && r.c.held.free(time.Now()) {
		return r.listen(ctx, yield)
	}
	for {
		began, at := time.Now(), r.at
		if over, err = r.poll(ctx, yield); over || err != nil {
			return over, err
		}
		if r.at == at && time.Since(began) < briefly {
			return false, unreachable(nil) // a server that does not wait is not asked a thousand times a second
		}
		if r.live == Auto && r.c.held.free(time.Now()) {
			return false, nil
		}
	}
}

// take hands a page over, and reports whether the reader wants another.
func (r *pursuit) take(p page, yield func(page, *Error) bool) bool {
	p.before = r.at
	if p.before == Now {
		p.before = p.next
	}
	if !yield(p, nil) {
		return false
	}
	if p.next != r.at || len(p.items) > 0 {
		r.pace.reset()
		r.brief = 0
	}
	r.at, r.tail, r.answered, r.garbled, r.since = p.next, 0, true, 0, time.Time{}
	return !p.closed && !(r.live == CatchUp && p.tail)
}

// open asks for what lies behind where the reader stands.
func (r *pursuit) open(ctx context.Context, live string, first, later time.Duration) (*http.Response, *Error) {
	query := url.Values{"offset": {r.at}}
	for name, values := range r.query {
		query[name] = values
	}
	if r.tail > 0 {
		query.Set("tail", strconv.Itoa(r.tail))
	}
	if live != "" {
		query.Set("live", live)
	}
	if live == stream.LiveLongPoll && r.cursor != "" {
		query.Set("cursor", r.cursor)
	}
	header := http.Header{}
	if live == stream.LiveSSE {
		// What compresses gathers first.
		header = http.Header{"Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}}
	}
	p, err := r.c.prepare(Request{Path: r.path, Query: query, Header: header})
	if err != nil {
		return nil, err
	}
	p.first, p.later = first, later
	answer, err := r.c.send(ctx, p)
	if err != nil && r.since.IsZero() {
		r.since = time.Now()
	}
	return answer, err
}

// poll reads one answer.
func (r *pursuit) poll(ctx context.Context, yield func(page, *Error) bool) (over bool, err *Error) {
	live := stream.LiveLongPoll
	if r.live == CatchUp {
		live = ""
	}
	answer, err := r.open(ctx, live, pollSound, silence)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	p, err := r.pageOf(answer)
	if err != nil {
		return false, err
	}
	r.cursor = answer.Header.Get(stream.HeaderCursor)
	return !r.take(p, yield), nil
}

// pageOf reads an answer as a page. A page that is not all there is none.
func (r *pursuit) pageOf(answer *http.Response) (page, *Error) {
	p := page{
		next: answer.Header.Get(stream.HeaderNextOffset), tail: answer.Header.Get(stream.HeaderUpToDate) != "",
		closed: strings.EqualFold(answer.Header.Get(stream.HeaderClosed), "true"),
	}
	if p.next == "" {
		return p, unexpected(answer, "It has no %s.", stream.HeaderNextOffset)
	}
	text, err := r.c.readAll(answer)
	if err != nil || len(text) == 0 && answer.StatusCode == http.StatusNoContent {
		return p, err
	}
	if !isJSON(answer) {
		return p, unexpected(answer, "Its content type is %q.", answer.Header.Get("Content-Type"))
	}
	if err := read(answer, text, &p.items); err != nil {
		r.garbled++
		return p, err
	}
	return p, nil
}
