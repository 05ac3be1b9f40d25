package project

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"svc.dev/svc/service/audit"
)

// Batch is changes of a project's files that are made some at a time, with bytes that are reserved for all of them. They are
// audited as a whole, by whoever begins it. Etags are hexadecimal here, and "" where there is no file.
type Batch struct {
	projects *Projects
	op       *operation
	wanted   []*change
}

// Begin reserves bytes for a batch. Whoever begins it closes it.
func (p *Projects) Begin(ctx context.Context, by audit.Actor, r Project, bytes int64) (*Batch, error) {
	o := &operation{Project: r, id: newID(), by: by, quiet: true}
	if err := p.begin(ctx, o, bytes); err != nil {
		return nil, err
	}
	if err := o.folder.Mkdir(tempName(o.id), 0o700); err != nil {
		p.end(ctx, o)
		return nil, fmt.Errorf("make temporary folder: %w", missing(err))
	}
	return &Batch{projects: p, op: o}, nil
}

// Write adds a file with the content that fill writes, and returns its etag. What is there now must have the etag was.
func (b *Batch) Write(path, was string, fill func(io.Writer) error) (etag string, err error) {
	if err := CheckPath(path); err != nil {
		return "", err
	}
	name := tempName(b.op.id) + "/" + strconv.Itoa(len(b.wanted))
	// One that was not taken the last time, for there was a conflict.
	if err := ignoreMissing(b.op.folder.Remove(name)); err != nil {
		return "", fmt.Errorf("delete temporary file: %w", err)
	}
	t, err := b.op.folder.temporary(name)
	if err != nil {
		return "", err
	}
	if err := fill(t); err != nil {
		t.file.Close()
		return "", err
	}
	c, err := t.complete(path, b.projects.Now())
	if err == nil {
		b.add(c, was)
	}
	return c.etag, err
}

// Remove adds the deletion of a file, which must have the etag was.
func (b *Batch) Remove(path, was string) { b.add(change{path: path, kind: remove}, was) }

func (b *Batch) add(c change, was string) {
	c.when = func(etag string) bool { return etag == was }
	b.wanted = append(b.wanted, &c)
}

// Commit makes the changes that were added since the last time, each of them or none of it, and says in their order why one was
// not made.
func (b *Batch) Commit(ctx context.Context) (outcomes []error, err error) {
	if err := b.op.held.Grow(ctx, 0); err != nil {
		return nil, err
	}
	if err := b.projects.carryOut(ctx, b.op, b.wanted...); err != nil {
		return nil, err
	}
	for _, c := range b.wanted {
		outcomes = append(outcomes, c.outcome)
	}
	b.wanted = nil
	return outcomes, nil
}

// Close lets go of what is reserved still.
func (b *Batch) Close(ctx context.Context) { b.projects.end(ctx, b.op) }
