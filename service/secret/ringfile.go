package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"svc.dev/svc/internal/sqldb"
)

const maxRingBytes = 1 << 20

// ReadRing reads a ring from a file that this process owns and nobody else may read. A missing file is fs.ErrNotExist in
// the error's chain.
func ReadRing(path string) (*Ring, error) {
	// A pipe would make opening wait for its other end.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read key ring: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read key ring: %w", err)
	}
	if err := private(info, os.Geteuid()); err != nil {
		return nil, fmt.Errorf("read key ring: %s %w", path, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRingBytes))
	defer clear(text)
	if err != nil {
		return nil, fmt.Errorf("read key ring: %w", err)
	}
	ring, err := ParseRing(text)
	if err != nil {
		return nil, fmt.Errorf("read key ring: %s: %w", path, err)
	}
	return ring, nil
}

// private refuses a file that others may read, or could have written.
func private(info fs.FileInfo, uid int) error {
	if !info.Mode().IsRegular() {
		return errors.New("is not a file")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("has mode %04o, it must be for its owner alone (0600): chmod 600 mends it", mode)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != uid {
		return errors.New("belongs to another user")
	}
	return nil
}

// WriteNew writes the ring to a file that must not exist, for its owner alone. The file is there whole and durable, or not
// at all; fs.ErrExist in the error's chain says that there is one.
func (r *Ring) WriteNew(path string) error {
	if err := r.write(path, os.Link); err != nil {
		return fmt.Errorf("write new key ring: %w", err)
	}
	return nil
}

// Replace writes the ring over the file of an older one, whole and durable or not at all.
func (r *Ring) Replace(path string) error {
	if err := r.write(path, os.Rename); err != nil {
		return fmt.Errorf("replace key ring: %w", err)
	}
	return nil
}

// write makes a file beside path and then gives it that name: half a ring would be a service that never starts again.
func (r *Ring) write(path string, name func(from, to string) error) error {
	fresh := fmt.Sprintf("%s.%x", path, randomBytes(8))
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(fresh)
	text := r.encode()
	defer clear(text)
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := name(fresh, path); err != nil {
		return err
	}
	_ = os.Remove(fresh) // the second name of a file that was linked
	return sqldb.SyncDir(filepath.Dir(path))
}
