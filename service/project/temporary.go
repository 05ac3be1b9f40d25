package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"time"

	"svc.dev/svc/service/storage"
)

// tempName is the name of an operation's temporary file, or of the folder of several.
func tempName(op string) string { return tempPrefix + op }

// temporary is a file that is not there yet: it grows under a name that nobody can ask for.
type temporary struct {
	folder folder
	name   string
	file   *os.File
	sum    hash.Hash
	bytes  int64
}

func (f folder) temporary(name string) (*temporary, error) {
	file, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, NotFound() // the folder went with its project
	}
	if err != nil {
		return nil, fmt.Errorf("make temporary file: %w", err)
	}
	return &temporary{folder: f, name: name, file: file, sum: sha256.New()}, nil
}

func (t *temporary) Write(data []byte) (int, error) {
	n, err := t.file.Write(data)
	t.sum.Write(data[:n])
	t.bytes += int64(n)
	if err != nil {
		return n, fmt.Errorf("write temporary file: %w", err)
	}
	return n, nil
}

// complete makes the content durable and closes the file. The change it gives makes it the file at the path.
func (t *temporary) complete(path string, now time.Time) (c change, err error) {
	defer t.file.Close()
	// The nanoseconds make the time a mark of this content: that of the last write may be shared by the next file.
	mark := now.Truncate(time.Millisecond).Add(time.Duration(rand.IntN(1_000_000)))
	err = t.folder.Chtimes(t.name, mark, mark)
	if errors.Is(err, fs.ErrNotExist) {
		return c, storage.TakenBack() // it was swept
	}
	if err != nil {
		return c, fmt.Errorf("mark temporary file: %w", err)
	}
	if err := t.file.Sync(); err != nil {
		return c, fmt.Errorf("sync temporary file: %w", err)
	}
	info, err := t.file.Stat()
	if err != nil {
		return c, fmt.Errorf("look at temporary file: %w", err)
	}
	return change{
		path: path, kind: write, other: t.name, bytes: t.bytes,
		etag: hex.EncodeToString(t.sum.Sum(nil)), mtime: info.ModTime().UnixNano(),
	}, nil
}

// clean deletes the temporary files of an operation. A folder that is not there holds none.
func (f folder) clean(op string) error {
	if f.Root == nil {
		return nil
	}
	if err := f.RemoveAll(tempName(op)); err != nil {
		return fmt.Errorf("delete temporary files: %w", err)
	}
	return nil
}

// hashOf is the etag of what a reader holds.
func hashOf(r io.Reader) (string, int64, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, r)
	return hex.EncodeToString(sum.Sum(nil)), n, err
}
