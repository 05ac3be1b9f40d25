package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Marks are files by which nodes see that they share a files folder: each node leaves its own, by a rename, again and again,
// and says in it whose it sees. Nothing depends on them but what doctor says.
const (
	marksFolder = ".nodes" // in the files folder, where no username can be
	markEvery   = 15 * time.Second
	markStale   = time.Minute
)

// mark is what a node says in the files folder.
type mark struct {
	Node string    `json:"node"`
	At   time.Time `json:"at"`
	Sees []string  `json:"sees"` // nodes whose marks are fresh there, sorted
}

// LeaveMarks keeps the mark of a node in a files folder until ctx ends, and takes it away then.
func LeaveMarks(ctx context.Context, files, node string, log *slog.Logger) error {
	folder := filepath.Join(files, marksFolder)
	defer func() { _ = os.Remove(filepath.Join(folder, node)) }() // a stale one says nothing
	told := false
	for {
		err := leaveMark(folder, node, time.Now())
		if err != nil && !told {
			log.Warn("other nodes cannot see whether they share the files folder", "folder", files, "error", err)
		}
		told = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(markEvery):
		}
	}
}

// leaveMark writes a node's mark whole, as files are written that people see.
func leaveMark(folder, node string, now time.Time) error {
	// A files folder that is not there is not made: it may be a file system that is not mounted yet.
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	m := mark{Node: node, At: now.UTC(), Sees: []string{}}
	for _, other := range readMarks(folder) {
		if now.Sub(other.At).Abs() < markStale {
			m.Sees = append(m.Sees, other.Node)
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	fresh := filepath.Join(folder, "."+node+".new")
	if err := os.WriteFile(fresh, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(folder, node))
}

// readMarks are the marks of a folder, by node, as their files are sorted. What is no mark is none.
func readMarks(folder string) []mark {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var all []mark
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		var m mark
		if err == nil && json.Unmarshal(text, &m) == nil && m.Node == e.Name() {
			all = append(all, m)
		}
	}
	return all
}

func (m mark) sees(node string) bool { return slices.Contains(m.Sees, node) }
