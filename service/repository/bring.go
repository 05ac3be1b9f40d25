package repository

import (
	"context"
	"fmt"
	"io"
	"slices"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/project"
)

// Bounds of what a pull changes at once.
const (
	filesAtOnce = 64
	bytesAtOnce = 32 << 20
)

// bring does what is planned. Deletions come first: what was a file may become a folder.
func (p *pull) bring(ctx context.Context, objects *contents, todo plan, done *Pulled) error {
	series, err := p.Projects.Begin(ctx, p.by, p.Project, todo.bytes)
	if err != nil {
		return err
	}
	defer series.Close(ctx)
	for _, path := range todo.conflicts {
		done.conflict(path)
	}
	if err := p.remember(ctx, todo.alike); err != nil {
		return err
	}
	been, total := 0, len(todo.remove)+len(todo.write)
	for _, tasks := range append(divide(todo.remove), divide(todo.write)...) {
		if err := p.note(ctx, been, total); err != nil {
			return err
		}
		if err := p.change(ctx, series, objects, tasks, done); err != nil {
			return err
		}
		been += len(tasks)
	}
	return p.note(ctx, been, total)
}

func (d *Pulled) conflict(path string) {
	if d.ConflictCount++; len(d.Conflicts) < maxNamed {
		d.Conflicts = append(d.Conflicts, path)
	}
}

// divide makes of tasks some that are done at once.
func divide(all []task) (lists [][]task) {
	var bytes int64
	from := 0
	for i, k := range all {
		if i > from && (i-from == filesAtOnce || bytes+k.bytes > bytesAtOnce) {
			lists = append(lists, all[from:i])
			from, bytes = i, 0
		}
		bytes += k.bytes
	}
	if from < len(all) {
		lists = append(lists, all[from:])
	}
	return lists
}

// change does some tasks and remembers those that were done. Where a file was changed since the plan was made, or its name is
// not free, it is a conflict.
func (p *pull) change(ctx context.Context, series *project.Series, objects *contents, tasks []task, done *Pulled) error {
	etags := make([]string, len(tasks))
	for i, k := range tasks {
		if k.object == "" {
			series.Remove(k.path, k.is.etag)
			continue
		}
		var err error
		if etags[i], err = series.Write(ctx, k.path, k.is.etag, func(to io.Writer) error { return objects.copy(to, k.leaf) }); err != nil {
			return err
		}
	}
	outcomes, err := series.Commit(ctx)
	if err != nil {
		return err
	}
	var made []base
	for i, k := range tasks {
		switch err := outcomes[i]; {
		case err == nil:
			if made = append(made, base{k.path, k.object, etags[i]}); k.object == "" {
				done.Deleted++
			} else {
				done.Written++
			}
		case fault.Is(err, fault.VersionConflict), fault.Is(err, fault.NameTaken), fault.Is(err, fault.InvalidPath):
			done.conflict(k.path)
		default:
			return err
		}
	}
	p.Step("brought")
	return p.remember(ctx, made)
}

// remember takes down what a pull left; a base without an object is forgotten. Where this is lost the next pull finds that
// the files are alike.
func (p *pull) remember(ctx context.Context, all []base) error {
	for some := range slices.Chunk(all, filesAtOnce*4) {
		err := p.DB.Write(ctx, func(tx *sqldb.Tx) error {
			for _, b := range some {
				if err := b.store(tx, p.ID); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("remember pull: %w", err)
		}
	}
	return nil
}

func (b base) store(tx *sqldb.Tx, project string) error {
	if b.object == "" {
		return tx.Do("forget base", "DELETE FROM project_bases WHERE project = $1 AND path = $2", project, b.path)
	}
	return tx.Do("store base", `INSERT INTO project_bases (project, path, object, etag) VALUES ($1, $2, $3, $4)
		ON CONFLICT (project, path) DO UPDATE SET object = excluded.object, etag = excluded.etag`, project, b.path, b.object, b.etag)
}
