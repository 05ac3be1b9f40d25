package project

import (
	"context"
	"fmt"
	"strconv"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
)

// Bounds of what a pull changes at once.
const (
	batchFiles = 64
	batchBytes = 32 << 20
)

// bring does what is planned. Deletions come first: what was a file may become a folder.
func (p *Projects) bring(ctx context.Context, op *operation, objects *contents, todo plan, done *Pulled) (err error) {
	if op.held, err = p.reserve(ctx, op.record, op.id, todo.bytes); err != nil {
		return err
	}
	defer func() {
		p.abandon(ctx, op)
		if op.folder.Root != nil {
			op.folder.Close()
		}
	}()
	if op.folder, err = p.open(op.record, true); err != nil {
		return missing(err)
	}
	if err := op.folder.Mkdir(tempName(op.id), 0o700); err != nil {
		return fmt.Errorf("make temporary folder: %w", missing(err))
	}
	for _, path := range todo.conflicts {
		done.conflict(path)
	}
	if err := p.remember(ctx, op, todo.alike); err != nil {
		return err
	}
	for _, batch := range batches(todo.remove) {
		if err := p.bringBatch(ctx, op, nil, batch, done); err != nil {
			return err
		}
	}
	for _, batch := range batches(todo.write) {
		if err := p.bringBatch(ctx, op, objects, batch, done); err != nil {
			return err
		}
	}
	return nil
}

func (d *Pulled) conflict(path string) {
	if d.ConflictCount++; len(d.Conflicts) < maxNamed {
		d.Conflicts = append(d.Conflicts, path)
	}
}

// batches divides tasks into some that are done at once.
func batches(all []task) (lists [][]task) {
	var bytes int64
	from := 0
	for i, k := range all {
		if i > from && (i-from == batchFiles || bytes+k.bytes > batchBytes) {
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

// bringBatch makes some changes and remembers those that were made. Where a file was changed since the plan was made, or its
// name is not free, it is a conflict.
func (p *Projects) bringBatch(ctx context.Context, op *operation, objects *contents, batch []task, done *Pulled) error {
	wanted := make([]change, len(batch))
	for i, k := range batch {
		c := change{path: k.path, kind: remove}
		if k.object != "" {
			var err error
			if c, err = p.stage(op, objects, k, i); err != nil {
				return err
			}
		}
		c.when = func(etag string) bool { return etag == k.is.etag }
		wanted[i] = c
	}
	if err := p.grow(ctx, op.held, 0); err != nil {
		return err
	}
	outcomes, err := p.carryOut(ctx, op, wanted)
	if err != nil {
		return err
	}
	var made []base
	for i, k := range batch {
		err := outcomes[i]
		switch {
		case err == nil && k.object == "":
			done.Deleted++
			made = append(made, base{path: k.path})
		case err == nil:
			done.Written++
			made = append(made, base{k.path, k.object, wanted[i].etag})
		case fault.Is(err, fault.VersionConflict), fault.Is(err, NameTaken), fault.Is(err, InvalidPath):
			done.conflict(k.path)
		default:
			return err
		}
	}
	p.step("brought")
	return p.remember(ctx, op, made)
}

// stage writes the content of a file to a temporary one.
func (p *Projects) stage(op *operation, objects *contents, k task, n int) (change, error) {
	name := tempName(op.id) + "/" + strconv.Itoa(n)
	// One that was not taken the last time, for there was a conflict.
	if err := ignoreMissing(op.folder.Remove(name)); err != nil {
		return change{}, fmt.Errorf("delete temporary file: %w", err)
	}
	t, err := op.folder.temporary(name)
	if err != nil {
		return change{}, err
	}
	if err := objects.copy(t, k.leaf); err != nil {
		t.file.Close()
		return change{}, err
	}
	return t.complete(k.path, p.Now())
}

// remember takes down what a pull left; a base without an object is forgotten. Where this is lost the next pull finds that
// the files are alike.
func (p *Projects) remember(ctx context.Context, op *operation, all []base) error {
	for len(all) > 0 {
		some := all[:min(len(all), batchFiles*4)]
		all = all[len(some):]
		err := p.DB.Write(ctx, func(tx *sqldb.Tx) error {
			for _, b := range some {
				if err := b.store(tx, op.ID); err != nil {
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
		_, err := tx.Exec("DELETE FROM project_bases WHERE project = $1 AND path = $2", project, b.path)
		return err
	}
	_, err := tx.Exec(`INSERT INTO project_bases (project, path, object, etag) VALUES ($1, $2, $3, $4)
		ON CONFLICT (project, path) DO UPDATE SET object = excluded.object, etag = excluded.etag`, project, b.path, b.object, b.etag)
	return err
}
