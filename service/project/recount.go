package project

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/storage"
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
	ids, err := sqldb.ReadAll(ctx, p.DB, sqldb.Column[string], "SELECT id FROM projects WHERE scope = $1 AND deleted_at IS NULL ORDER BY id", scope)
	if err != nil {
		return d, fmt.Errorf("recount: %w", err)
	}
	for _, id := range ids {
		err := p.withFolder(ctx, id, func(r Project, f folder) error { return p.compare(ctx, r, f, &d) })
		if err != nil {
			return d, fmt.Errorf("recount: %w", err)
		}
	}
	if err := p.resum(ctx, scope, &d); err != nil {
		return d, fmt.Errorf("recount: %w", err)
	}
	if err := p.Quotas.Refresh(ctx, scope); err != nil {
		return d, fmt.Errorf("recount: %w", err)
	}
	return d, nil
}

// resum counts the index again. Nobody changes it meanwhile.
func (p *Projects) resum(ctx context.Context, scope string, d *Drift) error {
	return p.Quotas.Change(ctx, scope, func(tx *sqldb.Tx, q *storage.Quota) error {
		counters, err := tx.Exec(`UPDATE projects SET bytes = (SELECT COALESCE(SUM(f.bytes), 0) FROM project_files f WHERE f.project = projects.id),
			files = (SELECT count(*) FROM project_files f WHERE f.project = projects.id)
			WHERE scope = $1 AND (bytes <> (SELECT COALESCE(SUM(f.bytes), 0) FROM project_files f WHERE f.project = projects.id)
			OR files <> (SELECT count(*) FROM project_files f WHERE f.project = projects.id))`, scope)
		if err != nil {
			return err
		}
		stored, err := sqldb.Value[int64](tx, "sum projects", "SELECT COALESCE(SUM(bytes), 0) FROM projects WHERE scope = $1", scope)
		if err != nil {
			return err
		}
		d.Counters = int(counters)
		d.UsedBytes, d.ReservedBytes, err = q.Recount(tx, stored)
		return err
	})
}
