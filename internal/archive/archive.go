// Package archive is a backup as one file: the parts of files by their hashes, and which file is made of which. It knows no
// tables and no service.
//
// An archive is a line with its format, a gzipped tar, and the SHA-256 of all that. The tar holds parts of at most 4 MiB, each
// named by its SHA-256, and between them lines that say what they are parts of: a head first, then a line for each file behind
// its last part, and an end. Nothing of it is believed before its last byte was read.
//
// An archive that goes on from another names parts which that one, or those before it, carry. They are a chain, and are
// restored together.
package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Format is the newest format that is read, and the one that is written.
const Format = 1

const (
	magic     = "svc-backup "
	partBytes = 4 << 20
	partsDir  = "parts/"
	linesDir  = "lines/"
	maxLines  = 256 << 20 // in one entry: that of a file of some terabytes
)

// Sum is the SHA-256 of a part.
type Sum [sha256.Size]byte

// MarshalText writes a sum in hexadecimal.
func (s Sum) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(s[:])), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Sum) UnmarshalText(text []byte) error {
	if len(text) != 2*len(s) {
		return errors.New("a hash is not as long as a SHA-256")
	}
	_, err := hex.Decode(s[:], text)
	return err
}

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// Head says what an archive is.
type Head struct {
	ID    string    `json:"id"`
	Since string    `json:"since,omitempty"` // the archive that it goes on from; empty: it stands alone
	At    time.Time `json:"at"`              // the point in time that it holds
	// About is what the writer wants the restorer to know.
	About json.RawMessage `json:"about,omitempty"`
}

// File is one file of an archive.
type File struct {
	Path     string    `json:"path"` // with slashes, and below the folder that is restored
	Mode     uint32    `json:"mode"`
	Modified time.Time `json:"modified"`
	Bytes    int64     `json:"bytes"`
	Parts    []Sum     `json:"parts,omitempty"`
}

// Totals are how much is in an archive.
type Totals struct {
	Files   int64 `json:"files"`
	Bytes   int64 `json:"bytes"`   // of the files
	Parts   int64 `json:"parts"`   // that are carried
	Carried int64 `json:"carried"` // bytes of these
}

// saying is one line between the parts; one of its fields is set.
type saying struct {
	Head *Head   `json:"head,omitempty"`
	File *File   `json:"file,omitempty"`
	End  *Totals `json:"end,omitempty"`
}

// DamagedError says that an archive is not as it was written, and is of no use.
type DamagedError struct{ Why string }

func (e *DamagedError) Error() string { return "the archive is damaged or cut off: " + e.Why }

func damaged(format string, args ...any) error { return &DamagedError{fmt.Sprintf(format, args...)} }

// NewerError says that an archive was written by a newer program.
type NewerError struct{ Format int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("the archive has format %d, and this svc reads up to %d: restore it with the svc that wrote it, or a newer one", e.Format, Format)
}
