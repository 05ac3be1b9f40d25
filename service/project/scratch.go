package project

import (
	"os"
	"path/filepath"
)

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
