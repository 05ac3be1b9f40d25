package service

import (
	"context"
	"errors"
	"testing"
)

func TestSweepRepeatsUntilNothingIsLeft(t *testing.T) {
	left := []int64{500, 500, 3, 0, 7}
	total, err := repeat(t.Context(), func(context.Context) (int64, error) {
		n := left[0]
		left = left[1:]
		return n, nil
	})
	if total != 1003 || err != nil || len(left) != 1 {
		t.Errorf("%d %v, left %v", total, err, left)
	}
}

func TestSweepIsBounded(t *testing.T) {
	total, err := repeat(t.Context(), func(context.Context) (int64, error) { return 1, nil })
	if total != sweepRounds || err != nil {
		t.Errorf("%d %v", total, err)
	}
	if total, err := repeat(t.Context(), func(context.Context) (int64, error) { return 1, errors.New("x") }); total != 1 || err == nil {
		t.Errorf("%d %v", total, err)
	}
}

func TestOneRoomThatFailsEndsTheOthers(t *testing.T) {
	failed := errors.New("failed")
	err := together(t.Context(),
		func(ctx context.Context) error { <-ctx.Done(); return nil },
		func(context.Context) error { return failed },
	)
	if !errors.Is(err, failed) {
		t.Error(err)
	}
}
