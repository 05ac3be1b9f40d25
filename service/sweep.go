package service

import (
	"context"
	"math/rand/v2"
	"time"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/offer"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/sqlstore"
)

const (
	// sweepFirst is within which time after the start the first sweep begins: a node that restarts often sweeps too.
	sweepFirst = time.Minute
	// sweepEvery is how long it is between two sweeps, on average: nodes that start together do not sweep together.
	sweepEvery = 5 * time.Minute
	// sweepRounds bounds what one sweep does of one kind; the rest waits for the next.
	sweepRounds = 100
	// keepVerifications is how long the service's own runs are kept.
	keepVerifications = 24 * time.Hour
)

// The kinds of things that sweeps take away, as log and metrics name them.
const (
	sweptSessions      = "sessions"
	sweptPairings      = "pairings"
	sweptDeliveries    = "deliveries"
	sweptAccounts      = "accounts"
	sweptInvitations   = "invitations"
	sweptWorkspaces    = "workspaces"
	sweptLeftovers     = "uploads"
	sweptVerifications = "verifications"
	sweptMails         = "mails"
	sweptReceipts      = "receipts"
	sweptCalls         = "calls"
	sweptThrottles     = "throttles"
	sweptAudit         = "audit"
	sweptKeys          = "keys"
	sweptRuns          = "runs"
	sweptConversations = "conversations"
	sweptBlobs         = "blobs"
)

var sweptKinds = []string{
	sweptSessions, sweptPairings, sweptDeliveries, sweptAccounts, sweptInvitations, sweptWorkspaces, sweptLeftovers, sweptVerifications, sweptMails,
	sweptReceipts, sweptCalls, sweptThrottles, sweptAudit, sweptKeys, sweptRuns, sweptConversations, sweptBlobs,
}

// sweepOften deletes what nobody needs any more, soon after the start and then every few minutes until ctx ends.
func (h *house) sweepOften(ctx context.Context) error { return again(ctx, sweepPauses(), h.sweep) }

// sweepPauses are what lies before each sweep.
func sweepPauses() func() time.Duration {
	begun := false
	return func() time.Duration {
		if !begun {
			begun = true
			return rand.N(sweepFirst)
		}
		return sweepEvery/2 + rand.N(sweepEvery)
	}
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
	now := iso.Clock(h.now)()
	for _, kind := range []struct {
		name string
		do   func(context.Context) (int64, error)
	}{
		{sweptSessions, h.accounts.Sweep},
		{sweptPairings, h.devices.Sweep},
		{sweptDeliveries, h.installs.Sweep},
		{sweptAccounts, h.unlessStill(sweptAccounts, func(ctx context.Context) (int64, error) { return counted(h.accounts.Erase(ctx)) })},
		{sweptInvitations, func(ctx context.Context) (int64, error) { return h.spaces.Sweep(ctx, now) }},
		{sweptWorkspaces, h.unlessStill(sweptWorkspaces, func(ctx context.Context) (int64, error) { return counted(h.spaces.Erase(ctx)) })},
		{sweptLeftovers, func(ctx context.Context) (int64, error) { return counted(h.projects.Sweep(ctx, now)) }},
		{sweptVerifications, func(ctx context.Context) (int64, error) {
			return sqlstore.EraseRuns(ctx, h.db, scope.Service, now.Add(-keepVerifications))
		}},
		{sweptMails, func(ctx context.Context) (int64, error) { return h.outbox.Sweep(ctx, now) }},
		{sweptReceipts, func(ctx context.Context) (int64, error) { return h.receipts.Sweep(ctx, now) }},
		{sweptCalls, func(ctx context.Context) (int64, error) { return offer.Sweep(ctx, h.db, now) }},
		{sweptThrottles, func(ctx context.Context) (int64, error) { return throttle.Sweep(ctx, h.db, now) }},
		{sweptAudit, func(ctx context.Context) (int64, error) { return h.sweepAudit(ctx, now) }},
	} {
		total, err := repeat(ctx, kind.do)
		if err != nil && ctx.Err() == nil {
			h.log.Warn("sweep", "kind", kind.name, "error", err)
		}
		if total > 0 {
			h.log.Info("swept", "kind", kind.name, "count", total)
		}
		h.count(kind.name, total)
	}
	h.watchQuotas(ctx)
}

// sweepAudit deletes events of the audit log that are past their time, if there is one.
func (h *house) sweepAudit(ctx context.Context, now time.Time) (int64, error) {
	if h.config.RetentionAudit <= 0 {
		return 0, nil
	}
	return h.audit.Sweep(ctx, now.Add(-h.config.RetentionAudit))
}

// watchQuotas finds workspaces that are nearly full and whose owners nobody has told yet.
func (h *house) watchQuotas(ctx context.Context) {
	_, err := repeat(ctx, func(ctx context.Context) (int64, error) { return counted(h.quotas.Watch(ctx)) })
	if err != nil && ctx.Err() == nil {
		h.log.Warn("warn of storage", "error", err)
	}
}

// countStored counts what the runtime's store has forgotten, which tells its own log.
func (h *house) countStored(s sqlstore.Swept) {
	h.count(sweptKeys, s.Keys)
	h.count(sweptRuns, s.Runs)
	h.count(sweptConversations, s.Conversations)
	h.count(sweptBlobs, s.Blobs)
}

func (h *house) count(kind string, n int64) {
	if h.swept != nil {
		h.swept(kind, n)
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
