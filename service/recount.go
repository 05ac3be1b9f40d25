package service

import (
	"context"
	"math/rand/v2"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/throttle"
)

const (
	// recountHour is when what workspaces store may be counted again, and recountSpread within which time from then on: nodes
	// do not all begin at once.
	recountHour   = 2
	recountSpread = 2 * time.Hour
)

// onceANight lets one of the nodes count.
var onceANight = throttle.Rate{Limit: 1, Per: 12 * time.Hour}

// recountNightly compares disk, index and sums of all workspaces once a night, until ctx ends.
func (h *house) recountNightly(ctx context.Context) error {
	return again(ctx, func() time.Duration { return untilNight(time.Now()) + rand.N(recountSpread) }, h.recount)
}

// untilNight is how long it is until the next recount may begin.
func untilNight(now time.Time) time.Duration {
	next := time.Date(now.Year(), now.Month(), now.Day(), recountHour, 0, 0, 0, now.Location())
	if !next.After(now) {
		next = next.AddDate(0, 0, 1)
	}
	return next.Sub(now)
}

// recount counts everything again, unless another node did so this night. What was wrong is told, and is right then.
func (h *house) recount(ctx context.Context) {
	wait, err := sqldb.Write(ctx, h.db, func(tx *sqldb.Tx) (time.Duration, error) {
		return throttle.Take(tx, time.Now(), "recount", onceANight)
	})
	if err == nil && wait > 0 {
		return
	}
	looked, wrong := 0, 0
	if err == nil {
		looked, wrong, err = h.recountAll(ctx)
	}
	if err != nil && ctx.Err() == nil {
		h.log.Warn("recount storage", "error", err)
	}
	h.log.Info("recounted storage", "workspaces", looked, "wrong", wrong)
}

// recountAll counts one workspace after the other.
func (h *house) recountAll(ctx context.Context) (looked, wrong int, err error) {
	for scope, err := range h.quotas.Scopes(ctx) {
		if err != nil {
			return looked, wrong, err
		}
		d, err := h.projects.Recount(ctx, scope)
		if looked++; err != nil || !d.None() {
			wrong++
			h.log.Warn("storage was not as counted", "scope", scope, "adopted", d.Adopted, "dropped", d.Dropped, "changed", d.Changed, "temporary", d.Temps,
				"strays", len(d.Strays), "used_bytes", d.UsedBytes, "reserved_bytes", d.ReservedBytes, "counters", d.Counters, "error", err)
		}
	}
	return looked, wrong, nil
}
