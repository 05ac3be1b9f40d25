package audit

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"svc.dev/svc/internal/sqldb"
)

// sinkFile is the name of the checkpoints in their folder.
const sinkFile = "checkpoints.jsonl"

// sink is the file of checkpoints, one a line. Lines are only added; a last line without its end was torn by a crash and
// is none.
type sink struct{ folder string }

func (s sink) path() string { return filepath.Join(s.folder, sinkFile) }

// open makes the folder and the file, for their owner alone.
func (s sink) open() (*os.File, error) {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(s.path(), os.O_RDWR, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if f, err = os.OpenFile(s.path(), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := sqldb.SyncDir(s.folder); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// add makes a line durable behind the last one. It is composed to follow that one, or nil.
func (s sink) add(compose func(last []byte) []byte) (err error) {
	f, err := s.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	last, end, err := lastLine(f)
	if err != nil {
		return err
	}
	if err := f.Truncate(end); err != nil {
		return err
	}
	if _, err := f.WriteAt(append(compose(last), '\n'), end); err != nil {
		return errors.Join(err, f.Truncate(end))
	}
	return f.Sync()
}

// lastLine is the last whole line, and the offset of its end. It reads backwards.
func lastLine(f *os.File) (line []byte, end int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	var tail []byte
	for at := info.Size(); at > 0; {
		n := min(at, 1<<20)
		at -= n
		piece := make([]byte, n, int(n)+len(tail))
		if _, err := f.ReadAt(piece, at); err != nil {
			return nil, 0, err
		}
		tail = append(piece, tail...)
		stop := bytes.LastIndexByte(tail, '\n')
		if stop < 0 {
			continue
		}
		begin := bytes.LastIndexByte(tail[:stop], '\n')
		if begin >= 0 || at == 0 {
			return tail[begin+1 : stop], at + int64(stop) + 1, nil
		}
	}
	return nil, 0, nil
}
