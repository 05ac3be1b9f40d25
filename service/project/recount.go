package project

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
)

// maxStrays is how many of what does not belong there are named.
const maxStrays = 100

// Drift is where disk, index and sums of a workspace disagreed, and were made to agree.
type Drift struct {
	Projects int // looked at
	Files    int // looked at

	Adopted int      // files that the index did not know
	Dropped int      // entries without a file
	Changed int      // files that were changed by somebody else
	Temps   int      // temporary files of nobody
	Strays  []string // what is no regular file or has no name that a file can have; it stays

	UsedBytes     int64 // what was counted too much, or too little
	ReservedBytes int64
	Counters      int // projects whose own sums were wrong
}

// None reports whether everything agreed.
func (d Drift) None() bool {
	return d.Adopted+d.Dropped+d.Changed+d.Temps+len(d.Strays)+d.Counters == 0 && d.UsedBytes == 0 && d.ReservedBytes == 0
}

// Recount looks at all files of a workspace, repairs the index and the sums, and reports what was wrong. Files that were
// written within the last minute are taken to be right. What is stored elsewhere is measured again.
func (p *Projects) Recount(ctx context.Context, scope string) (d Drift, err error) {
	if _, err := placeOf(scope); err != nil {
		return d, err
	}
	var ids []string
	err = p.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		ids, err = sqldb.Collect(tx, sqldb.Column[string], "SELECT id FROM projects WHERE scope = $1 AND deleted_at IS NULL ORDER BY id", scope)
		return err
	})
	if err != nil {
		return d, fmt.Errorf("recount: %w", err)
	}
	for _, id := range ids {
		err := p.withFolder(ctx, id, func(r record, f folder) error { return p.compare(ctx, r, f, &d) })
		if err != nil {
			return d, fmt.Errorf("recount: %w", err)
		}
	}
	if err := p.resum(ctx, scope, &d); err != nil {
		return d, fmt.Errorf("recount: %w", err)
	}
	if err := p.measure(ctx, scope); err != nil {
		return d, fmt.Errorf("recount: %w", err)
	}
	return d, nil
}

// RecountAll recounts every workspace that ever stored anything, one after the other, and hands what it found to fn.
func (p *Projects) RecountAll(ctx context.Context, fn func(scope string, d Drift, err error)) error {
	for after := ""; ; {
		var scopes []string
		err := p.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
			scopes, err = sqldb.Collect(tx, sqldb.Column[string], "SELECT scope FROM storage_quotas WHERE scope > $1 ORDER BY scope LIMIT $2", after, sweepRows)
			return err
		})
		if err != nil || len(scopes) == 0 {
			return err
		}
		for _, scope := range scopes {
			if err := ctx.Err(); err != nil {
				return err
			}
			d, err := p.Recount(ctx, scope)
			fn(scope, d, err)
		}
		after = scopes[len(scopes)-1]
	}
}

// resum counts the index again. Nobody changes it meanwhile.
func (p *Projects) resum(ctx context.Context, scope string, d *Drift) error {
	var used, reserved, counters int64
	var q quota
	err := p.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if q, err = p.lockQuota(tx, scope); err != nil {
			return err
		}
		counters, err = tx.Exec(`UPDATE projects SET bytes = (SELECT COALESCE(SUM(f.bytes), 0) FROM project_files f WHERE f.project = projects.id),
			files = (SELECT count(*) FROM project_files f WHERE f.project = projects.id)
			WHERE scope = $1 AND (bytes <> (SELECT COALESCE(SUM(f.bytes), 0) FROM project_files f WHERE f.project = projects.id)
			OR files <> (SELECT count(*) FROM project_files f WHERE f.project = projects.id))`, scope)
		if err != nil {
			return err
		}
		err = tx.QueryRow(`SELECT (SELECT COALESCE(SUM(bytes), 0) FROM projects WHERE scope = $1),
			(SELECT COALESCE(SUM(bytes), 0) FROM storage_reservations WHERE scope = $1)`, scope).Scan(&used, &reserved)
		if err != nil {
			return err
		}
		used, reserved = used-q.used, reserved-q.reserved
		q.used += used
		return count(tx, scope, used, reserved)
	})
	d.UsedBytes, d.ReservedBytes, d.Counters = d.UsedBytes-used, d.ReservedBytes-reserved, d.Counters+int(counters)
	if err != nil {
		return err
	}
	p.heed(ctx, scope, q)
	return nil
}
