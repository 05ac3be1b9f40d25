package parcel

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"svc.dev/svc/internal/jsonl"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/workspace"
	"svc.dev/svc/sqlstore"
)

// Unpack makes a workspace of a parcel, whose files come as a tar in the order in which they were packed. Nobody sees the workspace
// before all of it is there; after an error nothing of it is.
func (p *Post) Unpack(ctx context.Context, to Address, r io.Reader) (Unpacked, error) {
	ctx = sqldb.Patient(ctx, patience)
	u := &unpacking{Post: p, tar: tar.NewReader(r)}
	if err := u.reserve(ctx, to); err != nil {
		return Unpacked{}, err
	}
	if err := u.whileReserved(ctx, to, u.all); err != nil {
		return Unpacked{}, errors.Join(err, u.discard(ctx))
	}
	return u.done, nil
}

// unpacking is a parcel on its way in.
type unpacking struct {
	*Post
	done     Unpacked
	tar      *tar.Reader
	space    workspace.Workspace
	projects map[string]parcelled
	series   *project.Series
	of       string // the slug of the project whose series that is
	waiting  int    // files in it that are not committed
}

// reserve takes the address, as it is asked for, for what the parcel says of itself.
func (u *unpacking) reserve(ctx context.Context, to Address) error {
	about, err := u.about()
	if err != nil {
		return err
	}
	account, err := u.Account(ctx, to.Username)
	if err != nil {
		return err
	}
	u.Still.Lock()
	defer u.Still.Unlock()
	u.space, err = u.Spaces.Reserve(ctx, account, to.Username, to.Business, about.Name)
	return err
}

// renewEvery is how often the reservation is renewed.
const renewEvery = time.Minute

// whileReserved does something until it is done, or the address is not ours any more.
func (u *unpacking) whileReserved(ctx context.Context, to Address, do func(context.Context, Address) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var renewing sync.WaitGroup
	defer renewing.Wait()
	ended, space := make(chan struct{}), u.space
	defer close(ended)
	renewing.Go(func() {
		for tick := time.Tick(renewEvery); ; {
			select {
			case <-ended:
				return
			case <-tick:
			}
			if err := u.Spaces.Renew(ctx, space); err != nil {
				cancel(err)
				return
			}
		}
	})
	err := do(ctx, to)
	if err != nil && ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return err
}

func (u *unpacking) all(ctx context.Context, to Address) error {
	for {
		h, err := u.tar.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read parcel: %w", err)
		}
		if err := u.entry(ctx, h); err != nil {
			return err
		}
	}
	if err := u.settle(ctx); err != nil {
		return err
	}
	missing, err := sqlstore.SettleBlobs(ctx, u.DB, u.space.Scope)
	if err != nil {
		return err
	}
	if err := u.Spaces.Open(ctx, u.space, func(tx *sqldb.Tx) error { return sqlstore.Release(tx, u.space.Scope) }); err != nil {
		return err
	}
	u.Wake()
	u.done.Workspace, u.done.ID, u.done.Missing = to.String(), u.space.ID, missing
	u.space = workspace.Workspace{} // there is nothing to discard any more
	return nil
}

// about reads what comes first.
func (u *unpacking) about() (a About, err error) {
	h, err := u.tar.Next()
	if err != nil || h.Name != aboutFile {
		return a, errors.New("this is no export of a workspace")
	}
	if err := json.NewDecoder(io.LimitReader(u.tar, 64<<10)).Decode(&a); err != nil || a.Format < 1 {
		return a, errors.New("the export does not say what it holds")
	}
	if a.Format > Format {
		return a, fmt.Errorf("the export has format %d, and this svc reads up to %d: import it with a newer svc", a.Format, Format)
	}
	return a, nil
}

func (u *unpacking) entry(ctx context.Context, h *tar.Header) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// What is reserved for files is renewed by files alone.
	if !strings.HasPrefix(h.Name, filesFolder) {
		if err := u.settle(ctx); err != nil {
			return err
		}
	}
	scope := u.space.Scope
	switch name := h.Name; {
	case name == agentsFile:
		n, err := agent.ReadAll(ctx, u.DB, scope, u.tar)
		u.done.Agents += n
		return err
	case name == projectsFile:
		return u.makeProjects(ctx)
	case strings.HasPrefix(name, filesFolder):
		return u.file(ctx, strings.TrimPrefix(name, filesFolder))
	case strings.HasPrefix(name, streamsFolder):
		n, err := sqlstore.ReadStreams(ctx, u.DB, scope, u.tar)
		u.done.Streams += n
		return err
	case strings.HasPrefix(name, blobsFolder):
		return u.blob(ctx, strings.TrimPrefix(name, blobsFolder))
	}
	return fmt.Errorf("%q does not belong in an export", h.Name)
}

// operator is who an import is made by.
var operator = audit.Actor{Kind: audit.Operator}

func (u *unpacking) owner() project.Owner {
	return project.Owner{Workspace: u.space.ID, Scope: u.space.Scope}
}

func (u *unpacking) makeProjects(ctx context.Context) error {
	u.projects = map[string]parcelled{}
	err := jsonl.Each(u.tar, func(one parcelled, _ int64) error {
		if _, err := u.Projects.Create(ctx, operator, u.owner(), project.Draft{Slug: one.Slug, Name: one.Name, Description: one.Description}); err != nil {
			return fmt.Errorf("project %q: %w", one.Slug, err)
		}
		u.projects[one.Slug] = one
		u.done.Projects++
		return nil
	})
	if err != nil {
		return fmt.Errorf("read projects: %w", err)
	}
	return nil
}

// filesAtOnce is how many files are put in their places together.
const filesAtOnce = 100

func (u *unpacking) file(ctx context.Context, name string) error {
	slug, path, _ := strings.Cut(name, "/")
	if slug != u.of || u.series == nil {
		if err := u.begin(ctx, slug); err != nil {
			return err
		}
	}
	_, err := u.series.Write(ctx, path, "", func(w io.Writer) error {
		_, err := io.Copy(w, u.tar)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s of project %s: %w", path, slug, err)
	}
	u.done.Files++
	if u.waiting++; u.waiting < filesAtOnce {
		return nil
	}
	return u.commit(ctx)
}

// begin goes on with another project.
func (u *unpacking) begin(ctx context.Context, slug string) error {
	if err := u.settle(ctx); err != nil {
		return err
	}
	of, there := u.projects[slug]
	if !there {
		return fmt.Errorf("the export has files of project %q, and not the project", slug)
	}
	r, err := u.Projects.Get(ctx, u.owner(), slug)
	if err != nil {
		return err
	}
	u.series, err = u.Projects.Begin(ctx, operator, r, max(of.Bytes, 0))
	u.of = slug
	return err
}

func (u *unpacking) commit(ctx context.Context) error {
	u.waiting = 0
	outcomes, err := u.series.Commit(ctx)
	if err != nil {
		return err
	}
	return errors.Join(outcomes...)
}

// settle ends the files of a project.
func (u *unpacking) settle(ctx context.Context) (err error) {
	if u.series == nil {
		return nil
	}
	if u.waiting > 0 {
		err = u.commit(ctx)
	}
	u.series.Close(ctx)
	u.series = nil
	return err
}

// blob keeps the content of attachments. It comes behind the streams that name it.
func (u *unpacking) blob(ctx context.Context, hash string) error {
	b, err := sqlstore.PutBlob(ctx, u.DB, u.space.Scope, u.tar)
	if err != nil {
		return err
	}
	if b.SHA256 != hash {
		return fmt.Errorf("attachment %s is not what its name says", hash)
	}
	u.done.Attachments++
	return nil
}

// discard destroys what came so far, also when whoever asked has gone.
func (u *unpacking) discard(ctx context.Context) error {
	if u.space.ID == "" {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if u.series != nil {
		u.series.Close(ctx)
	}
	u.Still.Lock()
	defer u.Still.Unlock()
	return u.Spaces.Discard(ctx, u.space)
}
