package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/storage"
)

const (
	// sweepRows is how many of a kind one sweep looks at.
	sweepRows = 200
	// leftoverAge is how old something in a folder of our own must be to be nobody's any more.
	leftoverAge = time.Hour
)

// Sweep completes or forgets what others left halfway: announced changes, deleted projects, reservations that nobody renews
// with their temporary files, and folders of our own. It returns how many; one that cannot be swept does not keep it from the
// others.
func (p *Projects) Sweep(ctx context.Context, now time.Time) (total int, err error) {
	for _, kind := range []func(context.Context, time.Time) (int, error){
		p.sweepChanges, p.sweepDeleted, p.sweepReservations, p.sweepFolders,
	} {
		n, failed := kind(ctx, now)
		total += n
		err = errors.Join(err, failed)
	}
	if err != nil {
		return total, fmt.Errorf("sweep projects: %w", err)
	}
	return total, nil
}

func (p *Projects) sweepChanges(ctx context.Context, now time.Time) (int, error) {
	all, err := sqldb.ReadAll(ctx, p.DB, scanChange, "SELECT "+changeColumns+" FROM project_changes WHERE at < $1 ORDER BY at LIMIT $2",
		now.Add(-p.Patience).UnixMilli(), sweepRows)
	if err != nil {
		return 0, err
	}
	return each(all, func(c change) (bool, error) {
		return true, p.withFolder(ctx, c.project, func(r Project, f folder) error { return p.resolve(ctx, r, f, c) })
	})
}

// each sweeps all, and returns how many are gone; one that fails does not keep it from the others.
func each[T any](all []T, sweep func(T) (gone bool, err error)) (n int, err error) {
	for _, one := range all {
		gone, failed := sweep(one)
		if gone && failed == nil {
			n++
		}
		err = errors.Join(err, failed)
	}
	return n, err
}

// withFolder calls fn with a project, deleted or not, and its folder, whose Root is nil where there is none. A project that
// is not there is none of fn's business.
func (p *Projects) withFolder(ctx context.Context, project string, fn func(Project, folder) error) error {
	all, err := sqldb.ReadAll(ctx, p.DB, scanProject, selectProjects+" WHERE p.id = $1", project)
	if err != nil || len(all) == 0 {
		return err
	}
	f, err := p.open(all[0], false)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f.Root != nil {
		defer f.Close()
	}
	return fn(all[0], f)
}

func (p *Projects) sweepDeleted(ctx context.Context, now time.Time) (int, error) {
	all, err := sqldb.ReadAll(ctx, p.DB, scanProject, selectProjects+" WHERE p.deleted_at < $1 LIMIT $2", now.Add(-p.Patience).UnixMilli(), sweepRows)
	if err != nil {
		return 0, err
	}
	return each(all, func(r Project) (bool, error) { return true, p.clear(ctx, r) })
}

func (p *Projects) sweepReservations(ctx context.Context, now time.Time) (int, error) {
	all, err := p.Quotas.Expired(ctx, now)
	if err != nil {
		return 0, err
	}
	return each(all, func(v *storage.Reservation) (bool, error) { return p.sweepReservation(ctx, v, now) })
}

// sweepReservation makes a reservation dead, then deletes its temporary files, then its row.
func (p *Projects) sweepReservation(ctx context.Context, v *storage.Reservation, now time.Time) (gone bool, err error) {
	dead, err := v.Expire(ctx, now)
	if err != nil || !dead {
		return false, err
	}
	err = p.withFolder(ctx, v.Project, func(_ Project, f folder) error { return f.clean(v.ID) })
	if err != nil {
		return false, err
	}
	return true, v.Forget(ctx)
}

// sweepFolders deletes what lies in our own folders since long.
func (p *Projects) sweepFolders(_ context.Context, now time.Time) (total int, err error) {
	if p.keeping.Load() {
		return 0, nil
	}
	for _, name := range []string{trashFolder, scratchFolder, keptFolder} {
		entries, failed := fs.ReadDir(p.root.FS(), name)
		if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
		n, left := each(entries, func(e fs.DirEntry) (bool, error) {
			info, err := e.Info()
			if err != nil || now.Sub(info.ModTime()) < leftoverAge {
				return false, nil
			}
			return true, p.root.RemoveAll(path.Join(name, e.Name()))
		})
		total, err = total+n, errors.Join(err, left)
	}
	return total, err
}
