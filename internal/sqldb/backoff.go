package sqldb

import (
	"context"
	"errors"
	"time"
)

// backoff is a pause that doubles from 100 ms to 2 s.
type backoff struct{ next time.Duration }

// sleep pauses, or returns early when ctx ends.
func (b *backoff) sleep(ctx context.Context) {
	b.next = min(max(2*b.next, 100*time.Millisecond), 2*time.Second)
	pause(ctx, b.next)
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// Insist does again, up to four times, what the write queue was too full for.
func Insist(do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if !errors.Is(err, ErrBusy) || n == 5 {
			return err
		}
		time.Sleep(time.Duration(n) * 50 * time.Millisecond)
	}
}
