package secret

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"svc.dev/svc/internal/sqldb"
)

const (
	noteEvery = time.Minute
	// maxUsed bounds the secrets whose use is remembered between two flushes; more are not told.
	maxUsed = 10_000
	// manyWraps is when a key should be rotated: random nonces of GCM are safe for 2^32 of them.
	manyWraps = int64(1) << 30
)

// notes are what is written down later, so that no reader waits for it: a crash loses at most a minute of them.
type notes struct {
	mu    sync.Mutex
	uses  map[string]int64 // time of the last use, by secret
	wraps map[string]int64 // since the last flush, by kid
}

func (n *notes) used(id string, at int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.uses[id]; known || len(n.uses) < maxUsed {
		n.uses[id] = max(at, n.uses[id])
	}
}

func (n *notes) wrapped(kid string, count int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wraps[kid] += count
}

func (n *notes) take() (uses, wraps map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	uses, wraps = n.uses, n.wraps
	n.uses, n.wraps = map[string]int64{}, map[string]int64{}
	return uses, wraps
}

// Run writes down once a minute which secrets were used and how often keys have wrapped, until ctx ends; then a last time.
func (s *Store) Run(ctx context.Context) error {
	every := time.NewTicker(noteEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			if err := s.Flush(ctx); err != nil && ctx.Err() == nil {
				s.config.Log.Warn("note uses of secrets", "error", err)
			}
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			return s.Flush(last)
		}
	}
}

// Flush does now what Run does each minute. A secret's last use is written at most once a minute, by all nodes together.
func (s *Store) Flush(ctx context.Context) error {
	uses, wraps := s.notes.take()
	var failed error
	for _, kid := range slices.Sorted(maps.Keys(wraps)) {
		if err := s.noteWraps(ctx, kid, wraps[kid]); err != nil {
			s.notes.wrapped(kid, wraps[kid])
			failed = err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(uses)) {
		if failed != nil {
			break
		}
		failed = s.noteUse(ctx, id, uses[id])
	}
	if failed != nil {
		return fmt.Errorf("note uses of secrets: %w", failed)
	}
	return nil
}

// noteUse writes one row alone: several in one transaction could wait crosswise for those who seal several.
func (s *Store) noteUse(ctx context.Context, id string, at int64) error {
	return s.db.Do(ctx, "note last use", `UPDATE secrets SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)`,
		id, at, at-noteEvery.Milliseconds())
}

func (s *Store) noteWraps(ctx context.Context, kid string, count int64) error {
	total, err := sqldb.Write(ctx, s.db, func(tx *sqldb.Tx) (int64, error) {
		return sqldb.Value[int64](tx, "count wraps", `UPDATE secret_keys SET wraps = wraps + $2 WHERE kid = $1 RETURNING wraps`, kid, count)
	})
	if err == nil && total >= manyWraps {
		s.config.Log.Warn("rotate the key of secrets: it has wrapped very often", "kid", kid, "wraps", total, "limit", int64(1)<<32)
	}
	return err
}
