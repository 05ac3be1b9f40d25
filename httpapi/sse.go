package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/stream"
)

// follow tells what is appended as it is appended, until the stream closes, the client goes, or we stop.
func (rd *reader) follow(w http.ResponseWriter, r *http.Request, asked readQuery) error {
	c, err := rd.connect(w, r, asked)
	if err != nil {
		return err
	}
	defer c.close()
	for c.tell() {
		if err := c.next(r.Context()); err != nil {
			c.flush() // a client that has heard nothing yet would not know that it was let in
			rd.breakOff(w, r, err)
		}
	}
	return nil
}

// connect reads the first page, and writes the head when there is one.
func (rd *reader) connect(w http.ResponseWriter, r *http.Request, asked readQuery) (*connection, error) {
	c := &connection{
		api: rd.api, w: w, out: http.NewResponseController(w), cursor: rd.cursor,
		follower: rd.rt.Follow(rd.stream), at: asked.after, lift: r.ProtoMajor > 1,
	}
	err := c.read(r.Context())
	if _, err = rd.check(asked.after, c.page, err); err != nil {
		c.follower.Close()
		return nil, err
	}
	c.open()
	return c, nil
}

// breakOff ends a connection in the middle, so that a client that is still there knows that it has not heard all, and asks
// again.
func (a *api) breakOff(w http.ResponseWriter, r *http.Request, err error) {
	if !errors.Is(err, svc.ErrNoStream) { // it was erased meanwhile
		a.report(w, r, err)
	}
	panic(http.ErrAbortHandler)
}

// connection is an open SSE response. Thousands of them wait at one time: meanwhile each holds no page and no buffer, one
// timer, and no goroutine but its handler's, whose stack stays shallow because what it works with is here.
type connection struct {
	api      *api
	w        http.ResponseWriter
	out      *http.ResponseController
	follower *svc.Follower
	cursor   bool // control frames carry one

	page stream.Frame // to be told; empty afterwards
	at   stream.Offset
	tail bool // nothing lay behind it
	wake <-chan struct{}

	timer    *time.Timer // of the earliest of the next three
	beat     time.Time   // when the next heartbeat is due
	control  time.Time   // when the wait is over, and a control frame says where the stream stands
	farewell farewell

	deadline time.Time // of what is written now
	lift     bool      // it must not outlast the writing

	overdue bool // that control frame
	unsent  int  // bytes written since the last flush
	over    bool // the stream has closed, or the reader left or was let go
}

// gatherPages is how much of pages that follow one another is written before it is flushed.
const gatherPages = 16 << 10

// read takes what stands behind what was told. The wake is taken first: what is appended meanwhile is not missed.
func (c *connection) read(ctx context.Context) (err error) {
	c.wake = c.follower.Wake()
	c.page, err = c.follower.Page(ctx, c.at)
	return err
}

// open writes the head.
func (c *connection) open() {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	setSecure(h)
	c.w.WriteHeader(http.StatusOK)
	now := time.Now()
	c.beat, c.control = now.Add(c.api.Heartbeat), now.Add(c.api.LongPoll)
	c.farewell = c.api.newFarewell()
	c.timer = time.NewTimer(time.Until(c.due()))
}

func (c *connection) close() {
	c.timer.Stop()
	c.farewell.gone()
	c.follower.Close()
}

// tell writes the page and the control frame that belongs to it, and reports whether another may follow. Pages that are
// ready one after another go out together.
func (c *connection) tell() bool {
	if c.over {
		return false
	}
	now := time.Now()
	c.at, c.tail, c.over = c.page.Next, c.page.Tail, c.page.Closed
	c.control, c.overdue = now.Add(c.api.LongPoll), false
	c.allow(now)
	taken := c.write(c.page.SSE()) && c.writeControl(now) && c.pulse(now)
	c.page = stream.Frame{}
	c.follower.Free()
	if taken && (c.tail || c.unsent >= gatherPages) {
		taken = c.flush()
	}
	return taken && !c.over
}

var controls = sync.Pool{New: func() any { return new([]byte) }}

func (c *connection) writeControl(now time.Time) bool {
	b := controls.Get().(*[]byte)
	defer controls.Put(b)
	var cursor string
	if c.cursor {
		cursor = stream.Cursor(now, "", nil)
	}
	*b = stream.AppendControl((*b)[:0], c.at, cursor, c.tail, c.over)
	return c.write(*b)
}

// next takes the next page worth telling: a wake that brings nothing new is not.
func (c *connection) next(ctx context.Context) error {
	for {
		if c.farewell.listen() {
			c.rearm()
		}
		if c.over = c.farewell.due(time.Now()) || c.tail && !c.wait(ctx); c.over {
			return nil
		}
		if err := c.read(ctx); err != nil {
			return err
		}
		if c.page.Next > c.at || c.page.Closed || c.overdue {
			return nil
		}
		c.tail = true
	}
}

// wait returns when something may have been appended or a control frame is due, and reports whether the reader is still
// to be served.
func (c *connection) wait(ctx context.Context) bool {
	for !c.overdue {
		select {
		case <-c.wake:
			return true
		case <-ctx.Done():
			return false
		case <-c.farewell.stopping:
			c.farewell.hear()
		case now := <-c.timer.C:
			if c.farewell.due(now) || !c.tick(now) {
				return false
			}
		}
		c.rearm()
	}
	return true
}

// tick does what the time asks for, and reports whether the reader took it.
func (c *connection) tick(now time.Time) bool {
	if c.overdue = !now.Before(c.control); c.overdue {
		c.control = now.Add(c.api.LongPoll)
	}
	c.allow(now)
	return c.pulse(now) && c.flush()
}

func (c *connection) rearm() { c.timer.Reset(time.Until(c.due())) }

// due is when the timer must fire next. It may fire early: telling a page puts the control frame off.
func (c *connection) due() time.Time {
	next := c.beat
	if c.control.Before(next) {
		next = c.control
	}
	return c.farewell.before(next)
}

// pulse writes a heartbeat if one is due.
func (c *connection) pulse(now time.Time) bool {
	if now.Before(c.beat) {
		return true
	}
	c.beat = now.Add(c.api.Heartbeat)
	return c.write(stream.Heartbeat())
}

// allow gives the reader its time to take what is written next. A deadline that still leaves it is not set anew: that costs
// as much as the frame. Where none can be set the server's own has to do.
func (c *connection) allow(now time.Time) {
	if c.deadline.Sub(now) < c.api.WriteTimeout {
		c.deadline = now.Add(c.api.WriteTimeout * 5 / 4)
		_ = c.out.SetWriteDeadline(c.deadline)
	}
}

// write reports whether the bytes were taken. They are shared with other readers and never changed.
func (c *connection) write(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	n, err := c.w.Write(p)
	c.unsent += n
	return err == nil
}

// flush sends what was written. Over HTTP/2 the deadline is lifted afterwards: it would end a connection that is idle.
func (c *connection) flush() bool {
	err := c.out.Flush()
	c.unsent = 0
	if c.lift {
		c.deadline = time.Time{}
		_ = c.out.SetWriteDeadline(c.deadline)
	}
	return err == nil
}
