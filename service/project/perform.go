package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"syscall"
)

// perform does to the disk what a change says, by one rename or one unlink, and adds the folders whose names changed. An
// error says that nothing was done.
func (f folder) perform(c change, dirs map[string]bool) error {
	switch c.kind {
	case write:
		return f.place(c.other, c.path, dirs)
	case remove:
		return f.unlink(c.path, dirs)
	case move:
		return f.rename(c.path, c.other, dirs)
	}
	return nil
}

// place puts a temporary file where it belongs, over the file that is there.
func (f folder) place(temp, to string, dirs map[string]bool) error {
	info, err := f.see(to)
	switch {
	case err != nil:
		return clash(err)
	case info != nil && info.IsDir():
		return nameTaken("A file cannot be a folder too.")
	case info != nil && !info.Mode().IsRegular():
		return notRegular()
	case info != nil:
		f.keep(to, info)
	}
	return f.bring(temp, to, dirs)
}

// bring renames, and makes the folders for it; one that is deleted meanwhile, for it was empty, is made again.
func (f folder) bring(from, to string, dirs map[string]bool) error {
	for n := 1; ; n++ {
		made, err := f.makeFolders(to)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return clash(err)
		}
		if err == nil {
			if err = f.Rename(from, to); err == nil {
				for dir := range made {
					dirs[dir] = true
				}
				dirs[path.Dir(to)] = true
				return nil
			}
		}
		if _, gone := f.Lstat(from); errors.Is(gone, fs.ErrNotExist) || n == 10 {
			return busy() // others took it away, or make and delete the folder all the time
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return clash(err)
		}
	}
}

// clash says in our words what the file system has against a name.
func clash(err error) error {
	for _, known := range []error{errNotFolder, fs.ErrExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENOTEMPTY} {
		if errors.Is(err, known) {
			return nameTaken("A file cannot be a folder too.")
		}
	}
	if errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EILSEQ) {
		return invalidPath("The file system takes no such name.")
	}
	return err
}

// unlink deletes a file. One that is not there is deleted already, and a folder is not the file.
func (f folder) unlink(name string, dirs map[string]bool) error {
	info, err := f.see(name)
	if err != nil || info == nil || info.IsDir() {
		return err
	}
	f.keep(name, info)
	if err := f.Remove(name); err != nil {
		return ignoreMissing(err)
	}
	dirs[path.Dir(name)] = true
	f.prune(name)
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// rename moves a regular file to a name that nothing has.
func (f folder) rename(from, to string, dirs map[string]bool) error {
	info, err := f.see(from)
	switch {
	case err != nil:
		return err
	case info == nil:
		return NotFound()
	case !isRegular(info):
		return notRegular()
	}
	if there, err := f.see(to); err != nil || there != nil {
		return cmp.Or(clash(err), nameTaken("There is something of that name."))
	}
	if err := f.bring(from, to, dirs); err != nil {
		return err
	}
	dirs[path.Dir(from)] = true
	f.prune(from)
	return nil
}

// makeFolders makes what is missing above a path and says which folders have a new entry, to be synced.
func (f folder) makeFolders(path string) (changed map[string]bool, err error) {
	changed = map[string]bool{}
	at := "."
	for _, above := range folders(path) {
		err := f.Mkdir(above, 0o700)
		switch {
		case err == nil:
			changed[at] = true
		case errors.Is(err, fs.ErrExist):
			if info, err := f.Lstat(above); err != nil {
				return nil, err
			} else if !info.IsDir() {
				return nil, errNotFolder
			}
		default:
			return nil, err
		}
		at = above
	}
	return changed, nil
}

// prune deletes the folders above a path that are empty now. One that is not, or that somebody just fills, stays.
func (f folder) prune(path string) {
	for _, above := range slices.Backward(folders(path)) {
		// Remove would delete a file of that name too, were it there.
		if info, err := f.Lstat(above); err != nil || !info.IsDir() || f.Remove(above) != nil {
			return
		}
	}
}

// sync makes the names in these folders durable.
func (f folder) sync(folders map[string]bool) error {
	for name := range folders {
		dir, err := f.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // pruned since, with what it held
		}
		if err != nil {
			return fmt.Errorf("sync folder: %w", err)
		}
		err = dir.Sync()
		dir.Close()
		if err != nil {
			return fmt.Errorf("sync folder: %w", err)
		}
	}
	return nil
}
