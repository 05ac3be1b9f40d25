package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/storage"
)

// repair makes the index follow the disk at one path, where somebody else has changed it: the limit does not hold for what
// is there already. It is announced, which locks the path, and the disk is looked at only then.
func (p *Projects) repair(ctx context.Context, r Project, f folder, path string) error {
	o := &operation{Project: r, id: newID(), by: audit.Actor{Kind: audit.System}, quiet: true, folder: f}
	c := &change{path: path, kind: repair}
	if err := p.announce(ctx, o, []*change{c}); err != nil {
		return fmt.Errorf("repair index: %w", err)
	}
	if errors.Is(c.outcome, errLocked) {
		return p.await(ctx, r, f, path) // whoever changes it also puts it right
	}
	if c.outcome != nil {
		return c.outcome
	}
	ctx = sqldb.Regardless(ctx)
	is, err := f.examine(path)
	if err == nil {
		err = p.settleRepair(ctx, o, *c, is)
	}
	if err != nil {
		return fmt.Errorf("repair index: %w", err)
	}
	p.Log.Warn("index followed the disk", "project", r.ID, "there", is.there())
	return nil
}

// examine is the entry that a path should have; none where there is no regular file.
func (f folder) examine(path string) (entry, error) {
	none := entry{path: path}
	file, info, err := f.regular(path)
	if errors.Is(err, fs.ErrNotExist) || fault.Is(err, fault.InvalidPath) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	defer file.Close()
	sum, n, err := hashOf(file)
	if err != nil {
		return none, err
	}
	return entry{path: path, bytes: n, etag: sum, mtime: info.ModTime().UnixNano()}, nil
}

// settleRepair brings what was found into the index, unless somebody took the repair for dead meanwhile.
func (p *Projects) settleRepair(ctx context.Context, o *operation, c change, is entry) error {
	return p.Quotas.Change(ctx, o.Scope, func(tx *sqldb.Tx, q *storage.Quota) error {
		announced, found, err := changeOf(tx, o.ID, c.path)
		if err != nil || !found || announced.op != c.op {
			return err
		}
		announced.bytes, announced.etag, announced.mtime = is.bytes, is.etag, is.mtime
		return settle(tx, q, o.ID, c.op, announced)
	})
}
