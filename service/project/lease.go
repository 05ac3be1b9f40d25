package project

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// pullLife is how long a project waits for a pull that is not heard of.
const pullLife = time.Minute

// beginPull takes the lease of a project's pulls; the pull is audited here, as one act.
func (p *Projects) beginPull(ctx context.Context, by audit.Actor, o Owner, slug string) (*operation, error) {
	op := &operation{id: newID(), by: by, quiet: true, lasts: true}
	is, err := p.find(ctx, o, slug)
	if err == nil && is.Repository == nil {
		// A workspace that could not follow any is told that first.
		err = p.Connected(ctx, o.Scope)
	}
	if err != nil {
		return nil, err
	}
	err = p.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if op.record, err = find(tx, o, slug); err != nil {
			return err
		}
		if op.Repository == nil {
			return fault.New(ItemNotFound, "This project follows no repository.", "")
		}
		now := p.Now()
		n, err := tx.Exec("UPDATE project_repositories SET pull = $2, pull_until = $3 WHERE project = $1 AND pull_until <= $4",
			op.ID, op.id, now.Add(pullLife).UnixMilli(), now.UnixMilli())
		if err != nil {
			return fmt.Errorf("begin pull: %w", err)
		}
		if n == 0 {
			return pullRuns()
		}
		return p.Audit.Append(ctx, tx, event(ctx, by, o.Scope, "project.pulled", "project", op.ID))
	})
	return op, err
}

func pullRuns() error {
	return fault.New(AlreadyRunning, "A pull of this project is running.", "Wait for it to end.")
}

// errLost ends a pull whose lease somebody else has.
var errLost = errors.New("pull was taken for dead")

// keepPull renews the lease until release is called, and ends the context when it is lost.
func (p *Projects) keepPull(ctx context.Context, op *operation) (kept context.Context, release func()) {
	kept, end := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(pullLife / 4)
		defer tick.Stop()
		for {
			select {
			case <-kept.Done():
				return
			case <-tick.C:
				if err := p.renewPull(kept, op); err != nil {
					end(err)
				}
			}
		}
	}()
	return kept, func() { end(context.Canceled); <-done }
}

func (p *Projects) renewPull(ctx context.Context, op *operation) error {
	var n int64
	err := p.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		n, err = tx.Exec("UPDATE project_repositories SET pull_until = $3 WHERE project = $1 AND pull = $2",
			op.ID, op.id, p.Now().Add(pullLife).UnixMilli())
		return err
	})
	if err == nil && n == 0 {
		return errLost
	}
	return err
}

// endPull gives the lease back and, where it succeeded, takes down how far the project has come.
func (p *Projects) endPull(ctx context.Context, op *operation, done *Pulled) error {
	ctx = sqldb.Regardless(ctx)
	set, args := "", []any{op.ID, op.id}
	if done != nil {
		set = ", commit_id = $3, conflicts = $4, pulled_at = $5"
		args = append(args, done.Commit, done.ConflictCount, p.Now().UnixMilli())
	}
	err := p.insist(ctx, func() error {
		return p.DB.Write(ctx, func(tx *sqldb.Tx) error {
			_, err := tx.Exec("UPDATE project_repositories SET pull = '', pull_until = 0"+set+" WHERE project = $1 AND pull = $2", args...)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("end pull: %w", err)
	}
	return nil
}
