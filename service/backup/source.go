package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/project"
	"svc.dev/svc/sqlstore"
)

// Config is where everything lies that a service keeps.
type Config struct {
	DB *sqldb.DB
	// Folder is the data folder.
	Folder string
	// Keys is the file of the key ring; empty: it was given otherwise, and is not in a backup.
	Keys string
	// Changing is held while the key ring changes.
	Changing sync.Locker
	// Projects are the files; nil: their folder is not there, and each that the index names is told as missing.
	Projects *project.Projects
	// KeepBlobs lets no attachment be swept until it is released. Defaults to nothing: nobody sweeps.
	KeepBlobs func() (release func())
	// Still is held while nothing that a backup may need is erased. Defaults to nothing: nobody erases.
	Still sync.Locker
	// Begin is told before anything leaves, for the audit log.
	Begin func(context.Context, Wish) error
	Log   *slog.Logger
}

// Source is what backups are made of. One is made at a time.
type Source struct {
	Config
	busy sync.Mutex
}

// New is the source of a service.
func New(c Config) *Source { return &Source{Config: c} }

// spool is the folder for the copy of the database, in the data folder.
const spool = "backup.tmp"

// Tidy removes what a backup has left that was killed.
func Tidy(folder string) error { return os.RemoveAll(filepath.Join(folder, spool)) }

// Stream writes everything as it was at one moment after the call, as a tar with notes. It ends with a report or an error, which
// is in the stream too.
func (s *Source) Stream(ctx context.Context, q Wish, w io.Writer) error {
	t := tar.NewWriter(w)
	err := s.stream(ctx, q, t)
	if err != nil {
		_ = WriteNote(t, Note{Error: err.Error()}) // whoever listens may have gone
	}
	return errors.Join(err, t.Close())
}

func (s *Source) stream(ctx context.Context, q Wish, t *tar.Writer) error {
	if !s.busy.TryLock() {
		return errors.New("another backup is being made: wait for its end")
	}
	defer s.busy.Unlock()
	if err := s.Begin(ctx, q); err != nil {
		return fmt.Errorf("note backup: %w", err)
	}
	release, err := s.hold()
	if err != nil {
		return err
	}
	defer release()
	f := &flow{Source: s, Wish: q, tar: t}
	defer f.close()
	if err := f.fix(ctx); err != nil {
		return err
	}
	return f.send(ctx)
}

// hold keeps what the copy will name.
func (s *Source) hold() (release func(), err error) {
	var all []func()
	release = func() {
		for _, one := range all {
			one()
		}
	}
	if s.Still != nil {
		s.Still.Lock()
		all = append(all, s.Still.Unlock)
	}
	if s.KeepBlobs != nil {
		all = append(all, s.KeepBlobs())
	}
	// Where other nodes change files too there is no one moment of them, and the index follows the disk.
	if s.Projects != nil && !s.DB.Shared() {
		let, err := s.Projects.Keep()
		if err != nil {
			release()
			return nil, err
		}
		all = append(all, let)
	}
	return release, nil
}

// flow is one backup on its way.
type flow struct {
	*Source
	Wish
	tar    *tar.Writer
	point  Point
	report Report
	keys   []byte
	audit  int64           // bytes of the checkpoints that are older than the point
	read   database.Reader // the state that is sent
	copy   *sqldb.Copy     // nil: on PostgreSQL
}

func (f *flow) close() {
	if f.copy != nil {
		_ = f.copy.Close()
		if err := Tidy(f.Folder); err != nil {
			f.Log.Warn("the copy of the database stays until the next backup", "error", err)
		}
	}
	clear(f.keys)
}

// fix takes the point in time. Checkpoints are measured before it: a later one would speak of events that the copy does not have.
// The key ring is read while nobody changes it, so that it opens all of the copy.
func (f *flow) fix(ctx context.Context) error {
	if stat, err := os.Stat(filepath.Join(f.Folder, auditFile)); err == nil {
		f.audit = stat.Size()
	}
	f.Changing.Lock()
	unlock := sync.OnceFunc(f.Changing.Unlock)
	defer unlock()
	if err := f.readKeys(); err != nil {
		return err
	}
	if f.DB.Shared() {
		f.point.At, f.point.Database, f.read = time.Now().UTC(), "postgres", f.DB
		return f.count(ctx)
	}
	if err := f.copyDatabase(ctx, unlock); err != nil {
		return err
	}
	return f.count(ctx)
}

func (f *flow) readKeys() (err error) {
	if f.NoKeys || f.Keys == "" {
		return nil
	}
	if f.keys, err = os.ReadFile(f.Keys); err != nil {
		return fmt.Errorf("read key ring: %w", err)
	}
	f.point.Keys = true
	return nil
}

// copyDatabase copies SQLite beside itself. What is sent is sent from there, however slowly it is taken, and the WAL does not grow
// meanwhile.
func (f *flow) copyDatabase(ctx context.Context, fixed func()) error {
	if err := Tidy(f.Folder); err != nil {
		return err
	}
	folder := filepath.Join(f.Folder, spool)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	size, err := f.DB.Bytes(ctx)
	if err != nil {
		return err
	}
	if err := NeedSpace(folder, size, "a backup copies the database beside itself"); err != nil {
		return errors.Join(err, Tidy(f.Folder))
	}
	to := filepath.Join(folder, databaseFile)
	// What was answered before this time was committed before the copy's moment.
	f.point.At, f.point.Database = time.Now().UTC(), "sqlite"
	news, end := f.tellCopied()
	err = f.DB.CopyTo(ctx, to, func(done, total int64) { fixed(); news(Copied{done, total}) })
	end()
	if err != nil {
		return errors.Join(err, Tidy(f.Folder))
	}
	f.copy, err = sqldb.OpenCopy(to)
	f.read = f.copy
	return err
}

// tellEvery is how often the copy tells how far it is.
const tellEvery = 200 * time.Millisecond

// tellCopied tells how far the copy is, beside it. The copy holds the WAL and waits for no reader: news that come while others are on
// their way are dropped. The tar is written by nobody else until end returns.
func (f *flow) tellCopied() (news func(Copied), end func()) {
	next := make(chan Copied, 1)
	var telling sync.WaitGroup
	telling.Go(func() {
		for c := range next {
			_ = WriteNote(f.tar, Note{Copied: &c}) // an error comes again with the next entry
		}
	})
	var told time.Time
	news = func(c Copied) {
		if time.Since(told) < tellEvery {
			return
		}
		select {
		case next <- c:
			told = time.Now()
		default:
		}
	}
	return news, func() { close(next); telling.Wait() }
}

// NeedSpace refuses what would fill the disk of a folder, and says why it is needed: then the service could not write any more.
func NeedSpace(folder string, size int64, why string) error {
	const spare = 64 << 20
	var on syscall.Statfs_t
	if err := syscall.Statfs(folder, &on); err != nil {
		return nil // it is not known, so it is tried
	}
	if free := int64(on.Bavail) * int64(on.Bsize); free < size+spare {
		return fmt.Errorf("%s, which takes %d MiB, and %d MiB are free: make room", why, (size+spare)>>20, free>>20)
	}
	return nil
}

// count finds out how much there is to send.
func (f *flow) count(ctx context.Context) (err error) {
	if f.point.Rooms, err = database.Versions(ctx, f.read); err != nil {
		return err
	}
	err = f.read.Read(ctx, func(tx *sqldb.Tx) (err error) {
		f.point.Bytes, err = project.StoredBytes(tx)
		return err
	})
	if err != nil || f.copy == nil {
		return err
	}
	stat, err := os.Stat(filepath.Join(f.Folder, spool, databaseFile))
	if err != nil {
		return err
	}
	f.point.Bytes += stat.Size()
	return sqlstore.EachBlobFile(ctx, f.copy, func(b sqlstore.BlobFile) error {
		f.point.Bytes += b.Size
		return nil
	})
}

// send writes all that there is.
func (f *flow) send(ctx context.Context) error {
	if err := WriteNote(f.tar, Note{Point: &f.point}); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{f.sendSmall, f.sendDatabase, f.sendBlobs, f.sendFiles} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return WriteNote(f.tar, Note{Report: &f.report})
}

func (f *flow) sendSmall(context.Context) error {
	if f.keys != nil {
		if err := WriteEntry(f.tar, keysFile, int64(len(f.keys)), time.Now(), bytes.NewReader(f.keys)); err != nil {
			return err
		}
	}
	if !f.NoKeys {
		if err := f.sendPath(configFile, filepath.Join(f.Folder, configFile), whole); err != nil {
			return err
		}
	}
	if f.audit == 0 {
		return nil
	}
	return f.sendPath(auditFile, filepath.Join(f.Folder, auditFile), f.audit)
}

func (f *flow) sendDatabase(context.Context) error {
	if f.copy == nil {
		return nil
	}
	return f.sendPath(databaseFile, filepath.Join(f.Folder, spool, databaseFile), whole)
}

func (f *flow) sendBlobs(ctx context.Context) error {
	if f.copy == nil {
		return nil
	}
	return sqlstore.EachBlobFile(ctx, f.copy, func(b sqlstore.BlobFile) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		file, err := os.Open(f.DB.Folder().Path(b.Path))
		if errors.Is(err, fs.ErrNotExist) {
			f.miss(b.Path)
			return nil
		}
		if err != nil {
			return err
		}
		return f.sendFile(filepath.ToSlash(b.Path), file, b.Size)
	})
}

// filesAtOnce is how many files of the index are read in one go.
const filesAtOnce = 500

func (f *flow) sendFiles(ctx context.Context) error {
	for last := (project.Stored{}); ; {
		var some []project.Stored
		err := f.read.Read(ctx, func(tx *sqldb.Tx) (err error) {
			some, err = project.StoredAfter(tx, last, filesAtOnce)
			return err
		})
		if err != nil || len(some) == 0 {
			return err
		}
		for _, last = range some {
			if err := f.sendStored(ctx, last); err != nil {
				return err
			}
		}
	}
}

func (f *flow) sendStored(ctx context.Context, s project.Stored) error {
	place, err := s.Place()
	if err != nil {
		return err
	}
	if f.Projects == nil {
		f.miss(path.Join(filesFolder, place))
		return nil
	}
	file, as, err := s.Find(ctx, f.Projects)
	if errors.Is(err, fs.ErrNotExist) {
		f.miss(path.Join(filesFolder, place))
		return nil
	}
	if err != nil || file == nil {
		return err // it was being deleted
	}
	if as == project.AsChanged {
		f.report.Changed++
	}
	return f.sendFile(path.Join(filesFolder, place), file, whole)
}

// mostNamed is how many files are named that are missing.
const mostNamed = 100

func (f *flow) miss(name string) {
	if f.report.Misses++; f.report.Misses <= mostNamed {
		f.report.Missing = append(f.report.Missing, name)
	}
}

// whole is the size of a file as it is.
const whole = -1

// sendPath sends a file that may not be there.
func (f *flow) sendPath(name, at string, size int64) error {
	file, err := os.Open(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.sendFile(name, file, size)
}

// sendFile sends a file and closes it.
func (f *flow) sendFile(name string, file *os.File, size int64) error {
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return err
	}
	if stat.Size() < size {
		f.report.Changed++
	}
	if size == whole || stat.Size() < size {
		size = stat.Size()
	}
	return WriteEntry(f.tar, name, size, stat.ModTime(), file)
}
