package archive

import (
	"archive/tar"
	"bufio"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
)

// Visitor is told what is in an archive, in its order. A nil function hears nothing.
type Visitor struct {
	Head func(Head) error
	Part func(Sum, []byte) error // the bytes are the visitor's until it returns
	File func(File) error
}

// errEnough ends a walk that has seen what it wants.
var errEnough = errors.New("enough was read")

// ReadHead reads no further than the head of an archive. What it says is not proven.
func ReadHead(r io.Reader) (head Head, err error) {
	err = Walk(r, Visitor{Head: func(h Head) error { head = h; return errEnough }})
	if errors.Is(err, errEnough) {
		return head, nil
	}
	return head, err
}

// Walk reads an archive to its last byte. What a visitor was told holds only when Walk returns nil; the error of an archive that
// is not as it was written is a *DamagedError, that of a newer one a *NewerError.
func Walk(r io.Reader, v Visitor) error {
	sealed := newSealed(r)
	if err := readFormat(sealed); err != nil {
		return err
	}
	w := &walker{Visitor: v, body: bufio.NewReaderSize(sealed, 64<<10)}
	if err := w.tar(); err != nil {
		return cutOff(err)
	}
	if !w.ended || !w.begun {
		return damaged("it has no end")
	}
	return sealed.check(w.body)
}

// cutOff is an error of reading in our words. What a visitor or the disk says stays as it is.
func cutOff(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return damaged("it ends too early")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, tar.ErrHeader), corrupt:
		return damaged("%v", err)
	}
	return err
}

// readFormat reads the first line.
func readFormat(r io.Reader) error {
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(r, head); err != nil || string(head) != magic {
		return damaged("it does not begin as one")
	}
	var number []byte
	for one := make([]byte, 1); ; number = append(number, one[0]) {
		if _, err := io.ReadFull(r, one); err != nil || len(number) > 9 {
			return damaged("it does not begin as one")
		}
		if one[0] == '\n' {
			break
		}
	}
	format, err := strconv.Atoi(string(number))
	switch {
	case err != nil || format < 1:
		return damaged("it does not begin as one")
	case format > Format:
		return &NewerError{format}
	}
	return nil
}

// walker goes through the tar of an archive.
type walker struct {
	Visitor
	body         *bufio.Reader
	buf          []byte
	begun, ended bool
	seen         Totals
}

func (w *walker) tar() error {
	zip, err := gzip.NewReader(w.body)
	if err != nil {
		return err
	}
	zip.Multistream(false)
	all := tar.NewReader(zip)
	for {
		h, err := all.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := w.entry(h, all); err != nil {
			return err
		}
	}
	// The sum of the whole stands behind the padding.
	_, err = io.Copy(io.Discard, zip)
	return err
}

func (w *walker) entry(h *tar.Header, r io.Reader) error {
	name, isPart := strings.CutPrefix(h.Name, partsDir)
	switch {
	case w.ended:
		return damaged("something follows its end")
	case isPart:
		return w.part(name, h.Size, r)
	case strings.HasPrefix(h.Name, linesDir) && h.Size <= maxLines:
		return w.lines(r)
	}
	return damaged("%q does not belong in it", h.Name)
}

func (w *walker) part(name string, size int64, r io.Reader) error {
	var sum Sum
	if err := sum.UnmarshalText([]byte(name)); err != nil || size > partBytes {
		return damaged("a part has the name %q and %d bytes", name, size)
	}
	if int64(cap(w.buf)) < size {
		w.buf = make([]byte, size)
	}
	part := w.buf[:size]
	if _, err := io.ReadFull(r, part); err != nil {
		return err
	}
	if sum != sha256.Sum256(part) {
		return damaged("part %s is not what its name says", name)
	}
	w.seen.Parts++
	w.seen.Carried += size
	if w.Part == nil {
		return nil
	}
	return w.Part(sum, part)
}

func (w *walker) lines(r io.Reader) error {
	for dec := json.NewDecoder(r); ; {
		var l saying
		err := dec.Decode(&l)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return damaged("a line cannot be read: %v", err)
		}
		if err := w.line(l); err != nil {
			return err
		}
	}
}

func (w *walker) line(l saying) error {
	switch {
	case l.Head != nil && !w.begun:
		w.begun = true
		if w.Head != nil {
			return w.Head(*l.Head)
		}
		return nil
	case l.File != nil && w.begun && !w.ended:
		w.seen.Files++
		w.seen.Bytes += l.File.Bytes
		if w.File != nil {
			return w.File(*l.File)
		}
		return nil
	case l.End != nil && w.begun && !w.ended:
		w.ended = true
		if *l.End != w.seen {
			return damaged("it has %+v, and says %+v", w.seen, *l.End)
		}
		return nil
	}
	return damaged("a line is not where it belongs")
}

// sealed reads all but the last bytes of a stream, which are the sum of the others.
type sealed struct {
	from *bufio.Reader
	sum  hash.Hash
}

func newSealed(r io.Reader) *sealed { return &sealed{bufio.NewReaderSize(r, 256<<10), sha256.New()} }

func (s *sealed) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	ahead, err := s.from.Peek(min(len(p)+sha256.Size, s.from.Size()))
	n := len(ahead) - sha256.Size
	if n <= 0 {
		if err == nil || errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		return 0, err
	}
	n = copy(p, ahead[:n])
	s.sum.Write(p[:n])
	_, err = s.from.Discard(n)
	return n, err
}

// check compares the sum when everything before it has been read, and refuses what stands between.
func (s *sealed) check(rest *bufio.Reader) error {
	switch _, err := rest.ReadByte(); {
	case err == nil:
		return damaged("something follows its end")
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("read archive: %w", err)
	}
	told, err := io.ReadAll(s.from)
	if err != nil {
		return fmt.Errorf("read archive: %w", err)
	}
	if subtle.ConstantTimeCompare(told, s.sum.Sum(nil)) != 1 {
		return damaged("its sum is another")
	}
	return nil
}
