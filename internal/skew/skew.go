// Package skew keeps the time of another clock, as far as its answers tell.
package skew

import (
	"sync"
	"time"
)

// Clock is the store's time as this node knows it. Nodes whose own clocks differ agree on it, so what one of them has
// written down another can wait for.
type Clock struct {
	local func() time.Time

	mu    sync.Mutex
	ahead time.Duration // of the store's clock before ours
}

// grain is how finely a store tells its time.
const grain = time.Millisecond

// New is a clock that has heard nothing: it shows the local time.
func New(local func() time.Time) *Clock { return &Clock{local: local} }

// Now is the store's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.local().Add(c.ahead)
}

// Ahead is how far the store's clock is ahead of this node's.
func (c *Clock) Ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead
}

// Heard takes what the store's clock showed at some moment between two of ours. The clock moves no further than that tells:
// an answer that took long tells little.
func (c *Clock) Heard(asked, answered, store time.Time) {
	if store.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	least, most := store.Sub(answered), store.Add(grain).Sub(asked)
	c.ahead = min(max(c.ahead, least), most)
}
