package project

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
)

// measure brings into the scope's row what it stores elsewhere, as often as the gauge looks.
func (p *Projects) measure(ctx context.Context, scope string) error {
	elsewhere, anew, err := p.gauge.look(ctx, scope)
	if err != nil || !anew {
		return err
	}
	var q quota
	err = p.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if q, err = p.lockQuota(tx, scope); err != nil {
			return err
		}
		_, err = tx.Exec("UPDATE storage_quotas SET attachments = $2, streams = $3, measured_at = $4 WHERE scope = $1",
			scope, elsewhere.attachments, elsewhere.streams, p.Now().UnixMilli())
		return err
	})
	if err != nil {
		return fmt.Errorf("measure storage: %w", err)
	}
	q.attachments, q.streams = elsewhere.attachments, elsewhere.streams
	p.heed(ctx, scope, q)
	return nil
}
