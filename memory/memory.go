// Package memory is the bytes that a process may hold for those it serves: one budget that request bodies, their decoding,
// running work, its images, what readers are sent and what is kept for later all draw from, with a share for each holder.
package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrFull says that the budget has no room now.
var ErrFull = errors.New("no memory left")

// ErrTooLarge says that a holder's share would not do, whatever else is let go.
var ErrTooLarge = errors.New("more memory than one may have")

// Use is what bytes are for, as metrics tell it.
type Use string

// The uses of memory.
const (
	Bodies   Use = "bodies"   // requests while they are read
	Decoding Use = "decoding" // values that a text is taken apart into
	Work     Use = "work"     // inputs, folded logs and what a run remembers
	Images   Use = "images"   // of a model's context, for one turn
	Reads    Use = "reads"    // answers that are on their way to readers
	Kept     Use = "kept"     // what may be let go at any time

	Strangers   Use = "strangers"   // what is sent by who has not said who they are, and heads of requests
	Connections Use = "connections" // what each takes
	Hashing     Use = "hashing"     // passwords that are derived
)

// Uses are all there are.
var Uses = []Use{Bodies, Decoding, Work, Images, Reads, Kept, Strangers, Connections, Hashing}

// The parts of the budget. One holder may have a quarter of it, and all strangers together no more; one network of them has
// half of that. The last eighth is for holders of little: those who hold much cannot shut everybody out.
const (
	shareOf   = 4
	networkOf = 2
	reserveOf = 8
	littleOf  = 64
	smallOf   = 4096
)

// Budget is how many bytes a process may hold. What it counts is an estimate of its callers; what is kept for later is let go
// before anybody is refused, and counts in nobody's share. The empty holder, which is the process itself and all there is
// where scopes are not used, may have everything.
type Budget struct {
	limit, share, reserve, little int64

	mu      sync.Mutex
	shed    []func(n int64) // let go of what is kept
	held    int64
	holders map[string]int64
	uses    map[Use]int64
	refused map[Use]int64
	waiting []*waiter // oldest first
}

// waiter is a grant that waits for room.
type waiter struct {
	grant *Grant
	n     int64
	given chan struct{}
}

// New is a budget of so many bytes; zero or less is Quarter.
func New(limit int64) *Budget {
	if limit <= 0 {
		limit = Quarter()
	}
	return &Budget{
		limit: limit, share: max(1, limit/shareOf), reserve: limit / reserveOf, little: limit / littleOf,
		holders: map[string]int64{}, uses: map[Use]int64{}, refused: map[Use]int64{},
	}
}

// OnFull names what lets go of kept memory when there is no room: about so many bytes, by releasing grants.
func (b *Budget) OnFull(shed func(n int64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shed = append(b.shed, shed)
}

// Limit is how many bytes there are.
func (b *Budget) Limit() int64 { return b.limit }

// Share is how many of them one holder may have.
func (b *Budget) Share() int64 { return b.share }

// Grant is bytes that a holder has.
type Grant struct {
	b      *Budget
	holder string
	use    Use
	n      int64
}

// Try gives a holder bytes at once, or says that there is no room.
func (b *Budget) Try(holder string, use Use, n int64) (*Grant, error) {
	g := &Grant{b: b, holder: holder, use: use}
	return g, g.Grow(n)
}

// Wait gives a holder bytes when there is room for them. The one who has waited longest comes first. What one may never have is
// refused at once.
func (b *Budget) Wait(ctx context.Context, holder string, use Use, n int64) (*Grant, error) {
	g := &Grant{b: b, holder: holder, use: use}
	return g, g.Await(ctx, n)
}

// Await takes more bytes when there is room for them. What one may never have is refused at once.
func (g *Grant) Await(ctx context.Context, n int64) error {
	b := g.b
	if g.Size()+n > b.most(g) {
		return b.refuse(g.use, ErrTooLarge)
	}
	if g.Grow(n) == nil {
		return nil
	}
	w := b.line(g, n)
	select {
	case <-w.given:
		return nil
	case <-ctx.Done():
	}
	if b.leave(w) {
		return ctx.Err()
	}
	return nil // it was given in the same moment
}

// Size is how many bytes the grant holds.
func (g *Grant) Size() int64 {
	if g == nil {
		return 0
	}
	g.b.mu.Lock()
	defer g.b.mu.Unlock()
	return g.n
}

// Grow takes more bytes at once, or none.
func (g *Grant) Grow(n int64) error {
	if n <= 0 {
		return nil
	}
	b := g.b
	if b.take(g, n) {
		return nil
	}
	if g.Size()+n > b.most(g) {
		return b.refuse(g.use, ErrTooLarge)
	}
	if g.use != Kept {
		b.letGo(b.lacks(g, n))
		if b.take(g, n) { // room may have come meanwhile, too
			return nil
		}
	}
	return b.refuse(g.use, ErrFull)
}

// lacks is how many bytes would have to be let go for a grant to grow. It is zero where that would be of no use: because the
// holder has its share, or because less is kept.
func (b *Budget) lacks(g *Grant, n int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	lacking := b.held + n - b.reach(g, n)
	if !b.allows(g, n) || lacking > b.uses[Kept] {
		return 0
	}
	return max(0, lacking)
}

// Fits says whether the grant could hold so much more at this moment, and takes nothing.
func (g *Grant) Fits(n int64) error {
	if err := g.Grow(n); err != nil {
		return err
	}
	g.Resize(g.Size() - max(0, n))
	return nil
}

// letGo asks for kept bytes.
func (b *Budget) letGo(n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	shed := b.shed
	b.mu.Unlock()
	for _, fn := range shed {
		fn(n)
	}
}

// Absorb takes over the bytes of another grant of the same holder.
func (g *Grant) Absorb(other *Grant) {
	g.b.mu.Lock()
	defer g.b.mu.Unlock()
	n := other.n
	g.b.add(other, -n)
	g.b.add(g, n)
}

// Resize makes the grant hold so many bytes, whatever the budget says where that is more: they are held already, and the next
// that asks finds less.
func (g *Grant) Resize(n int64) {
	if g == nil {
		return
	}
	g.b.mu.Lock()
	g.b.add(g, n-g.n)
	g.b.mu.Unlock()
	g.b.serve()
}

// Force adds to the grant, like Resize.
func (g *Grant) Force(n int64) {
	g.b.mu.Lock()
	defer g.b.mu.Unlock()
	g.b.add(g, n)
}

// Release gives all bytes back. A second one, and that of no grant, does nothing.
func (g *Grant) Release() { g.Resize(0) }

// As makes the bytes count for another use.
func (g *Grant) As(use Use) {
	g.b.mu.Lock()
	defer g.b.mu.Unlock()
	n := g.n
	g.b.add(g, -n)
	g.use = use
	g.b.add(g, n)
}

// most is what a grant could ever hold.
func (b *Budget) most(g *Grant) int64 {
	switch {
	case g.holder == "" || g.use == Kept:
		return b.limit
	case g.use == Strangers:
		return b.share / networkOf
	}
	return b.share
}

// add changes a grant; the lock is held.
func (b *Budget) add(g *Grant, n int64) {
	g.n += n
	b.held += n
	b.uses[g.use] += n
	if g.use == Kept {
		return
	}
	if b.holders[g.holder] += n; b.holders[g.holder] <= 0 {
		delete(b.holders, g.holder)
	}
}

// take gives a grant bytes if there is room.
func (b *Budget) take(g *Grant, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fits(g, n) {
		return false
	}
	b.add(g, n)
	return true
}

// fits reports whether there is room; the lock is held.
func (b *Budget) fits(g *Grant, n int64) bool {
	return b.held+n <= b.reach(g, n) && b.allows(g, n)
}

// allows reports whether the holder may have so much more, whether or not it is there; the lock is held.
func (b *Budget) allows(g *Grant, n int64) bool {
	switch {
	case g.use == Kept:
		return true
	case g.use == Strangers && b.uses[Strangers]+n > b.share:
		return false
	}
	return b.holders[g.holder]+n <= b.most(g)
}

// reach is how far the budget may be filled with that; the lock is held. What is kept and small stays in the reserve until that
// is needed.
func (b *Budget) reach(g *Grant, n int64) int64 {
	switch {
	case g.use == Strangers:
	case g.use == Kept && n <= b.limit/smallOf:
		return b.limit
	case g.use != Kept && (g.holder == "" || b.holders[g.holder]+n <= b.little):
		return b.limit
	}
	return b.limit - b.reserve
}

func (b *Budget) refuse(use Use, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused[use]++
	return err
}

// line lets a grant wait for its bytes.
func (b *Budget) line(g *Grant, n int64) *waiter {
	w := &waiter{grant: g, n: n, given: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	b.mu.Unlock()
	b.serve() // room may have come meanwhile
	return w
}

// leave takes a waiter out of the line, and reports false if it has its bytes.
func (b *Budget) leave(w *waiter) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.waiting)
	b.waiting = slices.DeleteFunc(b.waiting, func(other *waiter) bool { return other == w })
	return len(b.waiting) < before
}

// serve gives bytes to those who wait and now have room. One who waits for a share of its own keeps nobody behind it.
func (b *Budget) serve() {
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := b.waiting[:0]
	for _, w := range b.waiting {
		if b.fits(w.grant, w.n) {
			b.add(w.grant, w.n)
			close(w.given)
		} else {
			rest = append(rest, w)
		}
	}
	clear(b.waiting[len(rest):])
	b.waiting = rest
}

// Used is how many bytes are held for a use.
func (b *Budget) Used(use Use) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.uses[use]
}

// Stats is what a budget holds at one moment.
type Stats struct {
	Limit, Held, Waiting int64
	Uses, Refused        map[Use]int64
}

// Stats tells what is held, for what, and how often there was no room.
func (b *Budget) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := Stats{Limit: b.limit, Held: b.held, Waiting: int64(len(b.waiting)), Uses: map[Use]int64{}, Refused: map[Use]int64{}}
	for _, u := range Uses {
		s.Uses[u], s.Refused[u] = b.uses[u], b.refused[u]
	}
	return s
}
