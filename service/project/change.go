package project

import (
	"cmp"

	"svc.dev/svc/internal/sqldb"
)

// The kinds of changes.
const (
	write  = "write"  // what waits at other becomes the file
	remove = "delete" // the file goes
	move   = "move"   // the file goes to other
	hold   = "hold"   // something is moved here
	repair = "repair" // the index follows the disk
)

// change is something that is about to happen to a file, or that is wanted.
type change struct {
	project string
	path    string
	kind    string
	other   string
	bytes   int64 // of the new content, like etag and mtime
	etag    string
	mtime   int64

	op    string
	actor string
	quiet bool
	at    int64

	when    func(etag string) bool // must be true for the file as it is, which is "" where there is none; nil is any
	outcome error                  // why nothing of it was done
}

// entry is the row of the index that the change leads to.
func (c change) entry() entry {
	return entry{path: c.path, bytes: c.bytes, etag: c.etag, mtime: c.mtime, at: c.at, by: c.actor}
}

const changeColumns = "project, path, kind, other, bytes, etag, mtime, op, actor, quiet, at"

func scanChange(row sqldb.Row) (c change, err error) {
	err = row.Scan(&c.project, &c.path, &c.kind, &c.other, &c.bytes, &c.etag, &c.mtime, &c.op, &c.actor, &c.quiet, &c.at)
	return c, err
}

// changeOf is what is announced for a path, if anything is.
func changeOf(tx *sqldb.Tx, project, path string) (c change, found bool, err error) {
	return sqldb.First(tx, "find change", scanChange, "SELECT "+changeColumns+" FROM project_changes WHERE project = $1 AND path = $2", project, path)
}

// announce writes the rows of a change, which locks its paths.
func (c change) announce(tx *sqldb.Tx) error {
	if err := c.insert(tx); err != nil || c.kind != move {
		return err
	}
	c.kind, c.path, c.other = hold, c.other, c.path
	return c.insert(tx)
}

func (c change) insert(tx *sqldb.Tx) error {
	return tx.Do("announce change", "INSERT INTO project_changes ("+changeColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
		c.project, c.path, c.kind, c.other, c.bytes, c.etag, c.mtime, c.op, c.actor, sqldb.Bit(c.quiet), c.at)
}

// forget deletes the rows of a change, which unlocks its paths.
func (c change) forget(tx *sqldb.Tx) error {
	paths := []any{c.project, c.op, c.path, c.path}
	if c.kind == move || c.kind == hold {
		paths[3] = c.other
	}
	return tx.Do("forget change", "DELETE FROM project_changes WHERE project = $1 AND op = $2 AND (path = $3 OR path = $4)", paths...)
}

// sums is what changes amount to.
type sums struct {
	bytes int64 // stored more
	files int64
	taken int64 // of what was reserved
}

func (s *sums) add(was, is entry) {
	s.bytes += is.bytes - was.bytes
	if is.there() {
		s.files++
	}
	if was.there() {
		s.files--
	}
}

// settle changes the index as the disk has been changed.
func (c change) settle(tx *sqldb.Tx, s *sums) error {
	was, err := entryOf(tx, c.project, c.path)
	if err != nil {
		return err
	}
	switch c.kind {
	case write:
		s.taken += max(c.bytes-was.bytes, 0)
		s.add(was, c.entry())
		return c.entry().put(tx, c.project)
	case remove:
		s.add(was, entry{})
		return dropEntry(tx, c.project, c.path)
	case move:
		return c.settleMove(tx, was, s)
	case repair:
		return c.settleRepair(tx, was, s)
	}
	return nil
}

func (c change) settleMove(tx *sqldb.Tx, was entry, s *sums) error {
	over, err := entryOf(tx, c.project, c.other)
	if err != nil || !was.there() {
		return err
	}
	s.add(over, entry{}) // nothing was there when the move was announced
	was.path, was.at, was.by = c.other, c.at, c.actor
	return cmp.Or(dropEntry(tx, c.project, c.path), was.put(tx, c.project))
}

func (c change) settleRepair(tx *sqldb.Tx, was entry, s *sums) error {
	is := c.entry()
	s.add(was, is)
	if !is.there() {
		return dropEntry(tx, c.project, c.path)
	}
	if was.etag == is.etag {
		is.at, is.by = was.at, was.by // only the disk's own marks differ
	}
	return is.put(tx, c.project)
}

// paths are those that the change locks.
func (c change) paths() []string {
	if c.kind == move {
		return []string{c.path, c.other}
	}
	return []string{c.path}
}
