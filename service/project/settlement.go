package project

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// finish brings into the index what was performed and forgets what failed. Unless the operation lasts, it lets go of what is
// reserved. What somebody else finished in the meantime is finished.
func (p *Projects) finish(ctx context.Context, o *operation, failed []change) error {
	var q quota
	err := p.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if q, err = p.lockQuota(tx, o.Scope); err != nil {
			return err
		}
		for _, c := range failed {
			if err := c.forget(tx, o.ID); err != nil {
				return err
			}
		}
		done, err := sqldb.Collect(tx, scanChange, "SELECT "+changeColumns+" FROM project_changes WHERE project = $1 AND op = $2 ORDER BY path", o.ID, o.id)
		if err != nil {
			return fmt.Errorf("finish changes: %w", err)
		}
		if err := p.settle(tx, o.record, o.id, done, &q); err != nil {
			return err
		}
		if o.held != nil && !o.lasts {
			if err := p.letGo(tx, o, len(failed) == 0); err != nil {
				return err
			}
		}
		return p.tell(ctx, tx, o.record, done)
	})
	if err != nil {
		return fmt.Errorf("finish changes: %w", err)
	}
	p.step("finished")
	p.heed(ctx, o.Scope, q)
	return nil
}

// letGo ends a reservation; its row stays as long as there may be temporary files.
func (p *Projects) letGo(tx *sqldb.Tx, o *operation, clean bool) error {
	if err := release(tx, o.Scope, o.id); err != nil || !clean {
		return err
	}
	return forgetReservation(tx, o.id)
}

// settle changes the index and the sums by changes that were performed, and forgets them. The quota is the one that is
// locked, and counts what was settled afterwards.
func (p *Projects) settle(tx *sqldb.Tx, r record, op string, done []change, q *quota) error {
	var s sums
	for _, c := range done {
		if err := c.settle(tx, r.ID, &s); err != nil {
			return err
		}
		if err := c.forget(tx, r.ID); err != nil {
			return err
		}
	}
	if s.taken > 0 {
		// Its life stays as it is: this may be another who completes what the owner could not.
		if _, err := tx.Exec("UPDATE storage_reservations SET bytes = bytes - $2 WHERE id = $1", op, s.taken); err != nil {
			return fmt.Errorf("spend reservation: %w", err)
		}
	}
	if s.bytes != 0 || s.files != 0 {
		_, err := tx.Exec("UPDATE projects SET bytes = bytes + $2, files = files + $3 WHERE id = $1", r.ID, s.bytes, s.files)
		if err != nil {
			return fmt.Errorf("count files: %w", err)
		}
	}
	q.used += s.bytes
	return count(tx, r.Scope, s.bytes, -s.taken)
}

// actions are the names under which changes are audited; others are not.
var actions = map[string]string{write: "file.written", remove: "file.deleted", move: "file.moved"}

// tell appends what was done to the audit log, as the last statement.
func (p *Projects) tell(ctx context.Context, tx *sqldb.Tx, r record, done []change) error {
	var events []audit.Event
	for _, c := range done {
		if action := actions[c.kind]; action != "" && !c.quiet {
			events = append(events, event(ctx, parseActor(c.actor), r.Scope, action, "file", r.Slug+"/"+c.path))
		}
	}
	if len(events) == 0 {
		return nil
	}
	return p.Audit.Append(ctx, tx, events...)
}
