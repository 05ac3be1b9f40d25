package repository

import (
	"cmp"
	"context"
	"errors"

	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/project"
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
func (s *Repositories) Pull(ctx context.Context, by audit.Actor, o project.Owner, slug string) (done Pulled, err error) {
	ctx, end := context.WithTimeout(ctx, s.PullTimeout)
	defer end()
	p, err := s.begin(ctx, by, o, slug)
	if err != nil {
		return done, err
	}
	ctx, release := p.keep(ctx)
	done, err = p.run(ctx)
	release()
	if err != nil {
		return Pulled{}, cmp.Or(refusal(err), p.end(ctx, nil))
	}
	return done, p.end(ctx, &done)
}

// run fetches what is new and brings it into the project.
func (p *pull) run(ctx context.Context) (done Pulled, err error) {
	far, err := p.reach(ctx, p.Scope, *p.Repository)
	if err != nil {
		return done, err
	}
	defer far.close()
	head, err := far.head(ctx)
	if err != nil {
		return done, err
	}
	if p.Pulled != nil && p.Pulled.Commit == head && p.Pulled.Conflicts == 0 {
		return pulled(head), nil
	}
	commit, err := p.fetch(ctx, far)
	if err != nil {
		return done, err
	}
	room := p.names(p.Scope)
	defer room.Release()
	maxFile, maxFiles := p.Projects.Limits()
	t, err := far.list(ctx, commit, maxFile, maxFiles, room)
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
	todo, err := p.plan(ctx, t, objects, room)
	if err != nil {
		return done, err
	}
	err = p.bring(ctx, objects, todo, &done)
	return done, err
}

// fetch brings the newest commit as far as the workspace has room for it.
func (p *pull) fetch(ctx context.Context, far *remote) (commit string, err error) {
	q, err := p.Quotas.Read(ctx, p.Scope)
	if err != nil {
		return "", err
	}
	commit, err = far.fetch(ctx, max(q.Free(), 0)+p.Bytes+p.Slack)
	if size, ok := errors.AsType[errTooMuch](err); ok {
		return "", q.Refuse(int64(size))
	}
	return commit, err
}
