package dev

import (
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// lookout looks whether the files of a project have changed: their names, sizes and times. Watchers of file systems miss what a mounted folder
// changes.
type lookout struct {
	folder string
	ignore string    // a folder that changes for other reasons
	seen   uint64    // what was built last
	last   uint64    // what was seen last
	since  time.Time // when it was others than was built; zero: it is not
	took   time.Duration

	mu    sync.Mutex
	extra []string // what the last build was made of, and no walk through the folder shows
}

// newLookout looks at a folder as it lies behind all links: a walk follows none.
func newLookout(folder, ignore string) *lookout {
	w := &lookout{folder: behindLinks(folder)}
	if ignore != "" {
		w.ignore = behindLinks(ignore)
	}
	return w
}

// behindLinks is where a folder lies. One that is not there stays as it is called.
func behindLinks(name string) string {
	at, err := filepath.Abs(name)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return name
	}
	return at
}

// pause is the time between two looks. A folder that takes long to look at is looked at less often: a tenth of the time at most.
const pause = 100 * time.Millisecond

// unrest is how long files may go on to change before they are built all the same.
const unrest = time.Second

// next is when to look again.
func (w *lookout) next() <-chan time.Time { return time.After(max(pause, 10*w.took)) }

// look takes the files as they are for those that are built now.
func (w *lookout) look() {
	w.seen = w.sum()
	w.last = w.seen
}

// changed reports whether the files are others than those that were built last, and have come to a rest: editors write in several steps.
func (w *lookout) changed() bool {
	now := w.sum()
	atRest := now == w.last
	w.last = now
	if now == w.seen {
		w.since = time.Time{}
		return false
	}
	if w.since.IsZero() {
		w.since = time.Now()
	}
	if !atRest && time.Since(w.since) < unrest {
		return false
	}
	w.seen, w.since = now, time.Time{}
	return true
}

// also watches the sources of a build that no walk shows: they lie outside of the folder, or are hidden. It reports whether they are others than
// before.
func (w *lookout) also(sources []string) (others bool) {
	extra := slices.DeleteFunc(slices.Clone(sources), w.walks)
	w.mu.Lock()
	defer w.mu.Unlock()
	others = !slices.Equal(extra, w.extra)
	w.extra = extra
	return others
}

// walks reports whether a walk through the folder comes by a file.
func (w *lookout) walks(name string) bool {
	below, err := filepath.Rel(w.folder, name)
	hidden := strings.HasPrefix(below, ".") || strings.Contains(below, string(filepath.Separator)+".")
	return err == nil && (below == "." || !hidden)
}

// sum is all that was seen, as one number. What cannot be read is not there.
func (w *lookout) sum() uint64 {
	began := time.Now()
	h := fnv.New64a()
	see := func(name string, info fs.FileInfo) {
		h.Write([]byte(name + "\x00" + info.ModTime().String() + "\x00" + info.Mode().String()))
		h.Write([]byte{0, byte(info.Size()), byte(info.Size() >> 8), byte(info.Size() >> 16), byte(info.Size() >> 24)})
	}
	_ = filepath.WalkDir(w.folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is not there
		}
		hidden := name != w.folder && strings.HasPrefix(e.Name(), ".")
		switch {
		case e.IsDir() && (hidden || name == w.ignore || e.Name() == "node_modules"):
			return fs.SkipDir
		case e.IsDir() || hidden:
			return nil
		}
		if info, err := os.Stat(name); err == nil {
			see(name, info)
		}
		return nil
	})
	for _, name := range w.outside() {
		if info, err := os.Stat(name); err == nil {
			see(name, info)
		}
	}
	w.took = time.Since(began)
	return h.Sum64()
}

// outside is what is looked at beside the folder: sources from elsewhere, and what npm writes when packages have changed.
func (w *lookout) outside() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(slices.Clone(w.extra), filepath.Join(w.folder, "node_modules", ".package-lock.json"))
}
