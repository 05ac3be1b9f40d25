package memory_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"svc.dev/svc/memory"
)

// TestHoldersTakeTurns: one at a time each, and nobody waits for another.
func TestHoldersTakeTurns(t *testing.T) {
	turns := memory.NewTurns(1, 2)
	inside, held, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- turns.Take(context.Background(), "ada", func() error { close(inside); <-held; return nil })
	}()
	<-inside
	if err := turns.Take(t.Context(), "bob", func() error { return nil }); err != nil {
		t.Errorf("somebody else: %v", err)
	}
	over, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := turns.Take(over, "ada", func() error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the same once more: %v", err)
	}
	close(held)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := turns.Take(t.Context(), "ada", func() error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("in turn: %v", err)
	}
	if n := turns.Holders(); n != 0 {
		t.Errorf("%d holders are remembered", n)
	}
}
