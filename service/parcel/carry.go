package parcel

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"svc.dev/svc/internal/archive"
	"svc.dev/svc/service/backup"
)

// Carry reads an archive whole, and then gives what it holds to deliver, in the form that Unpack reads. An archive that is cut off
// or changed is refused before anything is delivered.
func Carry(ctx context.Context, a archive.Opener, tell func(backup.Restoring), deliver func(io.Reader) error) (err error) {
	chain, err := archive.Prove(ctx, []archive.Opener{a}, func(read int64) { tell(backup.Restoring{Proving: true, Done: read}) })
	if err != nil {
		return err
	}
	var held backup.Point
	if err := json.Unmarshal(chain.About, &held); err != nil || held.Database != Kind {
		return errors.New("the archive is not of a workspace: a backup of a service is restored with svc restore")
	}
	folder, err := os.MkdirTemp("", "svc-import-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := chain.Extract(ctx, folder, func(n int64) { tell(backup.Restoring{Done: n, Of: chain.Bytes}) }); err != nil {
		return err
	}
	r, w := io.Pipe()
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		w.CloseWithError(load(folder, w))
	}()
	err = deliver(r)
	r.CloseWithError(io.ErrClosedPipe)
	<-loaded // the folder is removed
	return err
}

// load writes a folder as a tar, in the order of a parcel.
func load(folder string, w io.Writer) error {
	t := tar.NewWriter(w)
	for _, part := range []string{aboutFile, agentsFile, projectsFile, filesFolder, streamsFolder, blobsFolder} {
		err := filepath.WalkDir(filepath.Join(folder, filepath.FromSlash(part)), func(path string, at fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a workspace may have none
			}
			if err != nil || at.IsDir() {
				return err
			}
			return loadFile(t, strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(path, folder)), "/"), path)
		})
		if err != nil {
			return err
		}
	}
	return t.Close()
}

func loadFile(t *tar.Writer, name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	return backup.WriteEntry(t, name, stat.Size(), time.Time{}, f)
}
