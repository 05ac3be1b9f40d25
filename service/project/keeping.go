package project

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// Keep has everything kept that changes take away, until release is called: replaced and deleted files get a second name first.
// A copy of the database that is made after Keep then names files that Find finds, whatever happens to them meanwhile.
func (p *Projects) Keep() (release func(), err error) {
	// What a backup has left that was killed.
	if err := p.root.RemoveAll(keptFolder); err != nil {
		return nil, fmt.Errorf("keep files: %w", err)
	}
	if err := p.makeFolder(keptFolder); err != nil {
		return nil, fmt.Errorf("keep files: %w", err)
	}
	p.keeping.Store(true)
	return func() {
		p.keeping.Store(false)
		if err := p.root.RemoveAll(keptFolder); err != nil {
			p.Log.Warn("files that were kept for a backup stay until they are swept", "error", err)
		}
	}, nil
}

// keepAside gives a file that is about to go another name, if a backup may look for it. Where that cannot be the change goes on, and
// the backup says what it misses.
func keepAside(p *Projects, place, name string, info os.FileInfo) {
	if !p.keeping.Load() {
		return
	}
	err := p.root.Link(path.Join(place, name), keptName(place, info.Size(), info.ModTime().UnixNano()))
	if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		p.Log.Warn("a file is not kept for the backup that is being made", "error", err)
	}
}

// keptName is where a file of a project's folder is kept, whatever it is called there by then: its time is a mark of its content.
func keptName(place string, bytes, mtime int64) string {
	sum := sha256.Sum256([]byte(place))
	return fmt.Sprintf("%s/%x-%d-%d", keptFolder, sum[:8], bytes, mtime)
}

// Stored is a file as the index names it, at one moment.
type Stored struct {
	Project string
	Scope   string
	Slug    string
	Path    string // within the project
	Bytes   int64

	is    entry
	about change // what was announced for the file; the zero value is nothing
}

// Place is where the file lies below Root.
func (s Stored) Place() (string, error) {
	folder, err := s.folder()
	return path.Join(folder, s.Path), err
}

// folder is where its project lies.
func (s Stored) folder() (string, error) {
	place, err := placeOf(s.Scope)
	return path.Join(place, s.Slug), err
}

const selectStored = `SELECT p.id, p.scope, p.slug, f.path, f.bytes, f.etag, f.mtime, COALESCE(c.kind, ''), COALESCE(c.other, ''), COALESCE(c.bytes, 0), COALESCE(c.etag, ''), COALESCE(c.mtime, 0)
FROM project_files f JOIN projects p ON p.id = f.project LEFT JOIN project_changes c ON c.project = f.project AND c.path = f.path
WHERE p.deleted_at IS NULL AND (f.project, f.path) > ($1, $2) ORDER BY f.project, f.path LIMIT $3`

// StoredAfter reads the files that follow one in the index of all projects; the zero value is before the first.
func StoredAfter(tx *sqldb.Tx, last Stored, most int) ([]Stored, error) {
	return sqldb.Collect(tx, func(row sqldb.Row) (s Stored, err error) {
		err = row.Scan(&s.Project, &s.Scope, &s.Slug, &s.Path, &s.Bytes, &s.is.etag, &s.is.mtime,
			&s.about.kind, &s.about.other, &s.about.bytes, &s.about.etag, &s.about.mtime)
		s.is.bytes = s.Bytes
		return s, err
	}, selectStored, last.Project, last.Path, most)
}

// StoredBytes is what all files of the index have together.
func StoredBytes(tx *sqldb.Tx) (int64, error) {
	return sqldb.Value[int64](tx, "sum files", "SELECT CAST(COALESCE(SUM(f.bytes), 0) AS BIGINT) FROM project_files f JOIN projects p ON p.id = f.project WHERE p.deleted_at IS NULL")
}

// findTries is how often a file is looked for: it may be moved while it is.
const findTries = 20

// Find opens a file that an index named after Keep, wherever it lies by now. A change that was under way at Keep may have replaced or
// deleted it without a trace: then the index has that change announced, and Find opens what it put there, or gives no file for a
// deletion. Else it opens what lies at the path although somebody outside has changed it: as says which. Where there is nothing,
// the error is fs.ErrNotExist.
func (s Stored) Find(ctx context.Context, p *Projects) (file *os.File, as string, err error) {
	folder, err := s.folder()
	if err != nil {
		return nil, "", err
	}
	look := pursuit{p, s, folder}
	for range findTries {
		if file, err := look.entry(ctx, s.is); file != nil || err != nil {
			return file, AsNamed, err
		}
		if s.about.kind == remove {
			return nil, AsAnnounced, nil
		}
		if file, err := look.announced(ctx); file != nil || err != nil {
			return file, AsAnnounced, err
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return nil, "", err
		}
	}
	file, _, err = look.plain(path.Join(folder, s.Path))
	return file, AsChanged, err
}

// What Find has found.
const (
	AsNamed     = "named"     // what the index named
	AsAnnounced = "announced" // what an announced change had left there
	AsChanged   = "changed"   // something else
)

// pursuit looks for a file of a project.
type pursuit struct {
	*Projects
	Stored
	folder string // of the project
}

// entry looks in all places where the content of an entry may be; nil: it is in none.
func (s pursuit) entry(ctx context.Context, e entry) (*os.File, error) {
	if !e.there() {
		return nil, nil
	}
	file, err := s.firstOf(e, path.Join(s.folder, s.Path), keptName(s.folder, e.bytes, e.mtime))
	if file != nil || err != nil {
		return file, err
	}
	moved, err := s.movedTo(ctx, e)
	if err != nil {
		return nil, err
	}
	if file, err := s.firstOf(e, moved...); file != nil || err != nil {
		return file, err
	}
	return s.searchTrash(e)
}

// announced looks for what a write put there, and where a move put it.
func (s pursuit) announced(ctx context.Context) (*os.File, error) {
	switch s.about.kind {
	case write:
		return s.entry(ctx, s.about.entry())
	case move:
		return s.firstOf(s.is, path.Join(s.folder, s.about.other))
	}
	return nil, nil
}

// searchTrash looks for a file that had moved before its project was deleted.
func (s pursuit) searchTrash(e entry) (found *os.File, err error) {
	trash, err := s.trash()
	for _, place := range trash {
		err := fs.WalkDir(s.root.FS(), place, func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return ignoreMissing(err)
			}
			if found, err = s.firstOf(e, at); found != nil || err != nil {
				return cmp.Or(err, fs.SkipAll)
			}
			return nil
		})
		if found != nil || err != nil {
			return found, err
		}
	}
	return nil, err
}

// trash are the folders of a project that was deleted.
func (s pursuit) trash() (places []string, err error) {
	all, err := fs.ReadDir(s.root.FS(), trashFolder)
	for _, t := range all {
		if strings.HasPrefix(t.Name(), s.Stored.Project+"-") {
			places = append(places, path.Join(trashFolder, t.Name()))
		}
	}
	return places, ignoreMissing(err)
}

// firstOf opens the first file among places that is the one of an entry; nil: none is.
func (s pursuit) firstOf(e entry, places ...string) (*os.File, error) {
	for _, at := range places {
		file, info, err := s.plain(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case e.is(info):
			return file, nil
		default:
			file.Close()
		}
	}
	return nil, nil
}

// movedTo are the places that a file may have gone to: where the index names it now, and the trash.
func (s pursuit) movedTo(ctx context.Context, e entry) (places []string, err error) {
	now, err := sqldb.ReadAll(ctx, s.DB, sqldb.Column[string], "SELECT path FROM project_files WHERE project = $1 AND etag = $2 AND mtime = $3", s.Stored.Project, e.etag, e.mtime)
	if err != nil {
		return nil, err
	}
	for _, name := range now {
		places = append(places, path.Join(s.folder, name))
	}
	trash, err := s.trash()
	for _, place := range trash {
		places = append(places, path.Join(place, s.Path))
	}
	return places, err
}

// plain opens a regular file below Root.
func (s pursuit) plain(place string) (*os.File, os.FileInfo, error) {
	seen, err := s.root.Lstat(place)
	if errors.Is(err, syscall.ENOTDIR) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, nil, fs.ErrNotExist
	}
	file, err := s.root.OpenFile(place, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, cmp.Or(file.Close(), err)
	}
	return file, info, nil
}
