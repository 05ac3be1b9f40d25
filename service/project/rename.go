package project

import (
	"context"
	"fmt"

	"svc.dev/svc/service/audit"
)

// Move gives a file another path that nothing has. The condition is on the file that moves.
func (p *Projects) Move(ctx context.Context, by audit.Actor, o Owner, slug, from, to string, when Condition) (File, error) {
	for _, path := range []string{from, to} {
		if err := CheckPath(path); err != nil {
			return File{}, err
		}
	}
	if from == to {
		return File{}, nameTaken("It is its own.")
	}
	moved, err := p.change(ctx, by, o, slug, change{path: from, kind: move, other: to, when: when.Holds})
	if err != nil {
		return File{}, err
	}
	e := moved.entry()
	e.path = to
	return e.file(), nil
}

// Remove deletes a file, and the folders above it that it leaves empty. What it took is free at once.
func (p *Projects) Remove(ctx context.Context, by audit.Actor, o Owner, slug, path string, when Condition) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	_, err := p.change(ctx, by, o, slug, change{path: path, kind: remove, when: when.Holds})
	return err
}

// change makes one change that writes nothing.
func (p *Projects) change(ctx context.Context, by audit.Actor, o Owner, slug string, c change) (change, error) {
	r, err := p.Get(ctx, o, slug)
	if err != nil {
		return c, err
	}
	op := &operation{Project: r, id: newID(), by: by}
	if op.folder, err = p.open(r, true); err != nil {
		return c, missing(err)
	}
	defer op.folder.Close()
	if err := p.carryOut(ctx, op, &c); err != nil {
		return c, fmt.Errorf("%s file: %w", c.kind, err)
	}
	return c, c.outcome
}
