package svc

import (
	"context"
	"errors"
	"net/http"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
)

// What work takes of memory, about, and rounded up. Whether the process stays below its limit with them is internal/flood's to
// show.
const (
	workBytes  = 64 << 10 // of any: goroutines, buffers, a ring
	inputTimes = 4        // an input as it came, as a record, as a message and on its way to the model
	stateTimes = 2        // a folded conversation: its texts, and what is built around them
)

// roomWait is how long work waits for room with its lease in hand, before it is parked.
const roomWait = 200 * time.Millisecond

// roomPause is how long work is parked for which there was no room.
const roomPause = time.Second

// holder is on whose share of the memory a scope's streams draw.
func (rt *Runtime) holder(scope string) string {
	if rt.config.Holder == nil {
		return scope
	}
	return rt.config.Holder(scope)
}

// Memory is the budget that the Runtime draws from; what serves it over a network draws from the same.
func (rt *Runtime) Memory() *memory.Budget { return rt.config.Memory }

// Room takes memory from the share of a scope, at once or not at all. The error is memory.ErrFull or memory.ErrTooLarge.
func (s Scoped) Room(use memory.Use, n int64) (*memory.Grant, error) {
	return s.rt.config.Memory.Try(s.rt.holder(s.scope), use, n)
}

// Holder is on whose share of the memory the scope draws.
func (s Scoped) Holder() string { return s.rt.holder(s.scope) }

// AwaitRoom takes memory from the share of a scope when there is some.
func (s Scoped) AwaitRoom(ctx context.Context, use memory.Use, n int64) (*memory.Grant, error) {
	return s.rt.config.Memory.Wait(ctx, s.rt.holder(s.scope), use, n)
}

// Counted is a request whose body takes from the share of a scope as it is read, so many times what there is of it. done
// gives that back, when the request is answered.
func (s Scoped) Counted(r *http.Request, times int64) (_ *http.Request, done func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, func() {}
	}
	room, _ := s.Room(memory.Bodies, 0) // nothing is always there
	r = r.WithContext(r.Context())      // the server looks at its own
	r.Body = memory.Count(r.Context(), r.Body, room, times)
	return r, room.Release
}

// needed is what work on a stream takes that stores so much, with an input of so many bytes.
func needed(input, stored int64) int64 { return workBytes + inputTimes*input + stored }

// most is what the work of a scope could ever have. What takes more gets all of it, and no other work beside it.
func (rt *Runtime) most(scope string) int64 {
	if rt.holder(scope) == "" {
		return rt.config.Memory.Limit()
	}
	return rt.config.Memory.Share()
}

// afford makes the job's memory so much, and waits a moment for it. Work for which there is no room is parked: errNoRoom.
func (j *job) afford(n int64) error {
	n = min(n, j.crew.rt.most(j.lease.Stream.Scope))
	has := j.room.Size()
	if n <= has {
		j.room.Resize(n)
		return nil
	}
	ctx, cancel := context.WithTimeout(j.ctx, roomWait)
	defer cancel()
	if j.room.Await(ctx, n-has) != nil {
		return errNoRoom
	}
	return nil
}

// afford makes the job's memory what its conversations take by now: each turn adds to them. Work for which there is no room is
// parked.
func (d *dialogue) afford() error {
	d.affording.Lock()
	defer d.affording.Unlock()
	if d.job.afford(d.base+stateTimes*d.bytes()) != nil {
		return &parked{d.now().Add(roomPause), ReasonMemory}
	}
	return nil
}

// bounded refuses conversations that are more than all that their scope may ever have: they would only grow.
func (d *dialogue) bounded() error {
	if d.bytes() > d.rt.most(d.job.lease.Stream.Scope) {
		return fault.New(fault.RecordTooLarge, "The conversation is larger than what can be held.", "Begin another.")
	}
	return nil
}

// bytes is about how much the conversations hold.
func (d *dialogue) bytes() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.Bytes()
}

// parkForRoom leaves a stream until there may be room for it.
func (j *job) parkForRoom() {
	j.crew.rt.waiters.leave(j.lease.Submission.ID)
	j.giveBack(Release{After: roomPause, Reason: ReasonMemory})
}

// errNoRoom leaves work that waits for memory.
var errNoRoom = errors.New("no room for the work")
