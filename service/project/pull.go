package project

import (
	"cmp"
	"context"
	"errors"

	"svc.dev/svc/service/audit"
)

// Pulled is what a pull did.
type Pulled struct {
	Commit  string `json:"commit"`
	Written int    `json:"written"`
	Deleted int    `json:"deleted"`
	// Conflicts are the files that were changed both here and in the repository since the last pull. They stay as they are
	// here, and are told by every pull until they are alike, or deleted here. At most 1,000 are named.
	Conflicts     []string `json:"conflicts"`
	ConflictCount int      `json:"conflictCount"`
	// Skipped is what of the repository cannot be a file. At most 1,000 are named.
	Skipped   []Skip `json:"skipped"`
	SkipCount int    `json:"skipCount"`
}

// pulled is a pull of a commit that has done nothing yet.
func pulled(commit string) Pulled {
	return Pulled{Commit: commit, Conflicts: []string{}, Skipped: []Skip{}}
}

// Pull makes a project's files those of its repository's branch as it is now. A file that was changed here since the last
// pull stays: where the repository changed it too, that is a conflict. A file that was deleted here comes back only when the
// repository changed it. Files that the repository never had stay.
//
// Either there is room for all of it, or nothing is changed. A pull that breaks off later leaves whole files, old and new,
// and the next one goes on. One project has one pull at a time; another is refused with already_running.
func (p *Projects) Pull(ctx context.Context, by audit.Actor, o Owner, slug string) (done Pulled, err error) {
	ctx, end := context.WithTimeout(ctx, p.PullTimeout)
	defer end()
	op, err := p.beginPull(ctx, by, o, slug)
	if err != nil {
		return done, err
	}
	ctx, release := p.keepPull(ctx, op)
	done, err = p.pullAs(ctx, op)
	release()
	if err != nil {
		return Pulled{}, cmp.Or(refusal(err), p.endPull(ctx, op, nil))
	}
	return done, p.endPull(ctx, op, &done)
}

func (p *Projects) pullAs(ctx context.Context, op *operation) (Pulled, error) {
	far, err := p.reach(ctx, op.Scope, *op.Repository)
	if err != nil {
		return Pulled{}, err
	}
	defer far.close()
	return p.pull(ctx, op, far)
}

// pull fetches what is new and brings it into the project.
func (p *Projects) pull(ctx context.Context, op *operation, far *remote) (done Pulled, err error) {
	head, err := far.head(ctx)
	if err != nil {
		return done, err
	}
	if op.Pulled != nil && op.Pulled.Commit == head && op.Pulled.Conflicts == 0 {
		return pulled(head), nil
	}
	q, err := p.quotaOf(ctx, op.Scope)
	if err != nil {
		return done, err
	}
	most := max(q.free(), 0) + op.Bytes + p.slack
	commit, err := far.fetch(ctx, most)
	if size, ok := errors.AsType[errTooMuch](err); ok {
		return done, q.refuse(int64(size))
	}
	if err != nil {
		return done, err
	}
	room := p.names(op.Scope)
	defer room.Release()
	t, err := far.list(ctx, commit, p.MaxFile, p.MaxFiles, room)
	if err != nil {
		return done, err
	}
	done = pulled(commit)
	done.Skipped, done.SkipCount = append(done.Skipped, t.skipped...), t.left
	objects, err := far.contents(ctx)
	if err != nil {
		return done, err
	}
	defer objects.close()
	todo, err := p.plan(ctx, op, t, objects, room)
	if err != nil {
		return done, err
	}
	err = p.bring(ctx, op, objects, todo, &done)
	return done, err
}
