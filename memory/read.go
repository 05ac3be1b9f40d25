package memory

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"
)

// readWait is how long a reader waits for room for what it has read.
const readWait = time.Second

// Count takes from the grant so many times what is read, as it is read: who announces much and sends nothing holds nothing.
// What there is no room for ends the reading with ErrFull or ErrTooLarge.
func Count(ctx context.Context, r io.ReadCloser, g *Grant, times int64) io.ReadCloser {
	return &counted{ReadCloser: r, ctx: ctx, grant: g, times: times}
}

type counted struct {
	io.ReadCloser
	ctx   context.Context
	grant *Grant
	times int64
	err   error
}

func (c *counted) Read(into []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.ReadCloser.Read(into)
	if c.err = c.grant.wait(c.ctx, c.times*int64(n)); c.err != nil {
		return 0, c.err
	}
	return n, err
}

// wait takes more bytes, and waits a moment for them.
func (g *Grant) wait(ctx context.Context, n int64) error {
	if n <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	err := g.Await(ctx, n)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return ErrFull
	}
	return err
}

const firstRead = 4 << 10

// ReadAll reads to the end. It grows as bytes arrive, by doubling, and not beyond what was announced; -1 is nothing.
func ReadAll(r io.Reader, announced int64) ([]byte, error) {
	var all []byte
	for {
		if len(all) == cap(all) {
			all = Enlarge(all, announced)
		}
		n, err := r.Read(all[len(all):cap(all)])
		all = all[:len(all)+n]
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		}
	}
}

// Enlarge doubles what bytes are read into, but not beyond what was announced and the byte that finds its end.
func Enlarge(all []byte, announced int64) []byte {
	more := max(firstRead, len(all))
	if rest := announced + 1 - int64(len(all)); rest > 0 {
		more = int(min(int64(more), rest))
	}
	return slices.Grow(all, more)
}
