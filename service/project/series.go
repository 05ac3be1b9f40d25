package project

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/storage"
)

// Series is changes of a project's files that are made some at a time, with bytes that are reserved for all of them. They are
// audited as a whole, by whoever begins it. Etags are hexadecimal here, and "" where there is no file.
type Series struct {
	projects *Projects
	op       *operation
	wanted   []*change
}

// Begin reserves bytes for a series. Whoever begins it closes it.
func (p *Projects) Begin(ctx context.Context, by audit.Actor, r Project, bytes int64) (*Series, error) {
	o := &operation{Project: r, id: newID(), by: by, quiet: true}
	if err := p.begin(ctx, o, bytes); err != nil {
		return nil, err
	}
	if err := o.folder.Mkdir(tempName(o.id), 0o700); err != nil {
		p.end(ctx, o)
		return nil, fmt.Errorf("make temporary folder: %w", missing(err))
	}
	return &Series{projects: p, op: o}, nil
}

// Write adds a file with the content that fill writes, and returns its etag. What is there now must have the etag was. What is
// reserved stays reserved while fill writes, however long that takes.
func (s *Series) Write(ctx context.Context, path, was string, fill func(io.Writer) error) (etag string, err error) {
	if err := CheckPath(path); err != nil {
		return "", err
	}
	if err := s.op.held.Renew(ctx); err != nil {
		return "", err
	}
	name := tempName(s.op.id) + "/" + strconv.Itoa(len(s.wanted))
	// One that was not taken the last time, for there was a conflict.
	if err := ignoreMissing(s.op.folder.Remove(name)); err != nil {
		return "", fmt.Errorf("delete temporary file: %w", err)
	}
	t, err := s.op.folder.temporary(name)
	if err != nil {
		return "", err
	}
	if err := fill(renewing{ctx, s.op.held, t}); err != nil {
		t.file.Close()
		return "", err
	}
	c, err := t.complete(path, s.projects.Now())
	if err == nil {
		s.add(c, was)
	}
	return c.etag, err
}

// renewing keeps the reservation that it writes with.
type renewing struct {
	ctx  context.Context
	held *storage.Reservation
	to   io.Writer
}

func (w renewing) Write(data []byte) (int, error) {
	if err := w.held.Renew(w.ctx); err != nil {
		return 0, err
	}
	return w.to.Write(data)
}

// Remove adds the deletion of a file, which must have the etag was.
func (s *Series) Remove(path, was string) { s.add(change{path: path, kind: remove}, was) }

func (s *Series) add(c change, was string) {
	c.when = func(etag string) bool { return etag == was }
	s.wanted = append(s.wanted, &c)
}

// Commit makes the changes that were added since the last time, each of them or none of it, and says in their order why one was
// not made.
func (s *Series) Commit(ctx context.Context) (outcomes []error, err error) {
	if err := s.op.held.Grow(ctx, 0); err != nil {
		return nil, err
	}
	if err := s.projects.carryOut(ctx, s.op, s.wanted...); err != nil {
		return nil, err
	}
	for _, c := range s.wanted {
		outcomes = append(outcomes, c.outcome)
	}
	s.wanted = nil
	return outcomes, nil
}

// Close lets go of what is reserved still.
func (s *Series) Close(ctx context.Context) { s.projects.end(ctx, s.op) }
