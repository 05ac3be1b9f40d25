package parcel

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sync"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/amount"
	"svc.dev/svc/internal/jsonl"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/workspace"
	"svc.dev/svc/sqlstore"
)

// Config is what a post needs. All of it is required, but for what has a default.
type Config struct {
	DB     *sqldb.DB
	Audit  *audit.Log
	Spaces *workspace.Workspaces
	// Projects are the files; nil: there is no folder of them, and so no file.
	Projects *project.Projects
	// Account finds whose a username is.
	Account func(ctx context.Context, username string) (id string, err error)
	// Folder is where a part of a parcel waits while it is packed.
	Folder string
	// Still is held while something is erased: a backup waits for it, and it for a backup.
	Still sync.Locker
	// Wake tells whoever waits for work that there is some. Defaults to nobody: they look themselves.
	Wake func()
}

// Post packs workspaces and unpacks them.
type Post struct{ Config }

// New is the post of a service.
func New(c Config) *Post {
	if c.Wake == nil {
		c.Wake = func() {}
	}
	return &Post{c}
}

// patience is how long one question may take: it is as long as what it asks for.
const patience = 5 * time.Minute

// Pack writes a workspace in the form that backup.Make reads. Each conversation and each run is as it was at one moment. It ends with
// a report or an error, which is in the stream too.
func (p *Post) Pack(ctx context.Context, q Wish, w io.Writer) error {
	t := tar.NewWriter(w)
	err := p.pack(sqldb.Patient(ctx, patience), q, t)
	if err != nil {
		_ = backup.WriteNote(t, backup.Note{Error: err.Error()}) // whoever listens may have gone
	}
	return errors.Join(err, t.Close())
}

func (p *Post) pack(ctx context.Context, q Wish, t *tar.Writer) error {
	space, err := p.find(ctx, q.Address)
	if err != nil {
		return err
	}
	if err := p.refuseUnfinished(ctx, q); err != nil {
		return err
	}
	if err := p.note(ctx, space); err != nil {
		return err
	}
	spool, err := newSpool(p.Folder)
	if err != nil {
		return err
	}
	defer spool.Close()
	k := &packing{Post: p, Wish: q, space: space, tar: t, spool: spool}
	return k.all(ctx)
}

func (p *Post) find(ctx context.Context, at Address) (workspace.Workspace, error) {
	return sqldb.Read(ctx, p.DB, func(tx *sqldb.Tx) (workspace.Workspace, error) {
		one, found, err := workspace.At(tx, at.scope())
		if err == nil && !found {
			err = fmt.Errorf("there is no workspace %s", at)
		}
		return one, err
	})
}

func (p *Post) refuseUnfinished(ctx context.Context, q Wish) error {
	n, err := sqlstore.Unfinished(ctx, p.DB, q.scope())
	if err != nil || n == 0 || q.Unfinished {
		return err
	}
	return fmt.Errorf("%s and runs have work that is not finished: wait for it, stop it, or take it along with --unfinished, and it goes on here and there", amount.Of(n, "conversation"))
}

// note has it in the audit log that a workspace leaves, before it does.
func (p *Post) note(ctx context.Context, space workspace.Workspace) error {
	event := audit.Event{Action: "workspace.exported", Target: audit.Target{Kind: "workspace", ID: space.ID}, Scope: space.Scope, Service: true}
	return p.DB.Write(ctx, func(tx *sqldb.Tx) error { return p.Audit.Append(ctx, tx, event) })
}

// packing is a parcel that is being made.
type packing struct {
	*Post
	Wish
	space workspace.Workspace
	tar   *tar.Writer
	spool *os.File // what waits to be sent
}

func (k *packing) all(ctx context.Context) error {
	about := About{Format: Format, At: time.Now().UTC(), Business: k.space.Business, Name: k.space.Name}
	if err := backup.WriteNote(k.tar, backup.Note{Point: &backup.Point{At: about.At, Database: Kind}}); err != nil {
		return err
	}
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	if err := backup.WriteEntry(k.tar, aboutFile, int64(len(text)), about.At, bytes.NewReader(text)); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{k.agents, k.projects, k.streams, k.blobs} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return backup.WriteNote(k.tar, backup.Note{Report: &backup.Report{}})
}

// add writes what one state of the database has to the end of the spool. The database may have to be asked again.
func (k *packing) add(ctx context.Context, write func(*sqldb.Tx, *json.Encoder) error) (size int64, err error) {
	from, err := k.spool.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	err = k.DB.Snapshot(ctx, func(tx *sqldb.Tx) error {
		if _, err := k.spool.Seek(from, io.SeekStart); err != nil {
			return err
		}
		if err := k.spool.Truncate(from); err != nil {
			return err
		}
		return write(tx, jsonl.NewEncoder(k.spool))
	})
	if err != nil {
		return 0, err
	}
	return k.spool.Seek(0, io.SeekCurrent)
}

// send sends what is in the spool, and empties it.
func (k *packing) send(name string) error {
	size, err := k.spool.Seek(0, io.SeekCurrent)
	if err != nil || size == 0 {
		return err
	}
	if _, err := k.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := backup.WriteEntry(k.tar, name, size, time.Time{}, k.spool); err != nil {
		return err
	}
	if _, err := k.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return k.spool.Truncate(0)
}

func (k *packing) agents(ctx context.Context) error {
	if _, err := k.add(ctx, func(tx *sqldb.Tx, to *json.Encoder) error { return agent.WriteAll(tx, k.space.Scope, to) }); err != nil {
		return err
	}
	return k.send(agentsFile)
}

func (k *packing) projects(ctx context.Context) error {
	if k.Projects == nil {
		return k.refuseProjects(ctx)
	}
	owner := project.Owner{Workspace: k.space.ID, Scope: k.space.Scope}
	var slugs []string
	lines := jsonl.NewEncoder(k.spool)
	for q := (listing.Query{}); ; {
		page, err := k.Projects.List(ctx, owner, q)
		if err != nil {
			return err
		}
		for _, one := range page.Items {
			slugs = append(slugs, one.Slug)
			if err := lines.Encode(parcelled{Slug: one.Slug, Name: one.Name, Description: one.Description, Bytes: one.Bytes}); err != nil {
				return err
			}
		}
		if page.Next == "" {
			break
		}
		q.Cursor = page.Next
	}
	if err := k.send(projectsFile); err != nil {
		return err
	}
	for _, slug := range slugs {
		if err := k.files(ctx, owner, slug); err != nil {
			return err
		}
	}
	return nil
}

// refuseProjects refuses a workspace whose projects have files somewhere else.
func (k *packing) refuseProjects(ctx context.Context) error {
	some, err := sqldb.Read(ctx, k.DB, func(tx *sqldb.Tx) (bool, error) { return project.HasAny(tx, k.space.ID) })
	if err == nil && some {
		err = errors.New("files_dir: it is not there, and the workspace has projects: name the folder of their files with --files")
	}
	return err
}

// files packs the files of a project, and none of one that was deleted meanwhile.
func (k *packing) files(ctx context.Context, o project.Owner, slug string) error {
	for q := (project.FileQuery{}); ; {
		page, err := k.Projects.Files(ctx, o, slug, q)
		if fault.Is(err, fault.ItemNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, f := range page.Items {
			if err := k.file(ctx, o, slug, f.Path); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		q.Cursor = page.Next
	}
}

// file packs a file, unless it was deleted meanwhile. One that the index names still, and nobody has, is an error.
func (k *packing) file(ctx context.Context, o project.Owner, slug, name string) error {
	content, err := k.Projects.Open(ctx, o, slug, name)
	if fault.Is(err, fault.ItemNotFound) {
		if there, failed := k.isListed(ctx, o, slug, name); !there {
			return failed
		}
	}
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", name, slug, err)
	}
	defer content.Close()
	return backup.WriteEntry(k.tar, filesFolder+path.Join(slug, name), content.Bytes, time.Time{}, content)
}

// isListed reports whether a project has a file by its index.
func (k *packing) isListed(ctx context.Context, o project.Owner, slug, name string) (bool, error) {
	page, err := k.Projects.Files(ctx, o, slug, project.FileQuery{Prefix: name, Query: listing.Query{Limit: 1}})
	if fault.Is(err, fault.ItemNotFound) {
		return false, nil
	}
	return len(page.Items) > 0 && page.Items[0].Path == name, err
}

// sendAt is how many bytes of streams gather before they are sent.
const sendAt = 4 << 20

func (k *packing) streams(ctx context.Context) error {
	n := 0
	next := func() error { n++; return k.send(fmt.Sprintf("%s%06d.jsonl", streamsFolder, n)) }
	for last := int64(0); ; {
		some, err := sqlstore.StreamsAfter(ctx, k.DB, k.space.Scope, last)
		if err != nil {
			return err
		}
		for _, last = range some {
			size, err := k.add(ctx, func(tx *sqldb.Tx, to *json.Encoder) error {
				return sqlstore.WriteStream(tx, k.space.Scope, last, k.Unfinished, to)
			})
			if err != nil {
				return err
			}
			if size >= sendAt {
				if err := next(); err != nil {
					return err
				}
			}
		}
		if len(some) == 0 {
			return next()
		}
	}
}

func (k *packing) blobs(ctx context.Context) error {
	for last := ""; ; {
		some, err := sqlstore.BlobsAfter(ctx, k.DB, k.space.Scope, last)
		if err != nil || len(some) == 0 {
			return err
		}
		for _, b := range some {
			last = b.SHA256
			if err := k.blob(ctx, b); err != nil {
				return err
			}
		}
	}
}

func (k *packing) blob(ctx context.Context, b svc.Blob) error {
	content, err := sqlstore.OpenBlob(ctx, k.DB, k.space.Scope, b)
	if errors.Is(err, svc.ErrNotFound) {
		return nil // its conversation was dropped meanwhile
	}
	if err != nil {
		return err
	}
	defer content.Close()
	return backup.WriteEntry(k.tar, blobsFolder+b.SHA256, b.Size, time.Time{}, content)
}
