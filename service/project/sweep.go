package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"svc.dev/svc/internal/sqldb"
)

const (
	// sweepRows is how many of a kind one sweep looks at.
	sweepRows = 200
	// leftoverAge is how old something in a folder of our own must be to be nobody's any more.
	leftoverAge = time.Hour
)

// Sweep completes or forgets what others left halfway: announced changes, deleted projects, reservations that nobody renews
// with their temporary files, and folders of pulls. It returns how many; one that cannot be swept does not keep it from the
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

// found is a row to be swept and the project it belongs to.
type found struct {
	change
	project string
	scope   string
	id      string
}

func (p *Projects) sweepChanges(ctx context.Context, now time.Time) (n int, err error) {
	var all []found
	err = p.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		all, err = sqldb.Collect(tx, func(s sqldb.Row) (f found, err error) {
			f.change, err = scanChange(prefixed{s, &f.project})
			return f, err
		}, "SELECT project, "+changeColumns+" FROM project_changes WHERE at < $1 ORDER BY at LIMIT $2",
			now.Add(-p.Patience).UnixMilli(), sweepRows)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, f := range all {
		failed := p.withFolder(ctx, f.project, func(r record, at folder) error { return p.resolve(ctx, r, at, f.change) })
		if failed == nil {
			n++
		}
		err = errors.Join(err, failed)
	}
	return n, err
}

// prefixed scans one column more before the rest.
type prefixed struct {
	sqldb.Row
	first any
}

func (p prefixed) Scan(into ...any) error { return p.Row.Scan(append([]any{p.first}, into...)...) }

// withFolder calls fn with a project, deleted or not, and its folder, whose Root is nil where there is none. A project that
// is not there is none of fn's business.
func (p *Projects) withFolder(ctx context.Context, project string, fn func(record, folder) error) error {
	var all []record
	err := p.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		all, err = sqldb.Collect(tx, scanRecord, "SELECT "+recordColumns+" FROM "+recordTables+" WHERE p.id = $1", project)
		return err
	})
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

func (p *Projects) sweepDeleted(ctx context.Context, now time.Time) (n int, err error) {
	var all []record
	err = p.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		all, err = sqldb.Collect(tx, scanRecord, "SELECT "+recordColumns+" FROM "+recordTables+" WHERE p.deleted_at < $1 LIMIT $2",
			now.Add(-p.Patience).UnixMilli(), sweepRows)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, r := range all {
		failed := p.clear(ctx, r)
		if failed == nil {
			n++
		}
		err = errors.Join(err, failed)
	}
	return n, err
}

func (p *Projects) sweepReservations(ctx context.Context, now time.Time) (n int, err error) {
	var all []found
	err = p.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		all, err = sqldb.Collect(tx, func(s sqldb.Row) (f found, err error) {
			err = s.Scan(&f.id, &f.scope, &f.project)
			return f, err
		}, "SELECT id, scope, project FROM storage_reservations WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2",
			now.UnixMilli(), sweepRows)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, f := range all {
		gone, failed := p.sweepReservation(ctx, f, now)
		if gone {
			n++
		}
		err = errors.Join(err, failed)
	}
	return n, err
}

// sweepReservation makes a reservation dead, then deletes its temporary files, then its row.
func (p *Projects) sweepReservation(ctx context.Context, f found, now time.Time) (gone bool, err error) {
	var dead bool
	err = p.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := p.lockQuota(tx, f.scope); err != nil {
			return err
		}
		if _, err := p.expire(tx, f.scope, now); err != nil {
			return err
		}
		return tx.QueryRow("SELECT EXISTS (SELECT 1 FROM storage_reservations WHERE id = $1 AND dead = 1)", f.id).Scan(&dead)
	})
	if err != nil || !dead {
		return false, err
	}
	err = p.withFolder(ctx, f.project, func(_ record, at folder) error { return p.clean(ctx, at, f.id) })
	if err != nil {
		return false, err
	}
	return true, p.DB.Write(ctx, func(tx *sqldb.Tx) error { return forgetReservation(tx, f.id) })
}

// sweepFolders deletes what lies in our own folders since long.
func (p *Projects) sweepFolders(_ context.Context, now time.Time) (n int, err error) {
	for _, name := range []string{trashFolder, pullsFolder} {
		entries, failed := fs.ReadDir(p.root.FS(), name)
		if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
		for _, entry := range entries {
			info, failed := entry.Info()
			if failed != nil || now.Sub(info.ModTime()) < max(leftoverAge, 2*p.PullTimeout) {
				continue
			}
			if failed := p.root.RemoveAll(path.Join(name, entry.Name())); failed != nil {
				err = errors.Join(err, failed)
				continue
			}
			n++
		}
	}
	return n, err
}
