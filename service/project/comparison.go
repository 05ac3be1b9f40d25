package project

import (
	"cmp"
	"context"
	"io/fs"
	"strings"

	"svc.dev/svc/internal/sqldb"
)

// comparison is a look at all files of one project.
type comparison struct {
	*Projects
	Project
	folder folder
	known  map[string]entry // by the index, and not yet found on disk
	odd    []string         // paths to look at again
	drift  *Drift
}

// compare looks for what disk and index of a project say differently, and repairs each such path.
func (p *Projects) compare(ctx context.Context, r Project, f folder, d *Drift) error {
	d.Projects++
	known, err := p.entries(ctx, r)
	if err != nil {
		return err
	}
	if f.Root == nil {
		if f, err = p.open(r, true); err != nil {
			return err
		}
		defer f.Close()
	}
	c := &comparison{Projects: p, Project: r, folder: f, known: known, drift: d}
	err = fs.WalkDir(f.FS(), ".", func(path string, at fs.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err) // gone since it was listed
		}
		return cmp.Or(ctx.Err(), c.visit(ctx, path, at))
	})
	if err != nil {
		return err
	}
	for path := range known {
		c.odd = append(c.odd, path)
	}
	for _, path := range c.odd {
		if err := c.again(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// visit looks at one thing on disk.
func (c *comparison) visit(ctx context.Context, path string, at fs.DirEntry) error {
	switch {
	case path == ".":
		return nil
	case isTemp(path):
		return c.visitTemp(ctx, path, at)
	case problemOfPath(path) != "":
		c.stray(path)
		return skip(at)
	case at.IsDir():
		return nil
	}
	is := c.known[path]
	delete(c.known, path)
	info, err := at.Info()
	if err != nil {
		return ignoreMissing(err)
	}
	if c.drift.Files++; !isRegular(info) {
		c.stray(path)
	}
	if !isRegular(info) && is.there() || isRegular(info) && !is.is(info) {
		c.odd = append(c.odd, path)
	}
	return nil
}

func skip(at fs.DirEntry) error {
	if at.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (c *comparison) stray(path string) {
	if len(c.drift.Strays) < maxStrays {
		c.drift.Strays = append(c.drift.Strays, c.Slug+"/"+strings.ToValidUTF8(path, "\uFFFD"))
	}
}

// entries is the whole index of a project.
func (p *Projects) entries(ctx context.Context, r Project) (map[string]entry, error) {
	all, err := sqldb.ReadAll(ctx, p.DB, scanEntry, "SELECT "+entryColumns+" FROM project_files WHERE project = $1", r.ID)
	if err != nil {
		return nil, err
	}
	known := make(map[string]entry, len(all))
	for _, e := range all {
		known[e.path] = e
	}
	return known, nil
}

// visitTemp deletes a temporary file that belongs to no reservation: those of the living are reserved first.
func (c *comparison) visitTemp(ctx context.Context, name string, at fs.DirEntry) error {
	owned, err := c.Quotas.Reserved(ctx, strings.ToValidUTF8(name[len(tempPrefix):], ""))
	if err != nil {
		return err
	}
	if !owned {
		c.drift.Temps++
		if err := c.folder.RemoveAll(name); err != nil {
			return err
		}
	}
	return skip(at)
}

// again looks at a path once more, for it may have been changed while others were looked at, and repairs it.
func (c *comparison) again(ctx context.Context, path string) error {
	is, about, announced, err := c.Projects.known(ctx, c.Project, path)
	if err != nil {
		return err
	}
	info, err := c.folder.see(path)
	if err != nil {
		return err
	}
	there := info != nil && isRegular(info)
	switch {
	case there && is.is(info), !there && !is.there():
		return nil
	case announced && c.Now().UnixMilli()-about.at <= c.Patience.Milliseconds():
		return nil // it is about to be put right
	case !announced && c.isFresh(is):
		return nil // the next recount looks at it
	case announced:
		return c.resolve(ctx, c.Project, c.folder, about)
	case !is.there():
		c.drift.Adopted++
	case !there:
		c.drift.Dropped++
	default:
		c.drift.Changed++
	}
	return c.repair(ctx, c.Project, c.folder, path)
}
