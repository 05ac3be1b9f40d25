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
	wanted   []change
}

// Outcome is what became of one change of a batch: the file has the etag now, or it is as it was.
type Outcome struct {
	ETag string
	Err  error
}

// Begin reserves bytes for a batch. Whoever begins it closes it.
func (p *Projects) Begin(ctx context.Context, by audit.Actor, r Project, bytes int64) (*Batch, error) {
	o := &operation{Project: r, id: newID(), by: by, quiet: true, lasts: true}
	var err error
	if o.held, err = p.Quotas.Reserve(ctx, r.Scope, r.ID, o.id, bytes); err != nil {
		return nil, err
	}
	b := &Batch{projects: p, op: o}
	if o.folder, err = p.open(r, true); err == nil {
		err = o.folder.Mkdir(tempName(o.id), 0o700)
	}
	if err != nil {
		b.Close(ctx)
		return nil, fmt.Errorf("begin changes: %w", missing(err))
	}
	return b, nil
}

// Write adds a file with the content that fill writes. What is there now must have the etag.
func (b *Batch) Write(path, etag string, fill func(io.Writer) error) error {
	name := tempName(b.op.id) + "/" + strconv.Itoa(len(b.wanted))
	// One that was not taken the last time, for there was a conflict.
	if err := ignoreMissing(b.op.folder.Remove(name)); err != nil {
		return fmt.Errorf("delete temporary file: %w", err)
	}
	t, err := b.op.folder.temporary(name)
	if err != nil {
		return err
	}
	if err := fill(t); err != nil {
		t.file.Close()
		return err
	}
	c, err := t.complete(path, b.projects.Now())
	if err != nil {
		return err
	}
	b.add(c, etag)
	return nil
}

// Remove adds the deletion of a file, which must have the etag.
func (b *Batch) Remove(path, etag string) { b.add(change{path: path, kind: remove}, etag) }

func (b *Batch) add(c change, etag string) {
	c.when = func(is string) bool { return is == etag }
	b.wanted = append(b.wanted, c)
}

// Commit makes the changes that were added since the last time, each of them or none of it, and says what became of them in
// their order.
func (b *Batch) Commit(ctx context.Context) ([]Outcome, error) {
	if err := b.op.held.Grow(ctx, 0); err != nil {
		return nil, err
	}
	errs, err := b.projects.carryOut(ctx, b.op, b.wanted)
	if err != nil {
		return nil, err
	}
	all := make([]Outcome, len(errs))
	for i, c := range b.wanted {
		all[i] = Outcome{c.etag, errs[i]}
	}
	b.wanted = nil
	return all, nil
}

// Close lets go of what is reserved still.
func (b *Batch) Close(ctx context.Context) {
	b.projects.abandon(ctx, b.op)
	if b.op.folder.Root != nil {
		b.op.folder.Close()
	}
}
