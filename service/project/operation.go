package project

import (
	"context"
	"errors"
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
	quiet bool // audited as a whole, by whoever begins it

	folder folder
	held   *storage.Reservation // nil: nothing is written
	lasts  bool                 // what is reserved is kept for more changes
}

func newID() string { return ulid.Make().String() }

// errLocked says that somebody else changes the same path.
var errLocked = errors.New("path is locked")

// carryOut makes changes, each of them or none of it: the outcomes say which, in order. Paths that others are changing are
// waited for. An error besides leaves open what has happened; it is found out later.
func (p *Projects) carryOut(ctx context.Context, o *operation, wanted []change) (outcomes []error, err error) {
	outcomes = make([]error, len(wanted))
	left := make([]int, len(wanted))
	for i := range wanted {
		left[i] = i
	}
	deadline := time.Now().Add(p.Patience + 5*time.Second)
	for {
		if err := p.attempt(ctx, o, wanted, left, outcomes); err != nil {
			return nil, err
		}
		if left = lockedOnes(left, outcomes); len(left) == 0 {
			return outcomes, nil
		}
		if time.Now().After(deadline) {
			for _, i := range left {
				outcomes[i] = busy()
			}
			return outcomes, nil
		}
		if err := p.await(ctx, o.Project, o.folder, wanted[left[0]].paths()...); err != nil {
			return nil, err
		}
	}
}

func lockedOnes(left []int, outcomes []error) (still []int) {
	for _, i := range left {
		if errors.Is(outcomes[i], errLocked) {
			still = append(still, i)
		}
	}
	return still
}

// paths are those that the change locks.
func (c change) paths() []string {
	if c.kind == move {
		return []string{c.path, c.other}
	}
	return []string{c.path}
}

// attempt announces some changes, performs those that may be, and finishes them.
func (p *Projects) attempt(ctx context.Context, o *operation, wanted []change, which []int, outcomes []error) error {
	began := time.Now()
	if err := p.announce(ctx, o, wanted, which, outcomes); err != nil {
		return err
	}
	var announced []int
	for _, i := range which {
		if outcomes[i] == nil {
			announced = append(announced, i)
		}
	}
	if len(announced) == 0 {
		return nil
	}
	// From here on it is on record: whoever asked may leave, but not halfway.
	ctx = sqldb.Regardless(ctx)
	p.Step("announced")
	var failed []change
	dirs := map[string]bool{}
	for _, i := range announced {
		// An operation that comes too late finds others at work, who took this one for dead.
		if time.Since(began) > p.Patience/2 {
			outcomes[i] = busy()
		} else {
			outcomes[i] = o.folder.perform(wanted[i], dirs)
		}
		if outcomes[i] != nil {
			failed = append(failed, wanted[i])
		}
	}
	p.Step("performed")
	if err := o.folder.sync(dirs); err != nil {
		return err
	}
	return sqldb.Insist(func() error { return p.finish(ctx, o, failed) })
}
