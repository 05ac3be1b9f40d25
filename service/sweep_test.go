package service

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"svc.dev/svc/internal/notepad"
	"svc.dev/svc/internal/sqldb/sqldbtest"
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

// TestSweepSaysThatABackupHoldsItUp sweeps while a backup is made, and afterwards.
func TestSweepSaysThatABackupHoldsItUp(t *testing.T) {
	var log notepad.Pad
	h := furnished(t, sqldbtest.SQLite(t), func(h *house) { h.log = slog.New(slog.NewTextHandler(&log, nil)) })
	h.still.Lock()
	h.sweep(t.Context())
	h.still.Unlock()
	said := log.String()
	for _, kind := range []string{sweptAccounts, sweptWorkspaces} {
		if !strings.Contains(said, `msg="not swept while a backup is made" kind=`+kind) {
			t.Errorf("nothing of %s: %s", kind, said)
		}
	}
	h.sweep(t.Context())
	if more := log.String()[len(said):]; strings.Contains(more, "backup") {
		t.Errorf("without a backup: %s", more)
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
