package project

import (
	"cmp"
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/storage"
)

// finish brings into the index what was performed and forgets what failed. Unless the operation is quiet, it lets go of what is
// reserved. What somebody else finished in the meantime is finished.
func (p *Projects) finish(ctx context.Context, o *operation, failed []*change) error {
	err := p.Quotas.Change(ctx, o.Scope, func(tx *sqldb.Tx, q *storage.Quota) error {
		for _, c := range failed {
			if err := c.forget(tx); err != nil {
				return err
			}
		}
		done, err := sqldb.Collect(tx, scanChange, "SELECT "+changeColumns+" FROM project_changes WHERE project = $1 AND op = $2 ORDER BY path", o.ID, o.id)
		if err != nil {
			return err
		}
		err = settle(tx, q, o.ID, o.id, done...)
		if o.held != nil && !o.quiet {
			err = cmp.Or(err, o.held.Release(tx, q, len(failed) == 0))
		}
		return cmp.Or(err, p.tell(ctx, tx, o.Project, done...))
	})
	if err != nil {
		return fmt.Errorf("finish changes: %w", err)
	}
	if !o.quiet && len(failed) == 0 {
		o.held = nil
	}
	p.Step("finished")
	return nil
}

// settle changes the index and the sums by changes that an operation performed, and forgets them.
func settle(tx *sqldb.Tx, q *storage.Quota, project, op string, done ...change) error {
	var s sums
	for _, c := range done {
		if err := cmp.Or(c.settle(tx, &s), c.forget(tx)); err != nil {
			return err
		}
	}
	if s.bytes != 0 || s.files != 0 {
		if err := tx.Do("count files", "UPDATE projects SET bytes = bytes + $2, files = files + $3 WHERE id = $1", project, s.bytes, s.files); err != nil {
			return err
		}
	}
	return q.Store(tx, op, s.bytes, s.taken)
}

// actions are the names under which changes are audited; others are not.
var actions = map[string]string{write: "file.written", remove: "file.deleted", move: "file.moved"}

// tell appends what was done to the audit log, as the last statement.
func (p *Projects) tell(ctx context.Context, tx *sqldb.Tx, r Project, done ...change) error {
	var events []audit.Event
	for _, c := range done {
		if action := actions[c.kind]; action != "" && !c.quiet {
			events = append(events, event(parseActor(c.actor), r.Scope, action, "file", r.Slug+"/"+c.path))
		}
	}
	if len(events) == 0 {
		return nil
	}
	return p.Audit.Append(ctx, tx, events...)
}
