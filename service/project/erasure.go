package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/storage"
)

// Erase destroys all projects of a workspace, their files and its quota, without asking or telling anybody. What is erased
// already is no error, so it may be called again.
func (p *Projects) Erase(ctx context.Context, o Owner) error {
	place, err := placeOf(o.Scope)
	if err != nil {
		return err
	}
	all, err := p.mark(ctx, o)
	if err != nil {
		return fmt.Errorf("erase projects: %w", err)
	}
	for _, r := range all {
		if err := p.clear(ctx, r); err != nil {
			return fmt.Errorf("erase projects: %w", err)
		}
	}
	// Only folders that are empty go.
	for _, name := range []string{place, path.Dir(place)} {
		if err := p.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.Log.Warn("folder of an erased workspace stays", "error", err)
		}
	}
	if user := path.Dir(path.Dir(place)); user != "." {
		_ = p.root.Remove(user) // it stays where there are other workspaces in it
	}
	return p.DB.Write(ctx, func(tx *sqldb.Tx) error {
		_, more, err := sqldb.First(tx, "find projects", sqldb.Column[string], "SELECT id FROM projects WHERE scope = $1 LIMIT 1", o.Scope)
		if err != nil || more {
			return err
		}
		return storage.Forget(tx, o.Scope)
	})
}

// mark deletes all projects of a workspace for everybody, and says which are to be cleared.
func (p *Projects) mark(ctx context.Context, o Owner) (all []Project, err error) {
	err = p.Quotas.Lock(ctx, o.Scope, func(tx *sqldb.Tx, _ *storage.Quota) error {
		_, err := tx.Exec("UPDATE projects SET deleted_at = $3 WHERE workspace = $1 AND scope = $2 AND deleted_at IS NULL",
			o.Workspace, o.Scope, p.Now().UnixMilli())
		if err != nil {
			return err
		}
		all, err = sqldb.Collect(tx, scanProject, selectProjects+" WHERE p.workspace = $1 AND p.scope = $2", o.Workspace, o.Scope)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
