package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/storage"
)

// Delete deletes a project whose version is the one given, 0 is any, with its files. It is gone at once; its name is free
// when Delete returns, or, after an error, when it was swept.
func (p *Projects) Delete(ctx context.Context, by audit.Actor, o Owner, slug string, version int64) error {
	var r Project
	// Nothing is announced any more once the project is marked.
	err := p.Quotas.Lock(ctx, o.Scope, func(tx *sqldb.Tx, _ *storage.Quota) (err error) {
		if r, err = Claim(tx, o, slug, version); err != nil {
			return err
		}
		return cmp.Or(
			tx.Do("delete project", "UPDATE projects SET deleted_at = $2 WHERE id = $1", r.ID, p.Now().UnixMilli()),
			p.Audit.Append(ctx, tx, event(by, o.Scope, "project.deleted", "project", r.ID)),
		)
	})
	if err != nil {
		return err
	}
	p.Step("marked")
	return p.clear(sqldb.Regardless(ctx), r)
}

// clear takes away what a deleted project has: it may be done by several, and again.
func (p *Projects) clear(ctx context.Context, r Project) error {
	if err := p.drain(ctx, r); err != nil {
		return fmt.Errorf("clear project: %w", err)
	}
	began := time.Now()
	there, err := p.markAgain(ctx, r)
	if err != nil || !there {
		return err
	}
	// Others may clear it from here on, and a new project have the folder.
	if time.Since(began) > p.Patience/2 {
		return fmt.Errorf("clear project: %w", busy())
	}
	trash, err := p.discard(r)
	if err != nil {
		return fmt.Errorf("clear project: %w", err)
	}
	p.Step("discarded")
	if err := sqldb.Insist(func() error { return p.forget(ctx, r) }); err != nil {
		return fmt.Errorf("clear project: %w", err)
	}
	if p.keeping.Load() {
		return nil // a backup may look for it; then it is swept
	}
	if err := p.root.RemoveAll(trash); err != nil {
		p.Log.Warn("deleted files stay until they are swept", "project", r.ID, "error", err)
	}
	return nil
}

// markAgain keeps others from clearing the project for a while, and reports false when they have.
func (p *Projects) markAgain(ctx context.Context, r Project) (there bool, err error) {
	return sqldb.Write(ctx, p.DB, func(tx *sqldb.Tx) (bool, error) {
		n, err := tx.Exec("UPDATE projects SET deleted_at = $2 WHERE id = $1", r.ID, p.Now().UnixMilli())
		return n == 1, err
	})
}

// drain waits until nothing is announced any more.
func (p *Projects) drain(ctx context.Context, r Project) error {
	f, err := p.open(r, false)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotFolder) {
		return err
	}
	if f.Root != nil {
		defer f.Close()
	}
	for deadline := time.Now().Add(p.Patience + 5*time.Second); time.Now().Before(deadline); {
		all, err := sqldb.ReadAll(ctx, p.DB, scanChange, "SELECT "+changeColumns+" FROM project_changes WHERE project = $1 ORDER BY at LIMIT 1", r.ID)
		if err != nil || len(all) == 0 {
			return err
		}
		if err := p.await(ctx, r, f, all[0].path); err != nil {
			return err
		}
	}
	return busy()
}

// discard moves a project's folder to the trash, where nobody looks.
func (p *Projects) discard(r Project) (trash string, err error) {
	place, err := placeOf(r.Scope)
	if err != nil {
		return "", err
	}
	if err := p.makeFolder(trashFolder); err != nil {
		return "", err
	}
	// Its own name each time: the folder may have come back since somebody else discarded it and died.
	trash = path.Join(trashFolder, r.ID+"-"+newID())
	err = p.root.Rename(path.Join(place, r.Slug), trash)
	if errors.Is(err, fs.ErrNotExist) {
		return trash, nil
	}
	if err != nil {
		return "", err
	}
	return trash, folder{Root: p.root}.sync(map[string]bool{place: true})
}

// forget deletes the rows of a project and frees what it took.
func (p *Projects) forget(ctx context.Context, r Project) error {
	return p.Quotas.Change(ctx, r.Scope, func(tx *sqldb.Tx, q *storage.Quota) error {
		stored, err := sqldb.Value[int64](tx, "sum project", "SELECT COALESCE(SUM(bytes), 0) FROM project_files WHERE project = $1", r.ID)
		if err != nil {
			return err
		}
		for _, statement := range []string{
			"DELETE FROM projects WHERE id = $1", "DELETE FROM project_files WHERE project = $1", "DELETE FROM project_changes WHERE project = $1",
			"DELETE FROM project_bases WHERE project = $1", "DELETE FROM project_repositories WHERE project = $1",
		} {
			if err := tx.Do("forget project", statement, r.ID); err != nil {
				return err
			}
		}
		return cmp.Or(q.Drop(tx, r.ID, stored), p.Removed(tx, r.Workspace, r.Slug))
	})
}
