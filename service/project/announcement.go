package project

import (
	"context"

	"svc.dev/svc/internal/sqldb"
)

// announce puts on record which changes are about to happen. A change that may not be gets its outcome instead. Whoever
// wants to write more than is free has all of it refused. After an error it is open what is on record.
func (p *Projects) announce(ctx context.Context, o *operation, wanted []change, which []int, outcomes []error) error {
	var refused error
	err := p.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		refused, err = p.announceIn(tx, o, wanted, which, outcomes)
		return err
	})
	if refused != nil {
		for _, i := range which {
			outcomes[i] = refused
		}
	}
	return err
}

func (p *Projects) announceIn(tx *sqldb.Tx, o *operation, wanted []change, which []int, outcomes []error) (refused, err error) {
	q, err := p.Quotas.Lock(tx, o.Scope)
	if err != nil {
		return nil, err
	}
	files, err := sqldb.Collect(tx, sqldb.Column[int64], "SELECT files FROM projects WHERE id = $1 AND deleted_at IS NULL", o.ID)
	if err != nil || len(files) == 0 {
		return NotFound(), err
	}
	room, need := p.MaxFiles-files[0], int64(0)
	for _, i := range which {
		more, verdict, err := p.judge(tx, o, &wanted[i], &room)
		if err != nil {
			return nil, err
		}
		if outcomes[i] = verdict; verdict == nil {
			need += more
		}
	}
	if o.held != nil {
		if refused, err := o.held.Cover(tx, &q, need); refused != nil || err != nil {
			return refused, err
		}
	}
	return nil, p.record(tx, o, wanted, which, outcomes)
}

// judge says whether a change may be, and how many bytes more it stores. Room is how many files can be new.
func (p *Projects) judge(tx *sqldb.Tx, o *operation, c *change, room *int64) (more int64, verdict, err error) {
	for _, path := range c.paths() {
		if _, found, err := changeOf(tx, o.ID, path); err != nil || found {
			return 0, errLocked, err
		}
	}
	is, err := entryOf(tx, o.ID, c.path)
	if err != nil {
		return 0, nil, err
	}
	if c.when != nil && !c.when(is.etag) {
		return 0, staleFile(is.etag), nil
	}
	switch {
	case c.kind == write && is.there():
		return max(c.bytes-is.bytes, 0), nil, nil
	case c.kind == write:
		if *room--; *room < 0 {
			return 0, tooMany("files in a project", p.MaxFiles), nil
		}
		verdict, err = refuseClash(tx, o.ID, c.path)
		return c.bytes, verdict, err
	case c.kind == repair:
		return 0, nil, nil
	case !is.there():
		return 0, NotFound(), nil
	case c.kind == move:
		c.bytes, c.etag, c.mtime = is.bytes, is.etag, is.mtime
		verdict, err = judgeTarget(tx, o.ID, c.other)
	}
	return 0, verdict, err
}

func judgeTarget(tx *sqldb.Tx, project, path string) (verdict, err error) {
	is, err := entryOf(tx, project, path)
	if err != nil {
		return nil, err
	}
	if is.there() {
		return nameTaken("There is a file of that name."), nil
	}
	return refuseClash(tx, project, path)
}

func refuseClash(tx *sqldb.Tx, project, path string) (verdict, err error) {
	clash, err := clashes(tx, project, path)
	if clash {
		verdict = nameTaken("A file cannot be a folder too.")
	}
	return verdict, err
}

// record announces the changes that nothing speaks against.
func (p *Projects) record(tx *sqldb.Tx, o *operation, wanted []change, which []int, outcomes []error) error {
	for _, i := range which {
		if outcomes[i] != nil {
			continue
		}
		c := wanted[i]
		c.op, c.actor, c.quiet, c.at = o.id, actorText(o.by), o.quiet, p.Now().UnixMilli()
		if err := c.announce(tx, o.ID); err != nil {
			return err
		}
		wanted[i] = c
	}
	return nil
}
