package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"sort"
)

// Extract writes the files of a chain into a folder, and makes them durable. It tells how many bytes are written. After an error
// the folder holds some of them.
func (c *Chain) Extract(ctx context.Context, folder string, tell func(written int64)) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("extract: %w", err)
	}
	defer root.Close()
	x := &extraction{Chain: c, root: root, tell: tell, open: none}
	if err := x.all(ctx); err != nil {
		return fmt.Errorf("extract: %w", err)
	}
	return nil
}

// none is the number of no file.
const none = -1

// extraction is an Extract under way.
type extraction struct {
	*Chain
	root    *os.Root
	tell    func(int64)
	written int64
	open    int64 // number of the file that is open
	file    *os.File
}

func (x *extraction) all(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, x.close()) }()
	for i := range x.files {
		if err := x.create(i); err != nil {
			return err
		}
	}
	if err := x.eachPart(ctx, x.place); err != nil {
		return err
	}
	return errors.Join(x.close(), x.settle())
}

// eachPart reads the archives again, and gives every part to place wherever it belongs.
func (c *Chain) eachPart(ctx context.Context, place func(at spot, part []byte) error) error {
	left := maps.Clone(c.places)
	for _, a := range c.archives {
		err := visit(a, Visitor{Part: func(sum Sum, part []byte) error {
			for _, at := range left[sum] {
				if err := place(at, part); err != nil {
					return err
				}
			}
			delete(left, sum)
			return ctx.Err()
		}})
		if err != nil {
			return err
		}
	}
	if len(left) > 0 {
		return damaged("%d parts were there before, and are not any more", len(left))
	}
	return nil
}

// create makes a file that is empty still.
func (x *extraction) create(i int) error {
	f := x.files[i]
	if err := x.root.MkdirAll(filepath.FromSlash(path.Dir(f.Path)), 0o700); err != nil {
		return err
	}
	file, err := x.root.OpenFile(filepath.FromSlash(f.Path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// place writes a part where it belongs.
func (x *extraction) place(at spot, part []byte) error {
	if err := x.use(int64(at.file)); err != nil {
		return err
	}
	if _, err := x.file.WriteAt(part, int64(at.part)*partBytes); err != nil {
		return err
	}
	x.written += int64(len(part))
	x.tell(x.written)
	return nil
}

// use opens a file to write to, unless it is open: parts of one mostly follow each other.
func (x *extraction) use(i int64) (err error) {
	if x.open == i {
		return nil
	}
	if err := x.close(); err != nil {
		return err
	}
	x.file, err = x.root.OpenFile(filepath.FromSlash(x.files[i].Path), os.O_WRONLY, 0)
	if err == nil {
		x.open = i
	}
	return err
}

func (x *extraction) close() error {
	if x.open == none {
		return nil
	}
	x.open = none
	return x.file.Close()
}

// settle gives every file its mode and time, and makes content and names durable.
func (x *extraction) settle() error {
	folders := map[string]bool{".": true}
	for _, f := range x.files {
		name := filepath.FromSlash(f.Path)
		if err := x.sync(name, os.O_RDWR); err != nil {
			return err
		}
		err := errors.Join(x.root.Chmod(name, fs.FileMode(f.Mode)&fs.ModePerm), x.root.Chtimes(name, f.Modified, f.Modified))
		if err != nil {
			return err
		}
		for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	for _, dir := range sorted(folders) {
		if err := x.sync(dir, os.O_RDONLY); err != nil {
			return err
		}
	}
	return nil
}

func (x *extraction) sync(name string, flag int) error {
	f, err := x.root.OpenFile(name, flag, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// sorted are folders, those below others first.
func sorted(folders map[string]bool) []string {
	all := make([]string, 0, len(folders))
	for dir := range folders {
		all = append(all, dir)
	}
	sort.Sort(sort.Reverse(sort.StringSlice(all)))
	return all
}
