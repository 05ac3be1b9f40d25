package backup

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/archive"
)

// Base is the backup that another goes on from; the zero value is none.
type Base struct {
	ID    string
	Known map[archive.Sum]struct{}
}

// BaseOf reads a backup that another can go on from. One that is damaged is none.
func BaseOf(ctx context.Context, a archive.Opener) (Base, error) {
	head, known, err := archive.Known(ctx, a)
	return Base{head.ID, known}, err
}

// Made is what a backup holds, as it is told when it is done.
type Made struct {
	ID       string    `json:"id"`
	Since    string    `json:"since,omitempty"`
	At       time.Time `json:"at"`
	Database string    `json:"database"`
	Keys     bool      `json:"keys"`
	archive.Totals
	Report
}

// Progress is how far a backup is.
type Progress struct {
	Copying bool  // the database is being copied; else everything is written
	Done    int64 // bytes
	Of      int64
}

// Make writes what Stream sends as an archive, and tells how far it is. The archive is whole when the error is nil.
func Make(ctx context.Context, stream io.Reader, w io.Writer, base Base, tell func(Progress)) (Made, error) {
	m := &making{to: w, base: base, tell: tell}
	err := m.all(ctx, tar.NewReader(stream))
	if err == nil {
		_, err = io.Copy(io.Discard, stream) // the padding of the tar, or the writer would never end
	}
	return m.Made, err
}

// making is an archive under way.
type making struct {
	Made
	to    io.Writer
	base  Base
	tell  func(Progress)
	out   *archive.Writer
	point Point
	read  int64
	ended bool
}

func (m *making) all(ctx context.Context, stream *tar.Reader) error {
	for !m.ended {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := stream.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("the service ended before the backup was whole")
		}
		if err != nil {
			return fmt.Errorf("read from the service: %w", err)
		}
		if err := m.entry(h, stream); err != nil {
			return err
		}
	}
	if err := m.out.Close(); err != nil {
		return err
	}
	m.Totals = m.out.Totals
	return nil
}

func (m *making) entry(h *tar.Header, r io.Reader) error {
	if h.Name == noteName {
		return m.note(r)
	}
	if m.out == nil {
		return errors.New("the service sends files before it says of what")
	}
	_, err := m.out.Add(h.Name, uint32(h.Mode), h.ModTime.UTC(), &overheard{m, r})
	return err
}

// overheard tells how far all is while a file is read.
type overheard struct {
	*making
	from io.Reader
}

func (t *overheard) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	t.read += int64(n)
	t.tell(Progress{Done: t.read, Of: t.point.Bytes})
	return n, err
}

func (m *making) note(r io.Reader) error {
	var n Note
	if err := json.NewDecoder(r).Decode(&n); err != nil {
		return fmt.Errorf("read from the service: %w", err)
	}
	switch {
	case n.Error != "":
		return errors.New(n.Error)
	case n.Copied != nil:
		m.tell(Progress{Copying: true, Done: n.Copied.Bytes, Of: n.Copied.Of})
	case n.Point != nil:
		return m.begin(*n.Point)
	case n.Report != nil && m.out != nil:
		m.Report, m.ended = *n.Report, true
	}
	return nil
}

func (m *making) begin(p Point) (err error) {
	about, err := json.Marshal(p)
	if err != nil {
		return err
	}
	m.point = p
	m.ID, m.Since, m.At, m.Database, m.Keys = "bkp_"+ulid.Make().String(), m.base.ID, p.At, p.Database, p.Keys
	m.out, err = archive.NewWriter(m.to, archive.Head{ID: m.ID, Since: m.Since, At: p.At, About: about}, m.base.Known)
	return err
}
