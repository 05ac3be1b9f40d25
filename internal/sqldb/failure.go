package sqldb

import (
	"fmt"
	"sync"
)

// failure is the first fatal error of a database; it never heals.
type failure struct {
	once  sync.Once
	done  chan struct{}
	cause error
}

// set records the cause; the first one wins.
func (f *failure) set(cause error) {
	f.once.Do(func() {
		f.cause = cause
		close(f.done)
	})
}

func (f *failure) err() error {
	select {
	case <-f.done:
		return fmt.Errorf("%w: %w", ErrFailed, f.cause)
	default:
		return nil
	}
}
