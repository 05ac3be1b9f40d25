package sqldb

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Folder is a data folder held by this process: the system's lock on its file "lock" ends with the process.
type Folder struct {
	path string
	mu   sync.Mutex
	lock *os.File
}

// HeldError says that a folder, or a database file, belongs to another process, or to another handle of this one.
type HeldError struct {
	Path string
	PID  int // of the holder; 0 when it did not say
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held by process %d", e.Path, e.PID)
}

// LooseError says that others may change what lies in a folder: take its lock away, or put a database in its place.
type LooseError struct {
	Path string
	Mode fs.FileMode
}

func (e *LooseError) Error() string {
	return fmt.Sprintf("others may change %s (mode %04o): %s", e.Path, e.Mode.Perm(), e.Mend())
}

// Mend is what helps. A folder that everybody shares by intent is left to them.
func (e *LooseError) Mend() string {
	if e.Mode&fs.ModeSticky != 0 {
		return "choose a folder of its own"
	}
	return "chmod 700 " + e.Path
}

// Restoring is the name of the file that marks a folder which a backup is being restored to. Without it the folder is whole.
const Restoring = "restoring"

// UnfinishedError says that a restore into a folder was not finished, so that what lies there is a part.
type UnfinishedError struct{ Path string }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("a restore into %s is not finished: let it end; if it was stopped, remove the folder and restore again", e.Path)
}

// refuseUnfinished refuses a folder that is marked.
func refuseUnfinished(folder string) error {
	_, err := os.Lstat(filepath.Join(folder, Restoring))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = &UnfinishedError{folder}
	}
	return err
}

// OpenFolder makes the folder for its owner alone if there is none, and holds it. When it is held already, the
// error is a *HeldError with the pid of the holder; when others may change it, a *LooseError.
func OpenFolder(path string) (*Folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	if err := refuseLoose(path); err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	if err := refuseUnfinished(path); err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	lock, err := takeLock(path)
	if err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	return &Folder{path: path, lock: lock}, nil
}

func refuseLoose(folder string) error {
	stat, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if stat.Mode().Perm()&0o022 != 0 {
		return &LooseError{Path: folder, Mode: stat.Mode()}
	}
	return nil
}

func takeLock(folder string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = &HeldError{Path: folder, PID: readPID(f)}
	}
	if err == nil {
		err = writePID(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readPID waits a moment for a holder that has just taken the lock.
func readPID(f *os.File) int {
	for range 10 {
		b := make([]byte, 32)
		n, _ := f.ReadAt(b, 0)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n]))); err == nil {
			return pid
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

// Path joins elements to the folder's absolute path.
func (f *Folder) Path(elem ...string) string {
	return filepath.Join(append([]string{f.path}, elem...)...)
}

// Node is the id of this node, made on first use and the same ever after.
func (f *Folder) Node() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := os.ReadFile(f.Path("node"))
	if id := strings.TrimSpace(string(b)); err == nil && id != "" {
		return id, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read node id: %w", err)
	}
	id := "node_" + randomHex()
	if err := f.replace("node", id+"\n"); err != nil {
		return "", fmt.Errorf("write node id: %w", err)
	}
	return id, nil
}

// replace writes a file whole and durable, or not at all.
func (f *Folder) replace(name, text string) error {
	fresh := f.Path(name + ".new")
	file, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(fresh, f.Path(name)); err != nil {
		return err
	}
	return SyncDir(f.path)
}

// Close lets the folder go. A second Close does nothing.
func (f *Folder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lock == nil {
		return nil
	}
	// The pid goes before the lock, so that it is never a stale one after an orderly end.
	err := errors.Join(f.lock.Truncate(0), f.lock.Close())
	f.lock = nil
	return err
}

func randomHex() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
