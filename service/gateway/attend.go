package gateway

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"svc.dev/svc/service/access"
)

// errEnded is why a stream ends that neither the client nor the runtime has ended.
var errEnded = errors.New("the gateway ended the stream")

// perStream is what each open stream adds to the time over which all of them end: fifty that come back in a second are no
// crowd.
const perStream = 20 * time.Millisecond

// attend ends a stream whose credential no longer counts, or when this process stops. A database that cannot say whether it
// counts ends nothing.
func (g *Gateway) attend(ctx context.Context, end context.CancelCauseFunc, v *access.Visitor) {
	tick := time.NewTicker(g.Recheck)
	defer tick.Stop()
	var leave <-chan time.Time
	for stopping := g.Stopping; ; {
		select {
		case <-ctx.Done():
			return
		case <-stopping:
			// Streams go spread over time, so that clients do not all come back at once.
			spread := min(g.Farewell, time.Duration(g.streams.Count())*perStream)
			stopping, leave = nil, time.After(rand.N(max(1, spread)))
		case <-leave:
			end(errEnded)
			return
		case <-tick.C:
			if v.Again(ctx) != nil {
				end(errEnded)
				return
			}
		}
	}
}

// Streams is how many streams are open.
func (g *Gateway) Streams() int { return g.streams.Count() }

// stopping reports whether this process takes nothing new.
func (g *Gateway) stopping() bool {
	select {
	case <-g.Stopping:
		return true
	default:
		return false
	}
}

// Drain returns when no stream is open any more, or when ctx ends.
func (g *Gateway) Drain(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for g.streams.Count() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
