package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// mostBackoff is the longest that somebody waits who is told nothing else.
const mostBackoff = 10 * time.Second

// pace is how long one waits before one asks again: random, so that many who were cut off do not come back at once, and longer
// each time.
type pace struct {
	first time.Duration
	tries int
}

// next is the wait before the next try, after what the server asked for.
func (p *pace) next(asked time.Duration) time.Duration {
	most := mostBackoff
	if p.tries < 20 {
		most = min(most, p.first<<p.tries)
	}
	p.tries++
	return asked + rand.N(max(most, 1))
}

// reset makes the next wait a short one again.
func (p *pace) reset() { p.tries = 0 }

func (c *Client) pace() pace { return pace{first: c.config.Backoff} }

// pause waits, and reports whether it is worth going on.
func (c *Client) pause(ctx context.Context, why *Error, wait time.Duration) bool {
	if c.config.Retrying != nil {
		c.config.Retrying(why, wait)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// outOf reports whether patience ends before a wait does.
func outOf(patience time.Duration, since time.Time, wait time.Duration) bool {
	return patience >= 0 && time.Since(since)+wait > patience
}
