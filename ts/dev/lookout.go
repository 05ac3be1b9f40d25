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
	extra []string // files outside of the folder that the last build was made of
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

// also watches the sources of a build that lie outside of the folder.
func (w *lookout) also(sources []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.extra = nil
	for _, name := range sources {
		if strings.HasPrefix(name, "../") {
			w.extra = append(w.extra, filepath.Join(w.folder, filepath.FromSlash(name)))
		}
	}
	slices.Sort(w.extra)
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

// outside are the files that are looked at beside the folder: sources from elsewhere, and what npm writes when packages have changed.
func (w *lookout) outside() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(slices.Clone(w.extra), filepath.Join(w.folder, "node_modules", ".package-lock.json"))
}
