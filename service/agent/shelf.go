package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
)

const (
	// glance is how often the folder is looked at: a change is live within a second, on a machine that is busy too.
	glance = 300 * time.Millisecond
	// maxFiles is how many files are looked at.
	maxFiles = 5000
	suffix   = ".md"
)

// shelf is the agents of the folder, as they were read last.
type shelf struct {
	mu     sync.RWMutex
	files  map[string]*file // by name
	seen   map[string]stamp // by name too, what could not be read among them
	absent string           // why the folder cannot be read, once that was said
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
	var read []Definition
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if a.shelf.seen[name] == found[name] {
			continue
		}
		d, err := a.readFile(ctx, name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			delete(found, name) // it went between two looks
		case err != nil && asFault(err) == nil:
			return err // it is read again
		case err != nil:
			a.Log.Error("this file is no agent", "file", filepath.Join(a.Folder, name+suffix), "error", explained(err))
			a.shelf.seen[name] = found[name]
		default:
			read = append(read, d)
		}
	}
	if len(read) == 0 {
		return nil
	}
	numbers, err := a.number(ctx, read)
	if err != nil {
		return err
	}
	a.shelf.put(read, numbers, found)
	return nil
}

// keep forgets what is gone.
func (s *shelf) keep(found map[string]stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.seen {
		if _, there := found[name]; !there {
			delete(s.seen, name)
			delete(s.files, name)
		}
	}
}

func (s *shelf) put(read []Definition, numbers []int64, found map[string]stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, d := range read {
		s.files[d.Name] = &file{Definition: d, number: numbers[i], changed: found[d.Name].changed}
		s.seen[d.Name] = found[d.Name]
	}
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
		if err == nil && info.Mode().IsRegular() {
			found[name] = stamp{info.ModTime(), info.Size()}
		}
	}
	return found, nil
}

// readFile is the agent of a file. That it is none is a fault.
func (a *Agents) readFile(ctx context.Context, name string) (Definition, error) {
	in, err := os.Open(filepath.Join(a.Folder, name+suffix))
	if errors.Is(err, os.ErrPermission) {
		return Definition{}, malformed("this user may not read it.")
	}
	if err != nil {
		return Definition{}, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	if err != nil {
		return Definition{}, err
	}
	d, err := Parse(name, text)
	if err != nil {
		return d, err
	}
	return d, a.check(ctx, "", d)
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

// number is the version of each definition: that of the last time that the file said the same, or the next. It is the same on all
// nodes, and work that began with it finds it when the file says something else.
func (a *Agents) number(ctx context.Context, all []Definition) ([]int64, error) {
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) ([]int64, error) {
		if err := tx.Alone("agent files"); err != nil {
			return nil, err
		}
		numbers := make([]int64, len(all))
		for i, d := range all {
			settings, err := json.Marshal(d.Settings)
			if err != nil {
				return nil, err
			}
			var found bool
			numbers[i], found, err = sqldb.First(tx, "find version", sqldb.Column[int64], `SELECT version FROM agent_versions WHERE scope = '' AND name = $1
				AND settings = $2 AND instructions = $3 AND output_schema = $4 ORDER BY version DESC LIMIT 1`, d.Name, string(settings), d.Instructions, string(d.OutputSchema))
			if err != nil {
				return nil, err
			}
			if found {
				continue
			}
			if numbers[i], err = sqldb.Value[int64](tx, "count versions", "SELECT COALESCE(MAX(version), 0) + 1 FROM agent_versions WHERE scope = '' AND name = $1", d.Name); err != nil {
				return nil, err
			}
			if _, err := addVersion(tx, "", numbers[i], d, a.Now(), File); err != nil {
				return nil, err
			}
		}
		return numbers, nil
	})
}
