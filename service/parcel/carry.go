package parcel

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"svc.dev/svc/internal/archive"
	"svc.dev/svc/service/backup"
)

// Carry reads an archive whole, and then gives what it holds to deliver, in the form that Unpack reads. An archive that is cut off
// or changed is refused before anything is delivered. What it holds waits in folder meanwhile, under no name; an empty folder is
// the system's own for such things.
func Carry(ctx context.Context, a archive.Opener, folder string, tell func(backup.Restoring), deliver func(io.Reader) error) error {
	chain, err := archive.Prove(ctx, []archive.Opener{a}, func(read int64) { tell(backup.Restoring{Proving: true, Done: read}) })
	if err != nil {
		return err
	}
	var held backup.Point
	if err := json.Unmarshal(chain.About, &held); err != nil || held.Database != Kind {
		return errors.New("the archive is not of a workspace: a backup of a service is restored with svc restore")
	}
	spool, err := newSpool(folder)
	if err != nil {
		return err
	}
	defer spool.Close()
	if err := backup.NeedSpace(filepath.Dir(spool.Name()), chain.Bytes, "an import unpacks the archive first"); err != nil {
		return err
	}
	files, err := chain.Spool(ctx, spool, func(n int64) { tell(backup.Restoring{Done: n, Of: chain.Bytes}) })
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		w.CloseWithError(load(files, w))
	}()
	err = deliver(r)
	r.CloseWithError(io.ErrClosedPipe)
	<-loaded // the spool is closed
	return err
}

// newSpool is a file without a name, so that it is gone whatever happens: it holds what people keep to themselves. Its owner closes it.
func newSpool(folder string) (*os.File, error) {
	f, err := os.CreateTemp(folder, "parcel-") // made with 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// load writes files as a tar.
func load(files []archive.Spooled, w io.Writer) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		if err := backup.WriteEntry(t, f.Path, f.Bytes, time.Time{}, f); err != nil {
			return err
		}
	}
	return t.Close()
}
