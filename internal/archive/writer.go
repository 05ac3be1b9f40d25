package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"time"
)

// linesAtOnce is how many bytes of lines gather before they are written.
const linesAtOnce = 1 << 20

// Writer writes an archive, in memory that does not grow with what it carries but for the hashes of the parts and the names of the
// files.
type Writer struct {
	to    io.Writer // what is written and summed
	raw   io.Writer
	sum   hash.Hash
	zip   *gzip.Writer
	tar   *tar.Writer
	lines bytes.Buffer
	n     int // of entries with lines
	have  map[Sum]struct{}
	names map[string]struct{}
	buf   []byte
	Totals
}

// NewWriter begins an archive. Parts that known names are not carried: the archive that Since names, or one before it, has them.
func NewWriter(w io.Writer, h Head, known map[Sum]struct{}) (*Writer, error) {
	a := &Writer{raw: w, sum: sha256.New(), have: maps.Clone(known), names: map[string]struct{}{}, buf: make([]byte, partBytes)}
	if a.have == nil {
		a.have = map[Sum]struct{}{}
	}
	a.to = io.MultiWriter(w, a.sum)
	if _, err := fmt.Fprintf(a.to, "%s%d\n", magic, Format); err != nil {
		return nil, err
	}
	zip, err := gzip.NewWriterLevel(a.to, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	a.zip, a.tar = zip, tar.NewWriter(zip)
	if err := a.say(saying{Head: &h}); err != nil {
		return nil, err
	}
	// The head can be read without what follows.
	return a, a.flush()
}

// Add adds a file with what r has to give. A path that was added before is refused: nobody could extract both.
func (a *Writer) Add(path string, mode uint32, modified time.Time, r io.Reader) (File, error) {
	f := File{Path: path, Mode: mode, Modified: modified}
	if _, twice := a.names[path]; twice {
		return f, fmt.Errorf("the file %s comes twice", path)
	}
	a.names[path] = struct{}{}
	for {
		n, end := io.ReadFull(r, a.buf)
		if end != nil && end != io.EOF && end != io.ErrUnexpectedEOF {
			return f, end
		}
		if n > 0 {
			sum, err := a.carry(a.buf[:n])
			if err != nil {
				return f, err
			}
			f.Parts, f.Bytes = append(f.Parts, sum), f.Bytes+int64(n)
		}
		if end != nil {
			break
		}
	}
	a.Files++
	a.Bytes += f.Bytes
	if err := a.say(saying{File: &f}); err != nil || a.lines.Len() < linesAtOnce {
		return f, err
	}
	return f, a.flush()
}

// carry writes a part unless it is there already.
func (a *Writer) carry(part []byte) (Sum, error) {
	sum := Sum(sha256.Sum256(part))
	if _, there := a.have[sum]; there {
		return sum, nil
	}
	a.have[sum] = struct{}{}
	a.Parts++
	a.Carried += int64(len(part))
	return sum, a.entry(partsDir+sum.String(), part)
}

func (a *Writer) say(l saying) error { return json.NewEncoder(&a.lines).Encode(l) }

func (a *Writer) flush() error {
	a.n++
	err := a.entry(fmt.Sprintf("%s%d", linesDir, a.n), a.lines.Bytes())
	a.lines.Reset()
	return err
}

func (a *Writer) entry(name string, data []byte) error {
	err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), Format: tar.FormatUSTAR})
	if err == nil {
		_, err = a.tar.Write(data)
	}
	return err
}

// Close ends the archive. Without it there is none: what was written is refused as cut off.
func (a *Writer) Close() error {
	end := a.Totals
	if err := a.say(saying{End: &end}); err != nil {
		return err
	}
	if err := a.flush(); err != nil {
		return err
	}
	if err := a.tar.Close(); err != nil {
		return err
	}
	if err := a.zip.Close(); err != nil {
		return err
	}
	_, err := a.raw.Write(a.sum.Sum(nil))
	return err
}
