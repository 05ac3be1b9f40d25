package project

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"svc.dev/svc/fault"
)

// checkFolders says whether everything above a path is a folder of its own, and no link. It is fs.ErrNotExist where one is
// missing.
func (f folder) checkFolders(path string) error {
	for _, above := range folders(path) {
		switch info, err := f.Lstat(above); {
		case errors.Is(err, syscall.ENOTDIR), err == nil && !info.IsDir():
			return notRegular()
		case err != nil:
			return err
		}
	}
	return nil
}

// see is what lies at a path, and nil where nothing does, or only by way of a link.
func (f folder) see(path string) (os.FileInfo, error) {
	err := f.checkFolders(path)
	var info os.FileInfo
	if err == nil {
		info, err = f.Lstat(path)
	}
	if errors.Is(err, fs.ErrNotExist) || fault.Is(err, fault.InvalidPath) {
		return nil, nil
	}
	return info, err
}

// regular opens a file for reading if it is a regular one with one name. A missing one is fs.ErrNotExist.
func (f folder) regular(path string) (*os.File, os.FileInfo, error) {
	if err := f.checkFolders(path); err != nil {
		return nil, nil, err
	}
	for range 10 {
		seen, err := f.Lstat(path)
		if err != nil {
			return nil, nil, err
		}
		if !isRegular(seen) {
			return nil, nil, notRegular()
		}
		// A pipe that took the file's place since then would make the open wait for a writer.
		file, err := f.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, nil, err
		}
		info, err := file.Stat()
		// Another file than the one seen was put there in between, or is found through a link that was.
		if err == nil && os.SameFile(seen, info) && info.Mode().IsRegular() {
			return file, info, nil
		}
		file.Close()
	}
	return nil, nil, busy()
}

// isRegular refuses what is no file, and a file that has another name: that one may lie anywhere.
func isRegular(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return info.Mode().IsRegular() && ok && stat.Nlink <= 1
}
