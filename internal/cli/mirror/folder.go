package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Folder is a folder of this machine. Nothing outside of it is ever read, whatever a link in it says.
type Folder struct {
	root    *os.Root
	exclude []string
}

// OpenFolder opens a folder. What an exclude names, by a pattern for its path or for its last name, is as if it were not there.
func OpenFolder(name string, exclude []string) (*Folder, error) {
	for _, pattern := range exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("exclude %q: it is no pattern", pattern)
		}
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Folder{root, exclude}, nil
}

// Close ends it.
func (f *Folder) Close() error { return f.root.Close() }

// Excluded reports whether a path, or a folder above it, is as if it were not there.
func (f *Folder) Excluded(name string) bool {
	for _, one := range append(foldersOf(name), name) {
		for _, pattern := range f.exclude {
			whole, _ := path.Match(pattern, one)
			last, _ := path.Match(pattern, path.Base(one))
			if whole || last {
				return true
			}
		}
	}
	return false
}

// OddError names what is neither a file nor a folder.
type OddError struct{ Paths []string }

func (e *OddError) Error() string {
	shown, more := e.Paths, ""
	if len(shown) > 5 {
		shown, more = shown[:5], fmt.Sprintf(" and %d more", len(e.Paths)-5)
	}
	return "links and what else is no file are not sent: " + strings.Join(shown, ", ") + more + " (use --exclude)"
}

// Files are all files of the folder. Where one is a link, a device or a pipe there are none: what it stands for may be anywhere.
func (f *Folder) Files(ctx context.Context) (all []Local, err error) {
	var odd []string
	err = fs.WalkDir(f.root.FS(), ".", func(name string, at fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case name == ".":
			return nil
		case f.Excluded(name) && at.IsDir():
			return fs.SkipDir
		case f.Excluded(name), at.IsDir():
			return nil
		case !at.Type().IsRegular():
			odd = append(odd, name)
			return nil
		}
		info, err := at.Info()
		if err != nil {
			return err
		}
		all = append(all, Local{name, info.Size(), func() (string, error) { return f.sum(ctx, name) }})
		return nil
	})
	if len(odd) > 0 {
		return nil, &OddError{odd}
	}
	return all, err
}

// errOdd says that a path has become something else than a file since it was listed.
var errOdd = errors.New("it is no longer a file")

// Open opens a file, and no link.
func (f *Folder) Open(name string) (*os.File, fs.FileInfo, error) {
	seen, err := f.root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s: %w", name, errOdd)
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(seen, info) {
		err = fmt.Errorf("%s: %w", name, errOdd)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// sum is the etag of a file.
func (f *Folder) sum(ctx context.Context, name string) (string, error) {
	file, _, err := f.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return ETag(cancellable{ctx, file})
}

// ETag is that of a content as the service gives them out.
func ETag(content io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, content); err != nil {
		return "", err
	}
	return strconv.Quote(hex.EncodeToString(hash.Sum(nil))), nil
}

// cancellable ends with its context.
type cancellable struct {
	ctx  context.Context
	from io.Reader
}

func (r cancellable) Read(into []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(into)
}
