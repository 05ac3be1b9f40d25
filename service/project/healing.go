package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/storage"
)

// awaitedAtMost is how long one announcement is waited for before whoever waits tries again.
const awaitedAtMost = time.Second

// await returns when what is announced for the paths is gone, or after a moment. What has been announced for long is resolved.
func (p *Projects) await(ctx context.Context, r Project, f folder, paths ...string) error {
	for _, path := range paths {
		if err := p.awaitPath(ctx, r, f, path); err != nil {
			return err
		}
	}
	return nil
}

// awaitPath waits for one announcement. It only reads: a try would lock out the one that it waits for.
func (p *Projects) awaitPath(ctx context.Context, r Project, f folder, path string) error {
	began, op := time.Now(), ""
	for {
		all, err := sqldb.ReadAll(ctx, p.DB, scanChange, "SELECT "+changeColumns+" FROM project_changes WHERE project = $1 AND path = $2", r.ID, path)
		switch {
		case err != nil:
			return err
		case len(all) == 0, op != "" && op != all[0].op, time.Since(began) > awaitedAtMost:
			return nil
		case p.Now().Sub(time.UnixMilli(all[0].at)) > p.Patience:
			return p.resolve(ctx, r, f, all[0])
		}
		op = all[0].op
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// resolve completes or forgets a change whose owner is taken for dead. The disk tells which it is. An owner who lives after
// all cannot place a file any more once its temporary one is gone, and finds its change finished or forgotten.
func (p *Projects) resolve(ctx context.Context, r Project, f folder, c change) error {
	if c.kind == hold {
		c.kind, c.path, c.other = move, c.other, c.path
	}
	happened, err := f.happened(c)
	if err != nil {
		return fmt.Errorf("resolve change: %w", err)
	}
	// It is their act, not that of whoever happens to come by.
	ctx = audit.With(sqldb.Regardless(ctx), audit.Source{})
	err = p.Quotas.Change(ctx, r.Scope, func(tx *sqldb.Tx, q *storage.Quota) error {
		is, found, err := changeOf(tx, r.ID, c.path)
		if err != nil || !found || is.op != c.op {
			return err
		}
		if !happened {
			return is.forget(tx)
		}
		return cmp.Or(settle(tx, q, r.ID, c.op, is), p.tell(ctx, tx, r, is))
	})
	if err != nil {
		return fmt.Errorf("resolve change: %w", err)
	}
	return nil
}

// happened finds out whether a change was performed, and sees to it that it is not from now on unless it was.
func (f folder) happened(c change) (bool, error) {
	if f.Root == nil {
		return c.kind == remove, nil // the whole folder is gone
	}
	switch c.kind {
	case write:
		return f.placed(c)
	case remove:
		// A deletion that was begun is completed.
		dirs := map[string]bool{}
		if err := f.unlink(c.path, dirs); err != nil {
			return false, err
		}
		return true, f.sync(dirs)
	case move:
		if from, err := f.see(c.path); err != nil || from != nil {
			return false, err
		}
		return true, f.syncAbove(c.other)
	}
	return false, nil
}

// placed takes the temporary file away from who may want to rename it still. Where there is none any more the file itself
// tells.
func (f folder) placed(c change) (bool, error) {
	if err := f.Remove(c.other); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	info, err := f.see(c.path)
	if err != nil || info == nil || !c.entry().is(info) {
		return false, err
	}
	return true, f.syncAbove(c.path)
}

// syncAbove makes the name of a file durable, for one who cannot know what is.
func (f folder) syncAbove(path string) error {
	dirs := map[string]bool{".": true}
	for _, above := range folders(path) {
		dirs[above] = true
	}
	return f.sync(dirs)
}
