package service

import (
	"context"
	"math/rand/v2"
	"time"

	"svc.dev/svc/service/offer"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/sqlstore"
)

const (
	// sweepEvery is how long it is between two sweeps, on average: nodes that start together do not sweep together.
	sweepEvery = 5 * time.Minute
	// sweepRounds bounds what one sweep does of one kind; the rest waits for the next.
	sweepRounds = 100
	// keepVerifications is how long the service's own runs are kept.
	keepVerifications = 24 * time.Hour
)

// sweepOften deletes what nobody needs any more, every few minutes until ctx ends.
func (h *house) sweepOften(ctx context.Context) error {
	return again(ctx, func() time.Duration { return sweepEvery/2 + rand.N(sweepEvery) }, h.sweep)
}

// again does something after every pause, until ctx ends.
func again(ctx context.Context, pause func() time.Duration, do func(context.Context)) error {
	for {
		timer := time.NewTimer(pause())
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
			do(ctx)
		}
	}
}

// sweep goes once through all kinds. One that fails is told and tried again next time.
func (h *house) sweep(ctx context.Context) {
	for _, kind := range []struct {
		name string
		do   func(context.Context) (int64, error)
	}{
		{"ended sessions and tokens", h.accounts.Sweep},
		{"pairings of devices", h.devices.Sweep},
		{"deliveries", h.installs.Sweep},
		{"deleted accounts", func(ctx context.Context) (int64, error) { return counted(h.accounts.Erase(ctx)) }},
		{"invitations", func(ctx context.Context) (int64, error) { return h.spaces.Sweep(ctx, time.Now()) }},
		{"deleted workspaces", func(ctx context.Context) (int64, error) { return counted(h.spaces.Erase(ctx)) }},
		{"leftovers of projects", func(ctx context.Context) (int64, error) { return counted(h.projects.Sweep(ctx, time.Now())) }},
		{"warnings of storage", func(ctx context.Context) (int64, error) { return counted(h.quotas.Watch(ctx)) }},
		{"verifications", func(ctx context.Context) (int64, error) {
			return sqlstore.EraseRuns(ctx, h.db, scope.Service, time.Now().Add(-keepVerifications))
		}},
		{"sent mails", func(ctx context.Context) (int64, error) { return h.outbox.Sweep(ctx, time.Now()) }},
		{"receipts", func(ctx context.Context) (int64, error) { return h.receipts.Sweep(ctx, time.Now()) }},
		{"calls of MCP clients", func(ctx context.Context) (int64, error) { return offer.Sweep(ctx, h.db, time.Now()) }},
		{"throttles", func(ctx context.Context) (int64, error) { return throttle.Sweep(ctx, h.db, time.Now()) }},
	} {
		total, err := repeat(ctx, kind.do)
		if err != nil && ctx.Err() == nil {
			h.log.Warn("sweep", "kind", kind.name, "error", err)
		}
		h.log.Debug("swept", "kind", kind.name, "count", total)
	}
}

// repeat does a batch after the other until one finds nothing.
func repeat(ctx context.Context, do func(context.Context) (int64, error)) (total int64, err error) {
	for range sweepRounds {
		n, err := do(ctx)
		total += n
		if err != nil || n == 0 {
			return total, err
		}
	}
	return total, nil
}

func counted(n int, err error) (int64, error) { return int64(n), err }
