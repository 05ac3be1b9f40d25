package svc

import (
	"maps"
	"slices"
	"sync"

	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
)

// leftRings is how many rings are kept that nobody reads or writes: a reader who prompts and then follows may come a moment
// after the reply.
const leftRings = 128

// rings are those of the streams that are read or written on this node.
type rings struct {
	store  Store
	budget *memory.Budget
	holder func(scope string) string

	mu   sync.Mutex // taken before that of a ring
	all  map[Stream]*ring
	left []*ring // those that nobody read or wrote when they were added, oldest first
	read int     // how many have readers
}

// of finds a stream's ring or makes it; the lock is held.
func (rs *rings) of(s Stream) *ring {
	r := rs.all[s]
	if r == nil {
		room, _ := rs.budget.Try("", memory.Kept, 0)
		r = &ring{stream: s, among: rs, wake: make(chan struct{}), room: room}
		rs.all[s] = r
	}
	return r
}

// find is a stream's ring, nil if there is none, and whether it is read.
func (rs *rings) find(s Stream) (r *ring, read bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r = rs.all[s]
	return r, r != nil && r.readers > 0
}

// join counts a reader in. The first begins to hear of other nodes' appends.
func (rs *rings) join(s Stream) *ring {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.of(s)
	if r.enter() {
		rs.read++
		r.watch()
	}
	return r
}

// part counts a reader out.
func (rs *rings) part(r *ring) {
	rs.mu.Lock()
	stop := func() {}
	if r.leave() {
		rs.read--
		stop = r.stop
		rs.keep(r)
	}
	rs.mu.Unlock()
	stop()
}

// hold tells that this node appends to the stream now, behind a head.
func (rs *rings) hold(s Stream, head stream.Offset) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.of(s).hold(head)
}

// letGo tells that it does no longer; settled, that its last append gave the lease back.
func (rs *rings) letGo(s Stream, settled bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.all[s]
	r.letGo(settled)
	rs.keep(r)
}

// keep holds on to a ring that nobody reads or writes for a while; the lock is held.
func (rs *rings) keep(r *ring) {
	if r.used() || slices.Contains(rs.left, r) {
		return
	}
	rs.left = append(rs.left, r)
	for len(rs.left) > leftRings {
		oldest := rs.left[0]
		rs.left[0], rs.left = nil, rs.left[1:]
		if !oldest.used() {
			delete(rs.all, oldest.stream)
			oldest.room.Release()
		}
	}
}

// expect tells that this node is about to append to the stream.
func (rs *rings) expect(s Stream) {
	if r, _ := rs.find(s); r != nil {
		r.expect()
	}
}

// publish keeps an append of this node for the stream's readers. It is called after the commit, in order. Where nobody reads
// it is not encoded yet.
func (rs *rings) publish(s Stream, p piece, closed bool) {
	r, read := rs.find(s)
	if r == nil {
		return // work that was left behind may append last when its stream was let go
	}
	if p.Next == p.After && !closed {
		r.expected()
		return
	}
	r.publish(p, !read || p.encode(), closed)
}

// forget lets go of what is kept of a stream that is no more. Its readers ask the store, and hear of it.
func (rs *rings) forget(s Stream) {
	r, _ := rs.find(s)
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	r.broadcast()
}

// shed lets go of what rings hold, until so many bytes are free.
func (rs *rings) shed(n int64) {
	rs.mu.Lock()
	all := slices.Collect(maps.Values(rs.all))
	rs.mu.Unlock()
	for _, r := range all {
		if n <= 0 {
			return
		}
		n -= r.room.Size()
		r.mu.Lock()
		r.forget()
		r.mu.Unlock()
	}
}
