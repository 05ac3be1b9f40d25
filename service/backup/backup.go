// Package backup is all that a service keeps, as it was at one moment, and a folder made of it again.
//
// The database is copied first, as one state of it; then everything is read that the copy refers to. Attachments are written
// before the row that names them and never change, and the sweeper leaves them alone meanwhile; a file of a project that is
// replaced or deleted meanwhile is kept under another name. So the copy finds what it names, and work goes on.
package backup

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"time"

	"svc.dev/svc/service/database"
)

// Where things lie in a backup, as in a data folder.
const (
	databaseFile = "svc.db"
	keysFile     = "keys.json"
	configFile   = "svc.toml"
	auditFile    = "audit/checkpoints.jsonl"
	filesFolder  = "root-sandbox"
)

// Wish is what an operator asks of a backup.
type Wish struct {
	// NoKeys leaves out what opens secrets: the key ring and the configuration.
	NoKeys bool `json:"noKeys"`
}

// Point is what a backup holds.
type Point struct {
	At       time.Time          `json:"at"`       // the moment; of what lies beside PostgreSQL, when it was begun
	Database string             `json:"database"` // sqlite, or postgres, whose rows are not in the backup
	Rooms    []database.Version `json:"rooms"`
	Keys     bool               `json:"keys"`  // the key ring is in it
	Bytes    int64              `json:"bytes"` // that are to come, about
}

// Report is what is to be said at its end.
type Report struct {
	Missing []string `json:"missing,omitempty"` // files that the index names and nobody has, some of them
	Misses  int64    `json:"misses"`            // how many
	Changed int64    `json:"changed"`           // files that are not what the index says: somebody outside wrote them
}

// noteName is the entry of a stream that is no file.
const noteName = ".svc-note"

// Note is what a stream tells beside files; one of its fields is set.
type Note struct {
	Copied *Copied `json:"copied,omitempty"`
	Point  *Point  `json:"point,omitempty"`  // before the first file
	Report *Report `json:"report,omitempty"` // behind the last: without it the stream was cut
	Error  string  `json:"error,omitempty"`
}

// Copied is how far the copy of the database is.
type Copied struct {
	Bytes int64 `json:"bytes"`
	Of    int64 `json:"of"`
}

// WriteNote writes what is no file.
func WriteNote(w *tar.Writer, n Note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return WriteEntry(w, noteName, int64(len(text)), time.Time{}, bytes.NewReader(text))
}

// WriteEntry writes so many bytes of r, and zeros where it has fewer.
func WriteEntry(w *tar.Writer, name string, size int64, modified time.Time, r io.Reader) error {
	h := &tar.Header{Name: name, Mode: 0o600, Size: size, Format: tar.FormatPAX}
	if !modified.IsZero() {
		h.ModTime = modified
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(r, size))
	if err != nil || n == size {
		return err
	}
	_, err = io.Copy(w, io.LimitReader(zeros{}, size-n))
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
