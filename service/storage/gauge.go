package storage

import (
	"cmp"
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

// Measure is how many bytes a scope stores elsewhere, in attachments and streams.
type Measure func(ctx context.Context, scope string) (attachments, streams int64, err error)

// Gauge tells whether there is room in a workspace, to work that changes no files: it reads, and leaves a note where a workspace is
// to be warned. It is safe for concurrent use.
type Gauge struct {
	db      *sqldb.DB
	limit   int64
	measure Measure

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
func NewGauge(db *sqldb.DB, limit int64, measure Measure) *Gauge {
	if measure == nil {
		measure = func(context.Context, string) (int64, int64, error) { return 0, 0, nil }
	}
	return &Gauge{db: db, limit: cmp.Or(limit, defaultLimit), measure: measure, seen: map[string]reading{}}
}

// Admit refuses new work in a workspace that is full.
func (g *Gauge) Admit(ctx context.Context, scope string) error {
	q, err := g.gauge(ctx, scope)
	if err != nil || q.total() < q.limit {
		return err
	}
	return q.Refuse(0)
}

// GoOn refuses work that was admitted, where it comes to a point at which it can end, once its workspace is past the limit by
// more than the overdraft: 1 % of the limit, and never more than 64 MiB.
func (g *Gauge) GoOn(ctx context.Context, scope string) error {
	q, err := g.gauge(ctx, scope)
	if err != nil || q.total()-q.limit <= q.overdraft() {
		return err
	}
	return q.Refuse(0)
}

// gauge is the quota of a scope, with what it stores elsewhere as it was found last.
func (g *Gauge) gauge(ctx context.Context, scope string) (q Quota, err error) {
	elsewhere, anew, err := g.look(ctx, scope)
	if err != nil {
		return q, err
	}
	if q, err = g.Read(ctx, scope); err != nil {
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
	return g.db.Do(ctx, "note reading", `INSERT INTO storage_quotas (scope, attachments, streams, measured_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (scope) DO UPDATE SET attachments = excluded.attachments, streams = excluded.streams, measured_at = excluded.measured_at`,
		scope, r.attachments, r.streams, time.Now().UnixMilli())
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

// Refresh brings into the scope's row what it stores elsewhere, as often as the gauge looks.
func (s *Quotas) Refresh(ctx context.Context, scope string) error {
	elsewhere, anew, err := s.look(ctx, scope)
	if err != nil || !anew {
		return err
	}
	return s.Change(ctx, scope, func(tx *sqldb.Tx, q *Quota) error {
		q.attachments, q.streams = elsewhere.attachments, elsewhere.streams
		return tx.Do("measure storage", "UPDATE storage_quotas SET attachments = $2, streams = $3, measured_at = $4 WHERE scope = $1",
			scope, elsewhere.attachments, elsewhere.streams, s.Now().UnixMilli())
	})
}
