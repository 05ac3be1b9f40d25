package project

import (
	"context"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/storage"
)

// announce puts on record which changes are about to happen. A change that may not be gets its outcome instead. Whoever
// wants to write more than is free has all of it refused. After an error it is open what is on record.
func (p *Projects) announce(ctx context.Context, o *operation, wanted []*change) error {
	var refused error
	err := p.Quotas.Lock(ctx, o.Scope, func(tx *sqldb.Tx, q *storage.Quota) (err error) {
		refused, err = p.announceIn(tx, q, o, wanted)
		return err
	})
	if err != nil {
		return err
	}
	if refused != nil {
		for _, c := range wanted {
			c.outcome = refused
		}
	}
	return nil
}

func (p *Projects) announceIn(tx *sqldb.Tx, q *storage.Quota, o *operation, wanted []*change) (refused, err error) {
	files, err := sqldb.Collect(tx, sqldb.Column[int64], "SELECT files FROM projects WHERE id = $1 AND deleted_at IS NULL", o.ID)
	if err != nil || len(files) == 0 {
		return NotFound(), err
	}
	room, need := p.MaxFiles-files[0], int64(0)
	for _, c := range wanted {
		var more int64
		if more, c.outcome, err = p.judge(tx, o, c, &room); err != nil {
			return nil, err
		}
		if c.outcome == nil {
			need += more
		}
	}
	if o.held != nil {
		if refused, err := o.held.Cover(tx, q, need); refused != nil || err != nil {
			return refused, err
		}
	}
	for _, c := range wanted {
		if c.outcome != nil {
			continue
		}
		c.project, c.op, c.actor, c.quiet, c.at = o.ID, o.id, authorText(o.by, o.agent), o.quiet, p.Now().UnixMilli()
		if err := c.announce(tx); err != nil {
			return nil, err
		}
	}
	return nil, nil
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

// refuseClash looks whether a file stands where the path needs a folder, or files stand below the path.
func refuseClash(tx *sqldb.Tx, project, path string) (verdict, err error) {
	verdict = nameTaken("A file cannot be a folder too.")
	for _, above := range folders(path) {
		if e, err := entryOf(tx, project, above); err != nil || e.there() {
			return verdict, err
		}
	}
	from, before := inFolder(path)
	const below = "SELECT EXISTS (SELECT 1 FROM project_files WHERE project = $1 AND path >= $2 AND path < $3)"
	if clash, err := sqldb.Value[bool](tx, "look below file", below, project, from, before); err != nil || clash {
		return verdict, err
	}
	return nil, nil
}
