package project

import (
	"context"
	"fmt"
	"sync"
	"time"

	"svc.dev/svc/internal/sqldb"
)

const (
	// measureEvery is how old a measurement may be, unless it takes long.
	measureEvery = time.Second
	// measureShare bounds the part of the time that is spent on measuring one scope: one in so many.
	measureShare = 20
	// maxMeasured is how many scopes are remembered to have been measured lately.
	maxMeasured = 4096
)

// Gauge tells whether there is room in a workspace, to work that changes no files: it reads, and leaves a note where a workspace is
// to be warned. It is safe for concurrent use.
type Gauge struct {
	db      *sqldb.DB
	limit   int64
	measure func(ctx context.Context, scope string) (attachments, streams int64, err error)

	mu   sync.Mutex
	seen map[string]reading // by scope
}

// reading is what a scope stores besides its files, as it was found.
type reading struct {
	attachments, streams int64
	until                time.Time // when to look again
}

// NewGauge makes a gauge of a database whose tables stand. A limit of 0 is the default of Config, and measure may be nil, as
// there.
func NewGauge(db *sqldb.DB, limit int64, measure func(ctx context.Context, scope string) (attachments, streams int64, err error)) *Gauge {
	c := Config{Limit: limit, Measure: measure}
	c.setDefaults()
	return &Gauge{db: db, limit: c.Limit, measure: c.Measure, seen: map[string]reading{}}
}

// Admit refuses new work in a workspace that is full.
func (g *Gauge) Admit(ctx context.Context, scope string) error {
	q, err := g.read(ctx, scope)
	if err != nil || q.total() < q.limit {
		return err
	}
	return q.refuse(0)
}

// GoOn refuses work that was admitted, where it comes to a point at which it can end, once its workspace is past the limit by
// more than the overdraft: 1 % of the limit, and never more than 64 MiB.
func (g *Gauge) GoOn(ctx context.Context, scope string) error {
	q, err := g.read(ctx, scope)
	if err != nil || q.total()-q.limit <= q.overdraft() {
		return err
	}
	return q.refuse(0)
}

// read is the quota of a scope, with what it stores elsewhere as it was found last.
func (g *Gauge) read(ctx context.Context, scope string) (q quota, err error) {
	elsewhere, anew, err := g.look(ctx, scope)
	if err != nil {
		return q, err
	}
	err = g.db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		q, _, err = readQuota(tx, scope, g.limit, "")
		return err
	})
	if err != nil {
		return q, err
	}
	noted := q.level()
	q.attachments, q.streams = elsewhere.attachments, elsewhere.streams
	if anew && q.level() != noted {
		_ = g.note(ctx, scope, elsewhere) // one that is lost is left with the next reading
	}
	return q, nil
}

// note leaves a reading in the row of a scope, for those who can warn its owners to find.
func (g *Gauge) note(ctx context.Context, scope string, r reading) error {
	return g.db.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(`INSERT INTO storage_quotas (scope, attachments, streams, measured_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (scope) DO UPDATE SET attachments = excluded.attachments, streams = excluded.streams, measured_at = excluded.measured_at`,
			scope, r.attachments, r.streams, time.Now().UnixMilli())
		return err
	})
}

// look is what a scope stores besides its files, and whether that was measured anew.
func (g *Gauge) look(ctx context.Context, scope string) (r reading, anew bool, err error) {
	began := time.Now()
	if r, fresh := g.last(scope, began); fresh {
		return r, false, nil
	}
	attachments, streams, err := g.measure(ctx, scope)
	if err != nil {
		return r, false, fmt.Errorf("measure storage: %w", err)
	}
	now := time.Now()
	r = reading{max(attachments, 0), max(streams, 0), now.Add(max(measureEvery, measureShare*now.Sub(began)))}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.seen) >= maxMeasured {
		clear(g.seen) // the next of each scope measures again
	}
	g.seen[scope] = r
	return r, true, nil
}

// last is the reading before, if it still counts. Of those who find it too old one looks again, and the others go on with it
// meanwhile.
func (g *Gauge) last(scope string, now time.Time) (r reading, fresh bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, known := g.seen[scope]
	if !known || now.Before(r.until) {
		return r, known
	}
	r.until = now.Add(measureEvery)
	g.seen[scope] = r
	return r, false
}
