package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"svc.dev/svc/service/scope"
)

// Folders of our own below Root. No username begins with a dot.
const (
	trashFolder   = ".trash"
	scratchFolder = ".pulls"
	keptFolder    = ".kept"
)

// placeOf is the folder of a scope's projects, below Root.
func placeOf(address string) (string, error) {
	s, err := scope.Workspace(address)
	return path.Join(cmp.Or(s.Username, scope.Admin), s.Business, "projects"), err
}

// folder is a project's folder. Nothing reaches out of it.
type folder struct {
	*os.Root
	keep func(path string, info os.FileInfo) // a file that is about to go
}

// open opens a project's folder, which is made where that is asked for; else it may not be there (fs.ErrNotExist).
func (p *Projects) open(r Project, create bool) (folder, error) {
	place, err := placeOf(r.Scope)
	if err != nil {
		return folder{}, err
	}
	// scope.CheckProject has seen the slug; a row that was tampered with must not lead elsewhere.
	if err := scope.CheckProject(r.Slug); err != nil {
		return folder{}, fmt.Errorf("open project %s: slug: %w", r.ID, err)
	}
	place = path.Join(place, r.Slug)
	root, err := descend(p.root, place)
	// Whoever deletes the project takes its folder away.
	for n := 0; create && errors.Is(err, fs.ErrNotExist) && n < 3; n++ {
		if err := p.makeFolder(place); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return folder{}, fmt.Errorf("make folder of project: %w", err)
		}
		root, err = descend(p.root, place)
	}
	if err != nil {
		return folder{}, fmt.Errorf("open folder of project: %w", err)
	}
	return folder{root, func(name string, info os.FileInfo) { keepAside(p, place, name, info) }}, nil
}

// makeFolder makes a folder below Root that outlives a loss of power.
func (p *Projects) makeFolder(place string) error {
	all := folder{Root: p.root}
	changed, err := all.makeFolders(place + "/")
	if err != nil {
		return err
	}
	return all.sync(changed)
}

var errNotFolder = errors.New("what is there is not a folder")

// descend opens a folder step by step and follows no link: within Root, one could lead to another workspace.
func descend(root *os.Root, place string) (*os.Root, error) {
	at := root
	for name := range strings.SplitSeq(place, "/") {
		next, err := enter(at, name)
		if at != root {
			at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

func enter(at *os.Root, name string) (*os.Root, error) {
	seen, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, errNotFolder
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = errNotFolder
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// Scratch is a folder outside all projects that a program can work in. Whoever makes it closes it.
type Scratch struct {
	Path string
	root *os.Root
	name string // below Root
}

// ScratchLife is how long a Scratch stays that nobody closes.
const ScratchLife = leftoverAge

// Scratch makes a folder, with another in it that is called home.
func (p *Projects) Scratch() (*Scratch, error) {
	s := &Scratch{root: p.root, name: scratchFolder + "/" + newID()}
	if err := p.makeFolder(s.name + "/home"); err != nil {
		return nil, err
	}
	var err error
	s.Path, err = filepath.Abs(filepath.Join(p.Root, s.name))
	return s, err
}

// Close deletes the folder.
func (s *Scratch) Close() error { return s.root.RemoveAll(s.name) }
