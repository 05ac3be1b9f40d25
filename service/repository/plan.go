package repository

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"svc.dev/svc/internal/sqldb"
)

// base is what the last pull left at a path.
type base struct {
	path   string
	object string
	etag   string
}

// task is a file that the repository changed since then. An object of "" is one that it deleted.
type task struct {
	leaf
	is here
}

// here is a file of the project; without an etag there is none.
type here struct {
	bytes int64
	etag  string
}

// plan is what has to be done to follow a tree.
type plan struct {
	write     []task
	remove    []task
	alike     []base // nothing to do but to remember
	conflicts []string
	bytes     int64 // stored more
}

// plan compares the tree with the last one and with the files as they are. Of these it holds no more than what has to be done.
func (p *pull) plan(ctx context.Context, t *tree, objects *contents, room names) (todo plan, err error) {
	decide := func(r row) error {
		l, found := t.files[r.path]
		switch {
		case found && l.met:
			return nil // it was deleted here since the first look
		case found:
			l.met = true
			t.files[r.path] = l
			return todo.compare(task{leaf: l, is: r.is}, r.base, objects)
		case r.object == "":
			return nil // the repository never had it
		}
		if err := room.take(len(r.path)); err != nil {
			return err
		}
		todo.compareDeleted(task{leaf: leaf{path: r.path}, is: r.is}, r.base)
		return nil
	}
	for _, query := range []string{filesAndBases, basesAlone} {
		if err := p.eachRow(ctx, query, decide); err != nil {
			return todo, err
		}
	}
	for _, l := range t.files {
		if l.met {
			continue
		}
		if err := todo.compare(task{leaf: l}, base{}, objects); err != nil {
			return todo, err
		}
	}
	byPath := func(a, b task) int { return cmp.Compare(a.path, b.path) }
	slices.SortFunc(todo.write, byPath)
	slices.SortFunc(todo.remove, byPath)
	return todo, nil
}

// compare decides about a file that the repository has.
func (d *plan) compare(k task, was base, objects *contents) error {
	switch {
	case was.object == k.object:
		return nil // unchanged there
	case k.is.etag == was.etag, k.is.etag == "":
		// Unchanged here, or deleted: then nothing is lost.
	default:
		sum, err := objects.sum(k.leaf)
		if err != nil {
			return err
		}
		if sum == k.is.etag {
			d.alike = append(d.alike, base{k.path, k.object, sum})
		} else {
			d.conflicts = append(d.conflicts, k.path)
		}
		return nil
	}
	d.write = append(d.write, k)
	d.bytes += max(k.bytes-k.is.bytes, 0)
	return nil
}

// compareDeleted decides about a file that the repository had at the last pull.
func (d *plan) compareDeleted(k task, was base) {
	switch {
	case k.is.etag == "":
		d.alike = append(d.alike, base{path: k.path})
	case k.is.etag == was.etag:
		d.remove = append(d.remove, k)
	default:
		d.conflicts = append(d.conflicts, k.path)
	}
}

// row is a path as it is here, and as the last pull left it; one of the two may be missing.
type row struct {
	base
	is here
}

const (
	filesAndBases = `SELECT f.path, f.bytes, f.etag, COALESCE(b.object, ''), COALESCE(b.etag, '')
		FROM project_files f LEFT JOIN project_bases b ON b.project = f.project AND b.path = f.path
		WHERE f.project = $1 AND f.path > $2 ORDER BY f.path LIMIT $3`
	basesAlone = `SELECT b.path, 0, '', b.object, b.etag FROM project_bases b WHERE b.project = $1 AND b.path > $2
		AND NOT EXISTS (SELECT 1 FROM project_files f WHERE f.project = b.project AND f.path = b.path) ORDER BY b.path LIMIT $3`
)

func scanRow(s sqldb.Row) (r row, err error) {
	err = s.Scan(&r.path, &r.is.bytes, &r.is.etag, &r.object, &r.etag)
	return r, err
}

// rowsAtOnce is how many rows of a project are held while they are looked at.
const rowsAtOnce = 1000

// eachRow looks at the rows of a project one after the other.
func (p *pull) eachRow(ctx context.Context, query string, look func(row) error) error {
	for after := ""; ; {
		some, err := sqldb.ReadAll(ctx, p.DB, scanRow, query, p.ID, after, rowsAtOnce)
		if err != nil {
			return fmt.Errorf("compare files: %w", err)
		}
		for _, r := range some {
			if err := look(r); err != nil {
				return err
			}
		}
		if len(some) < rowsAtOnce {
			return nil
		}
		after = some[len(some)-1].path
	}
}
