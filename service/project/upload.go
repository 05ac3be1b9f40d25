package project

import (
	"context"
	"fmt"
	"io"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// Unknown is the size of an upload that nobody knows before its end.
const Unknown = -1

// Upload is the new content of a file.
type Upload struct {
	Body io.Reader
	// Size is how many bytes Body has, which it must then have, or Unknown.
	Size int64
	// Agent writes in the name of the actor. Empty: the actor does.
	Agent string
	Condition
}

// Write makes or replaces a file. It is the old one or the new one, whatever happens; nobody ever sees a part of it. It
// reports whether the file was not there before.
func (p *Projects) Write(ctx context.Context, by audit.Actor, o Owner, slug, path string, u Upload) (f File, created bool, err error) {
	if err := CheckPath(path); err != nil {
		return f, false, err
	}
	switch {
	case u.Size > p.MaxFile:
		return f, false, tooLarge(p.MaxFile)
	case u.Size < 0 && u.Size != Unknown:
		return f, false, fault.Invalid("The size is negative.")
	}
	r, was, err := p.look(ctx, o, slug, path)
	if err != nil {
		return f, false, err
	}
	// Ask again when it is written: this only spares who could not succeed the upload.
	if !u.Holds(was.etag) {
		return f, false, staleFile(was.etag)
	}
	if err := u.peek(); err != nil {
		return f, false, err
	}
	if u.Size > p.MaxFile {
		return f, false, tooLarge(p.MaxFile)
	}
	return p.upload(ctx, &operation{Project: r, id: newID(), by: by, agent: u.Agent}, path, was, u)
}

// look is a project and the entry of a path, as they are.
func (p *Projects) look(ctx context.Context, o Owner, slug, path string) (r Project, e entry, err error) {
	err = p.DB.Snapshot(ctx, func(tx *sqldb.Tx) (err error) {
		if r, err = Find(tx, o, slug); err != nil {
			return err
		}
		e, err = entryOf(tx, r.ID, path)
		return err
	})
	if err != nil {
		return Project{}, entry{}, err
	}
	return r, e, nil
}

// upload reserves, writes a temporary file and puts it in its place.
func (p *Projects) upload(ctx context.Context, o *operation, path string, was entry, u Upload) (f File, created bool, err error) {
	if err := p.begin(ctx, o, max(u.Size-was.bytes, 0)); err != nil {
		return f, false, err
	}
	defer p.end(ctx, o)
	c, err := p.receive(ctx, o, path, was, u)
	if err != nil {
		return f, false, err
	}
	p.Step("received")
	c.when = func(etag string) bool { created = etag == ""; return u.Holds(etag) }
	if err := p.carryOut(ctx, o, &c); err != nil {
		return f, false, fmt.Errorf("write file: %w", err)
	}
	if c.outcome != nil {
		return f, false, c.outcome
	}
	return c.entry().file(), created, nil
}

// receive writes the body to a temporary file.
func (p *Projects) receive(ctx context.Context, o *operation, path string, was entry, u Upload) (change, error) {
	t, err := o.folder.temporary(tempName(o.id))
	if err != nil {
		return change{}, err
	}
	body := &metered{ctx: ctx, most: p.MaxFile, held: o.held, credit: was.bytes, left: u.Size, from: u.Body}
	if _, err := io.Copy(t, body); err != nil {
		t.file.Close()
		if body.broke {
			err = broken(err)
		}
		return change{}, err
	}
	return t.complete(path, p.Now())
}
