package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lookAtBackup judges how old the newest backup is, where somebody said where backups are kept.
func (d *doctor) lookAtBackup() {
	if d.config.BackupPath != "" {
		d.add("backup", d.judgeBackup(d.config.BackupPath))
	}
}

func (d *doctor) judgeBackup(path string) Finding {
	const mend = "svc backup, by a timer each day; or let backup.path name where backups are kept"
	newest, at, err := newestBackup(path)
	if err != nil {
		return fail(err.Error(), "let backup.path name a file or folder that this user can read")
	}
	if newest == "" {
		return fail("there is no backup in "+path, mend)
	}
	text := fmt.Sprintf("%s was written %s ago", newest, d.now().Sub(at).Round(time.Second))
	if d.now().Sub(at) > d.config.BackupMaxAge {
		return fail(fmt.Sprintf("%s; backup.max_age is %s", text, d.config.BackupMaxAge), mend)
	}
	return fine(text)
}

// newestBackup is the youngest backup at a path, itself or in it; empty: there is none. One that is still being written is none.
func newestBackup(path string) (newest string, at time.Time, err error) {
	stat, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", at, nil
	}
	if err != nil {
		return "", at, err
	}
	if !stat.IsDir() {
		return path, stat.ModTime(), nil
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		info, gone := e.Info()
		if gone == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), ".backup") && info.ModTime().After(at) {
			newest, at = filepath.Join(path, e.Name()), info.ModTime()
		}
	}
	return newest, at, err
}
