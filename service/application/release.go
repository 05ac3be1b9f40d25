package application

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// keptReleases is how many releases have their files kept: this one, and the one before it.
const keptReleases = 2

// keep copies the files of this release to the data folder, lists those of the release before, and drops what is older.
func (a *Application) keep() error {
	if a.config.Folder == "" {
		return nil
	}
	if err := os.MkdirAll(a.config.Folder, 0o700); err != nil {
		return err
	}
	if err := a.store(); err != nil {
		return err
	}
	releases, err := a.releases()
	if err != nil {
		return err
	}
	for i, release := range releases {
		folder := filepath.Join(a.config.Folder, release)
		if i >= keptReleases {
			err = errors.Join(err, os.RemoveAll(folder))
			continue
		}
		files, broken := os.ReadDir(folder)
		err = errors.Join(err, broken)
		for _, file := range files {
			if file.Type().IsRegular() {
				a.add(os.DirFS(folder), file.Name())
			}
		}
	}
	return err
}

// unfinished marks the folder of a release that is being copied. One that a crash left behind is the oldest of all.
const unfinished = ".part"

// store copies the files of this release beside those of others. They are there all at once, or not at all.
func (a *Application) store() error {
	folder := filepath.Join(a.config.Folder, a.build)
	now := time.Now()
	if err := os.Chtimes(folder, now, now); err == nil {
		return nil // it was started before, and is the newest again
	}
	part := folder + unfinished
	if err := errors.Join(os.RemoveAll(part), os.Mkdir(part, 0o700)); err != nil {
		return err
	}
	files, err := fs.ReadDir(a.config.Built, "assets")
	for _, file := range files {
		if err == nil && !file.IsDir() {
			err = copyTo(part, a.config.Built, file.Name())
		}
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	return os.Rename(part, folder)
}

func copyTo(folder string, from fs.FS, name string) error {
	body, err := fs.ReadFile(from, "assets/"+name)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), body, 0o600)
}

// releases are the folders of releases, the one that was started last first.
func (a *Application) releases() ([]string, error) {
	entries, err := os.ReadDir(a.config.Folder)
	if err != nil {
		return nil, err
	}
	started := map[string]time.Time{}
	var names []string
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() {
			continue
		}
		names = append(names, entry.Name())
		if !strings.HasSuffix(entry.Name(), unfinished) {
			started[entry.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(names, func(a, b string) int { return started[b].Compare(started[a]) })
	return names, nil
}
