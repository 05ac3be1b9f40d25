package account

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
)

// TestDerivingTakesMemory counts what scrypt takes while it runs, and without room says that it is busy.
func TestDerivingTakesMemory(t *testing.T) {
	budget := memory.New(64 << 20)
	cost := Scrypt{10, 8, 1}
	h := newHasher(cost, budget, slog.New(slog.DiscardHandler))
	during := int64(0)
	h.derived = func(Scrypt) { during = budget.Used(memory.Hashing) }
	held, err := budget.Try("", memory.Work, budget.Limit())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := h.hash(ctx, stranger, "a password"); !fault.Is(err, fault.Busy) {
		t.Errorf("without memory: %v", err)
	}
	if _, _, err := h.verify(ctx, stranger, "", "a password"); !fault.Is(err, fault.Busy) {
		t.Errorf("without memory: %v", err)
	}
	held.Release()
	if _, err := h.hash(t.Context(), known, "a password"); err != nil {
		t.Error(err)
	}
	if during != cost.bytes() || during < 1<<20 || budget.Stats().Held != 0 {
		t.Errorf("%d bytes while it was derived, want %d; %d afterwards", during, cost.bytes(), budget.Stats().Held)
	}
	if slots := newHasher(DefaultScrypt, memory.New(384<<20), nil).turns.slots; slots != 1 {
		t.Errorf("%d are derived at once in 384 MiB", slots)
	}
}
