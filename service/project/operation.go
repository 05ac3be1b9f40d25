package project

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/storage"
)

// operation is changes of one project that somebody makes together.
type operation struct {
	Project
	id    string
	by    audit.Actor
	agent string // that acts in their name
	quiet bool   // it is audited, and lets go of what is reserved, as a whole

	folder folder
	held   *storage.Reservation // nil: nothing is written
}

func newID() string { return ulid.Make().String() }

// begin reserves bytes for an operation and opens the folder of its project. What is begun ends.
func (p *Projects) begin(ctx context.Context, o *operation, bytes int64) (err error) {
	if o.held, err = p.Quotas.Reserve(ctx, o.Scope, o.ID, o.id, bytes); err != nil {
		return err
	}
	p.Step("reserved")
	if o.folder, err = p.open(o.Project, true); err != nil {
		p.end(ctx, o)
		return missing(err)
	}
	return nil
}

// end closes the folder, lets go of what an operation reserved still, and deletes its temporary files. What it announced and did
// not finish is not its own any more: then everything stays for those who come later.
func (p *Projects) end(ctx context.Context, o *operation) {
	if o.folder.Root != nil {
		defer o.folder.Close()
	}
	if o.held == nil {
		return
	}
	ctx, cancel := context.WithTimeout(sqldb.Regardless(ctx), 10*time.Second)
	defer cancel()
	var announced bool
	err := p.Quotas.Lock(ctx, o.Scope, func(tx *sqldb.Tx, q *storage.Quota) error {
		err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM project_changes WHERE op = $1)", o.id).Scan(&announced)
		if err != nil || announced {
			return err
		}
		return o.held.Release(tx, q, false)
	})
	if err == nil && !announced {
		if err = o.folder.clean(o.id); err == nil {
			err = o.held.Forget(ctx)
		}
	}
	if err != nil || announced {
		p.Log.Warn("temporary files stay until they are swept", "project", o.ID, "error", err)
	}
}

// errLocked says that somebody else changes the same path.
var errLocked = errors.New("path is locked")

// carryOut makes changes, each of them or none of it: their outcomes say which. Paths that others are changing are waited for.
// An error besides leaves open what has happened; it is found out later.
func (p *Projects) carryOut(ctx context.Context, o *operation, wanted ...*change) error {
	deadline := time.Now().Add(p.Patience + 5*time.Second)
	for {
		if err := p.attempt(ctx, o, wanted); err != nil {
			return err
		}
		wanted = without(wanted, func(c *change) bool { return !errors.Is(c.outcome, errLocked) })
		if len(wanted) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			for _, c := range wanted {
				c.outcome = busy()
			}
			return nil
		}
		if err := p.await(ctx, o.Project, o.folder, wanted[0].paths()...); err != nil {
			return err
		}
	}
}

// without is all changes but those of which something is true.
func without(all []*change, is func(*change) bool) []*change {
	return slices.DeleteFunc(slices.Clone(all), is)
}

// attempt announces changes, performs those that may be, and finishes them.
func (p *Projects) attempt(ctx context.Context, o *operation, wanted []*change) error {
	began := time.Now()
	if err := p.announce(ctx, o, wanted); err != nil {
		return err
	}
	announced := without(wanted, func(c *change) bool { return c.outcome != nil })
	if len(announced) == 0 {
		return nil
	}
	// From here on it is on record: whoever asked may leave, but not halfway.
	ctx = sqldb.Regardless(ctx)
	p.Step("announced")
	dirs := map[string]bool{}
	for _, c := range announced {
		// An operation that comes too late finds others at work, who took this one for dead.
		if time.Since(began) > p.Patience/2 {
			c.outcome = busy()
		} else {
			c.outcome = o.folder.perform(*c, dirs)
		}
	}
	p.Step("performed")
	if err := o.folder.sync(dirs); err != nil {
		return err
	}
	failed := without(announced, func(c *change) bool { return c.outcome == nil })
	return sqldb.Insist(func() error { return p.finish(ctx, o, failed) })
}
