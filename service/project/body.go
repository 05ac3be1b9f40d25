package project

import (
	"bytes"
	"context"
	"errors"
	"io"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/storage"
)

// peeked is how much is read of a body to find out that it is a small one.
const peeked = 64 << 10

// peek finds the size of a small body: what is reserved for it is then exact.
func (u *Upload) peek() error {
	if u.Body == nil {
		u.Body = bytes.NewReader(nil)
	}
	if u.Size != Unknown {
		return nil
	}
	head := make([]byte, peeked)
	n, err := io.ReadFull(u.Body, head)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		u.Size, u.Body = int64(n), bytes.NewReader(head[:n])
		return nil
	case err != nil:
		return broken(err)
	}
	u.Body = io.MultiReader(bytes.NewReader(head), u.Body)
	return nil
}

// broken is the refusal of a body that could not be read to its end. A fault stays what it is.
func broken(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.Invalid("The body broke off.").Because(err)
}

// metered is a body that is read no further than what is reserved for it.
type metered struct {
	ctx    context.Context
	most   int64 // bytes of a file
	held   *storage.Reservation
	credit int64 // bytes of the file that is replaced
	left   int64 // of the size that was declared, or Unknown
	read   int64
	from   io.Reader
	broke  bool // it could not be read to its end
}

func (m *metered) Read(into []byte) (int, error) {
	n, err := m.next(into)
	m.broke = err != nil && !errors.Is(err, io.EOF)
	return n, err
}

func (m *metered) next(into []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	if m.left == 0 {
		return m.end()
	}
	if err := m.held.Renew(m.ctx); err != nil {
		return 0, err
	}
	room := min(m.held.Bytes+m.credit, m.most) - m.read
	if m.left >= 0 {
		room = m.left
	} else if room <= 0 {
		return m.extend(into)
	}
	n, err := m.from.Read(into[:min(int64(len(into)), room)])
	m.read += int64(n)
	if m.left > 0 {
		if m.left -= int64(n); m.left > 0 && errors.Is(err, io.EOF) {
			return n, fault.Invalid("The body is shorter than its declared length.")
		}
		if errors.Is(err, io.EOF) {
			err = nil // end finds it again
		}
	}
	return n, err
}

// end looks whether a body of a declared length has more than that.
func (m *metered) end() (int, error) {
	var one [1]byte
	for range 100 {
		n, err := m.from.Read(one[:])
		if n > 0 {
			return 0, fault.Invalid("The body is longer than its declared length.")
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}

// extend reserves more, unless the body ends here or the file has become too large.
func (m *metered) extend(into []byte) (int, error) {
	n, err := m.from.Read(into[:min(len(into), 1)])
	if n == 0 {
		return 0, err
	}
	if m.read += int64(n); m.read > m.most {
		return 0, tooLarge(m.most)
	}
	if grown := m.held.Grow(m.ctx, min(storage.StepBytes, m.most-m.read+1)); grown != nil {
		return 0, grown
	}
	return n, err
}
