package project

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
)

// How a file differs from what the last pull brought.
const (
	Added   = "added"
	Changed = "changed"
	Deleted = "deleted"
)

// Difference is a file that is not as the last pull left it. One that was deleted has a path alone.
type Difference struct {
	File
	How string
}

// Differences lists by their paths the files of a project that are not as the last pull left them. A project that was never pulled
// has none: nothing is there to differ from.
func (p *Projects) Differences(ctx context.Context, o Owner, slug string, q listing.Query) (page listing.Page[Difference], err error) {
	after := ""
	if err := q.After(&after); err != nil {
		return page, err
	}
	return sqldb.Snapshot(ctx, p.DB, func(tx *sqldb.Tx) (page listing.Page[Difference], err error) {
		r, err := Find(tx, o, slug)
		if err != nil || r.Pulled == nil {
			return page, err
		}
		all, err := sqldb.Collect(tx, scanDifference, differences, r.ID, after, q.Size()+1)
		if err != nil {
			return page, fmt.Errorf("list differences: %w", err)
		}
		return listing.Cut(all, q.Size(), func(d Difference) []any { return []any{d.Path} }), nil
	})
}

const differences = `SELECT f.path AS path, f.bytes, f.etag, f.mtime, f.updated_at, f.updated_by, COALESCE(b.etag, '')
	FROM project_files f LEFT JOIN project_bases b ON b.project = f.project AND b.path = f.path
	WHERE f.project = $1 AND f.path > $2 AND COALESCE(b.etag, '') <> f.etag
	UNION ALL SELECT b.path AS path, 0, '', 0, 0, '', b.etag FROM project_bases b WHERE b.project = $1 AND b.path > $2
	AND NOT EXISTS (SELECT 1 FROM project_files f WHERE f.project = b.project AND f.path = b.path)
	ORDER BY path LIMIT $3`

func scanDifference(row sqldb.Row) (d Difference, err error) {
	var e entry
	var was string
	err = row.Scan(&e.path, &e.bytes, &e.etag, &e.mtime, &e.at, &e.by, &was)
	switch {
	case !e.there():
		return Difference{File{Path: e.path, Kind: KindFile}, Deleted}, err
	case was == "":
		return Difference{e.file(), Added}, err
	}
	return Difference{e.file(), Changed}, err
}
