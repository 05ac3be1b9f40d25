package project

import (
	"context"
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// measureEvery is how old a measurement may be.
const measureEvery = time.Second

// maxMeasured is how many scopes are remembered to have been measured lately.
const maxMeasured = 4096

// measure brings into the scope's row what it stores elsewhere, at most once a second.
func (p *Projects) measure(ctx context.Context, scope string) error {
	if p.measuredLately(scope) {
		return nil
	}
	attachments, streams, err := p.Measure(ctx, scope)
	if err != nil {
		return fmt.Errorf("measure storage: %w", err)
	}
	err = p.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := p.lockQuota(tx, scope); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE storage_quotas SET attachments = $2, streams = $3, measured_at = $4 WHERE scope = $1",
			scope, max(attachments, 0), max(streams, 0), p.Now().UnixMilli())
		return err
	})
	if err != nil {
		return fmt.Errorf("measure storage: %w", err)
	}
	return nil
}

// measuredLately reports whether a scope was measured within the last second, and takes it that it is now.
func (p *Projects) measuredLately(scope string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.measured[scope]) < measureEvery {
		return true
	}
	if len(p.measured) >= maxMeasured {
		clear(p.measured) // the next of each scope measures again
	}
	p.measured[scope] = time.Now()
	return false
}
