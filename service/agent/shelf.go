package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
)

const (
	// glance is how often the folder is looked at: a change, which two looks have to find alike, is live within a second, on a machine
	// that is busy too.
	glance = 150 * time.Millisecond
	// recount is how often nodes compare the numbers of what they read.
	recount = time.Second
	// maxFiles is how many files are looked at, and batch how many are taken by one transaction.
	maxFiles = 5000
	batch    = 100
	suffix   = ".md"
)

// shelf is the agents of the folder, as they were read last.
type shelf struct {
	mu     sync.RWMutex
	files  map[string]*file // by name
	absent string           // why the folder cannot be read, once that was said

	// What follows belongs to the goroutine that looks.
	seen    map[string]stamp  // by name too, what could not be read among them
	glanced map[string]stamp  // what the last look found; nil: there was none
	told    map[string]string // why files cannot be opened, as it was said
	circles map[string]bool   // names of files that ask each other for ever
	agreed  time.Time         // its numbers were compared with those of other nodes
}

// file is an agent that stands in a file.
type file struct {
	Definition
	number  int64 // of its version, which the database counts for all nodes
	changed time.Time
}

// stamp is by what a file that has changed is known.
type stamp struct {
	changed time.Time
	bytes   int64
}

// unopened is that of a file which the system does not give at the moment.
var unopened = stamp{bytes: -1}

func (s *shelf) find(name string) *file {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.files[name]
}

// all are the agents by name.
func (s *shelf) all() (all []*file) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		all = append(all, s.files[name])
	}
	return all
}

func (f *file) shown() Agent {
	return Agent{Instructions: f.Instructions, OutputSchema: f.OutputSchema, Listed: Listed{
		Name: f.Name, Settings: f.Settings, Enabled: true, Source: File, Version: f.number, CreatedAt: iso.At(f.changed), UpdatedAt: iso.At(f.changed),
	}}
}

// Load reads the folder, if there is one to be read. A file that is no agent is told, one line each; the folder that cannot be read is
// an error.
func (a *Agents) Load(ctx context.Context) error {
	if a.Folder == "" {
		return nil
	}
	return a.look(ctx)
}

// Wrong is a file that is no agent, and why.
type Wrong struct{ File, Why string }

// Examine reads the folder as a node that starts does, and keeps nothing: how many files are agents, and which are none. It needs no
// database.
func Examine(ctx context.Context, c Config) (agents int, wrong []Wrong, err error) {
	a := &Agents{Config: c}
	found, err := stamps(c.Folder)
	if err != nil {
		return 0, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		_, err := a.readFile(ctx, name)
		switch {
		case err == nil:
			agents++
		case asFault(err) == nil:
			return agents, wrong, err
		default:
			wrong = append(wrong, Wrong{name + suffix, explained(err)})
		}
	}
	return agents, wrong, nil
}

// Watch reads what changes in the folder, until ctx ends. An agent whose file got wrong stays as it was when it was right.
func (a *Agents) Watch(ctx context.Context) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for a.Folder != "" {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := a.look(ctx)
		if why := fmt.Sprint(err); err != nil && ctx.Err() == nil && a.shelf.absent != why {
			a.Log.Error("agents cannot be read, they stay as they were", "error", err)
			a.shelf.absent = why
		}
		if err == nil {
			a.shelf.absent = ""
		}
	}
	<-ctx.Done()
	return nil
}

// look reads the files that are new or changed, and forgets those that are gone. One goroutine looks at a time.
func (a *Agents) look(ctx context.Context) error {
	found, err := stamps(a.Folder)
	if err != nil {
		return fmt.Errorf("agents_dir: %w", err)
	}
	a.shelf.keep(found)
	defer func() { a.shelf.glanced = found }()
	for news := false; ; news = true {
		r, err := a.readFiles(ctx, found)
		if err != nil {
			return err
		}
		switch none := len(r.well)+len(r.wrong) == 0; {
		case none && news:
			return nil
		case none:
			return a.agree(ctx)
		}
		if err := a.take(ctx, r); err != nil {
			return err // they are read again
		}
	}
}

// take puts an intake on the shelf.
func (a *Agents) take(ctx context.Context, r *intake) error {
	up, err := a.number(ctx, r)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.wrong)) {
		a.Log.Error("this file is no agent", "file", filepath.Join(a.Folder, name+suffix), "error", explained(r.wrong[name]))
	}
	a.shelf.put(up)
	a.shelf.remember(r)
	return nil
}

// readFiles reads files that are not known as they are, a batch at most. One that has changed since the last look may be half written:
// it is left to the next.
func (a *Agents) readFiles(ctx context.Context, found map[string]stamp) (*intake, error) {
	r := &intake{found: found, wrong: map[string]error{}, circles: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if len(r.well)+len(r.wrong) == batch {
			break
		}
		if a.shelf.seen[name] == found[name] || a.shelf.glanced != nil && a.shelf.glanced[name] != found[name] {
			continue
		}
		d, err := a.readFile(ctx, name)
		switch {
		case err == nil:
			r.well = append(r.well, d)
		case errors.Is(err, os.ErrNotExist): // it went between two looks
		case asFault(err) == nil:
			return nil, err // it is read again
		case err.Error() != a.shelf.told[name]:
			r.wrong[name] = err
		}
	}
	return r, nil
}

// keep forgets what is gone.
func (s *shelf) keep(found map[string]stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.seen {
		if _, there := found[name]; !there {
			delete(s.seen, name)
			delete(s.told, name)
			delete(s.files, name)
			s.suspect()
		}
	}
}

func (s *shelf) put(up []*file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range up {
		s.files[f.Name] = f
	}
}

// remember keeps what was read from being read again before it changes.
func (s *shelf) remember(r *intake) {
	if len(r.well) > len(r.circles) {
		s.suspect()
	}
	for _, d := range r.well {
		s.seen[d.Name] = r.found[d.Name]
		delete(s.told, d.Name)
	}
	for name, err := range r.wrong {
		s.seen[name] = r.found[name]
		delete(s.told, name)
		if _, closed := errors.AsType[*fs.PathError](err); closed {
			s.seen[name], s.told[name] = unopened, err.Error() // it is tried again, and told when that says something else
		}
	}
	maps.Copy(s.circles, r.circles)
}

// suspect lets files be read again that were in a circle: another has changed.
func (s *shelf) suspect() {
	for name := range s.circles {
		if _, seen := s.seen[name]; seen {
			s.seen[name] = stamp{}
		}
	}
	clear(s.circles)
}

// stamps are the files of a folder by the names of their agents.
func stamps(folder string) (map[string]stamp, error) {
	dir, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) == maxFiles {
		return nil, fmt.Errorf("there are %d files or more in %s", maxFiles, folder)
	}
	found := map[string]stamp{}
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), suffix)
		if !is || strings.HasPrefix(name, ".") {
			continue
		}
		// A link to a file is a file: operators mount folders of links.
		info, err := os.Stat(filepath.Join(folder, e.Name()))
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			found[name] = unopened // that it cannot be asked for does not mean that it is gone
		case err == nil && info.Mode().IsRegular():
			found[name] = stamp{info.ModTime(), info.Size()}
		}
	}
	return found, nil
}

// readFile is the agent of a file. That it is none is a fault.
func (a *Agents) readFile(ctx context.Context, name string) (Definition, error) {
	in, err := os.Open(filepath.Join(a.Folder, name+suffix))
	if err != nil {
		return Definition{}, shut(err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	if err != nil {
		return Definition{}, shut(err)
	}
	d, err := Parse(name, text)
	if err != nil {
		return d, err
	}
	return d, a.check(ctx, "", d)
}

// shut is the fault of a file that the system does not give. One that is not there is no fault.
func shut(err error) error {
	e, _ := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(err, os.ErrNotExist) || e == nil:
		return err
	case errors.Is(err, os.ErrPermission):
		return asFault(malformed("this user may not read it.")).Because(err)
	}
	return asFault(malformed("it cannot be read: " + e.Err.Error() + ".")).Because(err)
}

func asFault(err error) *fault.Error {
	f, _ := errors.AsType[*fault.Error](err)
	return f
}

// explained is what is wrong with a file, in one line.
func explained(err error) string {
	f := asFault(err)
	if f.Details == "" {
		return f.Message
	}
	return f.Details
}
