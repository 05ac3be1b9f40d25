// Package mirror makes the files of a project those of a folder: it finds out what differs, says what it would do, and does it. A
// file that somebody else changed in the meantime is left as it is.
package mirror

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Kind is what is done to a file of the project.
type Kind string

// The kinds of acts.
const (
	Put    Kind = "put"
	Move   Kind = "move"
	Delete Kind = "delete"
)

// Act is one thing to be done.
type Act struct {
	Kind  Kind   `json:"action"`
	Path  string `json:"path"`
	From  string `json:"from,omitempty"` // of a move
	Bytes int64  `json:"bytes"`

	// Match is the content that the file must have for it, as an etag; empty: there must be none.
	Match string `json:"-"`
	// first says that it must be done before others: it stands in their way.
	first bool
}

// Remote is the project's side.
type Remote interface {
	// List is all files.
	List(ctx context.Context) ([]File, error)
	// Put makes or replaces a file. The etag that it must have before is empty where it must not be there.
	Put(ctx context.Context, path string, size int64, open func() (io.ReadCloser, error), match string) error
	Delete(ctx context.Context, path, match string) error
	Move(ctx context.Context, from, to, match string) error
}

// File is a file of the project.
type File struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	ETag  string `json:"etag"`
}

// Local is a file of the folder.
type Local struct {
	Path  string
	Bytes int64
	// Sum is the etag of its content. It is asked for only where that decides something.
	Sum func() (string, error)
}

// Plan is what makes the project's files those of the folder. Files that only the project has are deleted if remove says so, and a
// file that only changed its name is then moved.
func Plan(local []Local, remote []File, remove bool) (acts []Act, err error) {
	there := map[string]File{}
	for _, f := range remote {
		there[f.Path] = f
	}
	var fresh []Local
	for _, l := range local {
		f, known := there[l.Path]
		delete(there, l.Path)
		if !known {
			fresh = append(fresh, l)
			continue
		}
		same, err := l.is(f)
		if err != nil {
			return nil, err
		}
		if !same {
			acts = append(acts, Act{Kind: Put, Path: l.Path, Bytes: l.Bytes, Match: f.ETag})
		}
	}
	if !remove {
		clear(there)
	}
	gone := vanished(there, local)
	for _, l := range fresh {
		act, err := l.arrive(gone)
		if err != nil {
			return nil, err
		}
		acts = append(acts, act)
	}
	for _, left := range gone {
		acts = append(acts, left...)
	}
	sortActs(acts)
	return acts, nil
}

// is reports whether the project's file has the same content.
func (l Local) is(f File) (bool, error) {
	if l.Bytes != f.Bytes {
		return false, nil
	}
	sum, err := l.Sum()
	return sum == f.ETag, err
}

// vanished are deletions of what only the project has, by size. Those that stand in the way of a file of the folder come first.
func vanished(there map[string]File, local []Local) map[int64][]Act {
	occupied := map[string]bool{} // paths of the folder's files, and of the folders above them
	files := map[string]bool{}
	for _, l := range local {
		files[l.Path] = true
		for _, above := range foldersOf(l.Path) {
			occupied[above] = true
		}
	}
	gone := map[int64][]Act{}
	for path, f := range there {
		first := occupied[path] || slices.ContainsFunc(foldersOf(path), func(above string) bool { return files[above] })
		gone[f.Bytes] = append(gone[f.Bytes], Act{Kind: Delete, Path: path, Bytes: f.Bytes, Match: f.ETag, first: first})
	}
	for _, all := range gone {
		sortActs(all)
	}
	return gone
}

// arrive is how a new file comes to the project: from another path if it lay there, else from the folder. What it takes from the
// vanished is no longer among them.
func (l Local) arrive(gone map[int64][]Act) (Act, error) {
	put := Act{Kind: Put, Path: l.Path, Bytes: l.Bytes}
	if len(gone[l.Bytes]) == 0 || l.Bytes == 0 {
		return put, nil
	}
	sum, err := l.Sum()
	if err != nil {
		return put, err
	}
	all := gone[l.Bytes]
	i := slices.IndexFunc(all, func(a Act) bool { return a.Match == sum && !a.first })
	if i < 0 {
		return put, nil
	}
	was := all[i]
	gone[l.Bytes] = slices.Delete(all, i, i+1)
	return Act{Kind: Move, Path: l.Path, From: was.Path, Bytes: l.Bytes, Match: was.Match}, nil
}

func foldersOf(path string) (all []string) {
	for i := range len(path) {
		if path[i] == '/' {
			all = append(all, path[:i])
		}
	}
	return all
}

// stages are what is done one after another: what stands in the way, then what moves, then what is new, and last what is to go.
func (a Act) stage() int {
	switch {
	case a.first:
		return 0
	case a.Kind == Move:
		return 1
	case a.Kind == Put:
		return 2
	}
	return 3
}

func sortActs(acts []Act) {
	slices.SortFunc(acts, func(a, b Act) int {
		if a.stage() != b.stage() {
			return a.stage() - b.stage()
		}
		return strings.Compare(a.Path, b.Path)
	})
}

// String is an act as people read it.
func (a Act) String() string {
	if a.Kind == Move {
		return fmt.Sprintf("%s %s -> %s", a.Kind, a.From, a.Path)
	}
	return fmt.Sprintf("%s %s", a.Kind, a.Path)
}
