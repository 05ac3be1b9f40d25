package project

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
	is entry // as it is here
}

// plan is what has to be done to follow a tree.
type plan struct {
	write     []task
	remove    []task
	alike     []base // nothing to do but to remember
	conflicts []string
	bytes     int64 // stored more
}

// plan compares the tree with the last one and with the files as they are.
func (p *Projects) plan(ctx context.Context, op *operation, t *tree, objects *contents) (todo plan, err error) {
	was, err := p.bases(ctx, op)
	if err != nil {
		return todo, err
	}
	is, err := p.entries(ctx, op.record)
	if err != nil {
		return todo, err
	}
	for path, l := range t.files {
		if err := todo.compare(task{leaf: l, is: is[path]}, was[path], objects); err != nil {
			return todo, err
		}
		delete(was, path)
	}
	for path, b := range was {
		todo.compareDeleted(task{leaf: leaf{path: path}, is: is[path]}, b)
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
	case k.is.etag == was.etag, !k.is.there():
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
	case !k.is.there():
		d.alike = append(d.alike, base{path: k.path})
	case k.is.etag == was.etag:
		d.remove = append(d.remove, k)
	default:
		d.conflicts = append(d.conflicts, k.path)
	}
}

// bases is what the last pull left.
func (p *Projects) bases(ctx context.Context, op *operation) (map[string]base, error) {
	var all []base
	err := p.DB.Read(ctx, func(tx *sqldb.Tx) error {
		rows, err := tx.Query("SELECT path, object, etag FROM project_bases WHERE project = $1", op.ID)
		all, err = collect(rows, err, func(s scanner) (b base, err error) { err = s.Scan(&b.path, &b.object, &b.etag); return b, err })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read bases: %w", err)
	}
	byPath := make(map[string]base, len(all))
	for _, b := range all {
		byPath[b.path] = b
	}
	return byPath, nil
}
