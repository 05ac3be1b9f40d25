package httpapi

import (
	"context"
	"runtime"
)

// turnstile lets few large bodies be taken apart at once, on half of the processors: who sends little does not wait for who
// sends much.
type turnstile chan struct{}

func newTurnstile() turnstile { return make(turnstile, max(1, runtime.GOMAXPROCS(0)/2)) }

// largeBody is how long a body is that has to wait for its turn: less takes a millisecond or two.
const largeBody = 256 << 10

// pass does what takes a processor as long as a body of so many bytes does.
func (t turnstile) pass(ctx context.Context, bytes int, do func() error) error {
	if bytes < largeBody {
		return do()
	}
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-t }()
	return do()
}
