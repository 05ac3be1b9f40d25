package repository

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/project"
)

// pullLife is how long a project waits for a pull that is not heard of.
const pullLife = time.Minute

// pull is one pull of a project, which has the lease of the project's pulls.
type pull struct {
	*Repositories
	project.Project
	lease string
	by    audit.Actor
}

// begin takes the lease of a project's pulls; the pull is audited here, as one act.
func (s *Repositories) begin(ctx context.Context, by audit.Actor, o project.Owner, slug string) (*pull, error) {
	is, err := s.Projects.Get(ctx, o, slug)
	if err == nil && is.Repository == nil {
		err = s.connected(ctx, o.Scope)
	}
	if err != nil {
		return nil, err
	}
	p := &pull{Repositories: s, lease: ulid.Make().String(), by: by}
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if p.Project, err = project.Find(tx, o, slug); err != nil {
			return err
		}
		if p.Repository == nil {
			return fault.New(fault.ItemNotFound, "This project follows no repository.", "")
		}
		now := s.Now()
		n, err := tx.Exec("UPDATE project_repositories SET pull = $2, pull_until = $3, pull_done = 0, pull_total = 0 WHERE project = $1 AND pull_until <= $4",
			p.ID, p.lease, now.Add(pullLife).UnixMilli(), now.UnixMilli())
		if err != nil {
			return fmt.Errorf("begin pull: %w", err)
		}
		if n == 0 {
			return pullRuns()
		}
		return s.Audit.Append(ctx, tx, audit.Event{Actor: by, Action: "project.pulled", Target: audit.Target{Kind: "project", ID: p.ID}, Scope: o.Scope})
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// connected refuses a workspace that could not follow any repository: it is told that before what else is missing.
func (s *Repositories) connected(ctx context.Context, scope string) (err error) {
	for provider := range s.Hosts {
		if err = s.Connected(ctx, provider, scope); err == nil {
			return nil
		}
	}
	return err
}

func pullRuns() error {
	return fault.New(fault.AlreadyRunning, "A pull of this project is running.", "Wait for it to end.")
}

// errLost ends a pull whose lease somebody else has.
var errLost = errors.New("pull was taken for dead")

// keep renews the lease until release is called, and ends the context when it is lost.
func (p *pull) keep(ctx context.Context) (kept context.Context, release func()) {
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
				if err := p.renew(kept); err != nil {
					end(err)
				}
			}
		}
	}()
	return kept, func() { end(context.Canceled); <-done }
}

func (p *pull) renew(ctx context.Context) error {
	return p.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec("UPDATE project_repositories SET pull_until = $3 WHERE project = $1 AND pull = $2",
			p.ID, p.lease, p.Now().Add(pullLife).UnixMilli())
		if err == nil && n == 0 {
			return errLost
		}
		return err
	})
}

// note tells those who look at the project how far the pull is.
func (p *pull) note(ctx context.Context, done, total int) error {
	return p.DB.Do(ctx, "note pull", "UPDATE project_repositories SET pull_done = $3, pull_total = $4 WHERE project = $1 AND pull = $2", p.ID, p.lease, done, total)
}

// end gives the lease back and, where the pull succeeded, takes down how far the project has come.
func (p *pull) end(ctx context.Context, done *Pulled) error {
	ctx = sqldb.Regardless(ctx)
	set, args := "", []any{p.ID, p.lease}
	if done != nil {
		set = ", commit_id = $3, conflicts = $4, pulled_at = $5"
		args = append(args, done.Commit, done.ConflictCount, p.Now().UnixMilli())
	}
	return sqldb.Insist(func() error {
		return p.DB.Do(ctx, "end pull", "UPDATE project_repositories SET pull = '', pull_until = 0"+set+" WHERE project = $1 AND pull = $2", args...)
	})
}
