package project

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// Content is a file that is open for reading. It stays what it was when it was opened, even when the file is replaced or
// deleted meanwhile. Whoever opens it closes it.
type Content struct {
	File
	io.ReadSeekCloser
}

// Open opens a file for reading. Its etag is that of the content, also while the file is being replaced.
func (p *Projects) Open(ctx context.Context, o Owner, slug, path string) (*Content, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	r, err := p.Get(ctx, o, slug)
	if err != nil {
		return nil, err
	}
	f, err := p.open(r, false)
	if err != nil {
		return nil, missing(err)
	}
	defer f.Close()
	deadline := time.Now().Add(p.Patience + 5*time.Second)
	for n := 1; ; n++ {
		c, err := p.read(ctx, r, f, path, n)
		if c != nil || err != nil {
			return c, err
		}
		if time.Now().After(deadline) {
			return nil, busy()
		}
	}
}

// How often disk and index may disagree before it is not just a moment between two looks.
const (
	triesBeforeRepair = 3
	triesOfFresh      = 50
)

// read opens the file and then asks what it is, so that what it answers is not older than the file. It is nil when that
// could not be told this time.
func (p *Projects) read(ctx context.Context, r Project, f folder, path string, n int) (*Content, error) {
	file, info, odd := f.regular(path)
	is, about, announced, err := p.known(ctx, r, path)
	if err == nil && file != nil {
		if is.is(info) {
			return &Content{is.file(), file}, nil
		}
		if announced && about.kind == write && about.entry().is(info) {
			return &Content{about.entry().file(), file}, nil
		}
	}
	if file != nil {
		file.Close()
	}
	switch {
	case err != nil:
		return nil, err
	case announced:
		return nil, p.await(ctx, r, f, path)
	case !is.there():
		return nil, NotFound() // whatever else is there
	case odd != nil && !errors.Is(odd, fs.ErrNotExist):
		return nil, odd
	case n < triesBeforeRepair:
		return nil, nil
	case p.isFresh(is) && n < triesOfFresh:
		return nil, pause(ctx, 20*time.Millisecond)
	case p.isFresh(is):
		return nil, busy()
	}
	return nil, p.repair(ctx, r, f, path)
}

// isFresh reports whether an entry is so new that a disk which several nodes share may not show its file to all of them
// yet: then the disk is not believed.
func (p *Projects) isFresh(e entry) bool {
	return e.there() && p.Now().Sub(time.UnixMilli(e.at)) < time.Minute
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// known is what the database says of a path.
func (p *Projects) known(ctx context.Context, r Project, path string) (is entry, about change, announced bool, err error) {
	err = p.DB.Snapshot(ctx, func(tx *sqldb.Tx) (err error) {
		if is, err = entryOf(tx, r.ID, path); err != nil {
			return err
		}
		about, announced, err = changeOf(tx, r.ID, path)
		return err
	})
	if err != nil {
		return entry{}, change{}, false, err
	}
	return is, about, announced, nil
}

// missing is the refusal for a file that is not there.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return NotFound()
	}
	return err
}
