package script

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"sync"

	"svc.dev/svc/fault"
)

// Source is a body that Go holds. A script reads it piece by piece or whole, or passes it on unread.
type Source interface {
	// Next is the next piece, and io.EOF at the end.
	Next() ([]byte, error)
	// Whole is all that is left, and an error of TooLong when that is more than the limit.
	Whole(limit int64) ([]byte, error)
	// Drop lets the rest go: Next and Whole return soon.
	Drop()
}

// held is a body and the act that it belongs to.
type held struct {
	source Source
	act    int64
}

// Keep lets scripts read a body, by the id that it returns, until it is let go or the act ends.
func (a *Act) Keep(s Source) int64 { return a.Engine.keep(a.ID, s) }

func (e *Engine) keep(act int64, s Source) int64 {
	id := ids.Add(1)
	e.mu.Lock()
	// A body of an act that has ended is of no use to anybody.
	gone := e.fault != nil || act != 0 && e.acts[act] == nil
	if !gone {
		e.bodies[id] = held{s, act}
	}
	e.mu.Unlock()
	if gone {
		s.Drop()
	}
	return id
}

// Body finds a body that is kept; nil when it is not.
func (e *Engine) Body(id int64) Source {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.bodies[id].source
}

// Let gives a body back to the caller: scripts can read it no longer, and the engine does not drop it.
func (e *Engine) Let(id int64) Source {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.bodies[id].source
	delete(e.bodies, id)
	return s
}

// TooLong is the error of a body that is longer than a script may read.
func TooLong(limit int64) error {
	return &Thrown{Name: "RangeError", Type: fault.BodyTooLarge, Status: 413, Message: fmt.Sprintf("The body is longer than %d bytes.", limit)}
}

// readBody answers with a part of a body: how (next, text or bytes) and the body's id.
func (c Call) readBody() {
	how, id := c.Args.String(0), c.Args.Int(1)
	s := c.Engine.Body(id)
	if s == nil {
		c.Settle(nil, &Thrown{Name: "TypeError", Message: "The body is gone: it was read, or what it belonged to has ended."})
		return
	}
	c.Go(func(context.Context) (any, error) {
		if how == "next" {
			return c.nextPiece(id, s)
		}
		data, err := s.Whole(c.Engine.config.Limits.Body)
		switch {
		case err != nil:
			return nil, err
		case how == "text":
			return decodeUTF8(data), nil
		}
		return toBase64(data), nil
	})
}

// nextPiece is nil at the body's end.
func (c Call) nextPiece(id int64, s Source) (any, error) {
	data, err := s.Next()
	switch {
	case errors.Is(err, io.EOF):
		c.Engine.Let(id)
		return nil, nil
	case err != nil:
		return nil, err
	}
	return toBase64(data), nil
}

// drop lets a body go that the script does not want.
func (c Call) drop() (any, error) {
	if s := c.Engine.Let(c.Args.Int(0)); s != nil {
		s.Drop()
	}
	return nil, nil
}

// NewSource is a body that comes from a reader; done is called once, when it has ended or was dropped. It may be nil.
func NewSource(r io.ReadCloser, done func()) Source { return &readerSource{r: r, done: done} }

type readerSource struct {
	r    io.ReadCloser
	done func()
	once sync.Once
}

// Next reads what there is, at most 32 KiB.
func (s *readerSource) Next() ([]byte, error) {
	b := make([]byte, 32<<10)
	for {
		n, err := s.r.Read(b)
		if n > 0 {
			return b[:n], nil
		}
		if err != nil {
			s.Drop()
			return nil, err
		}
	}
}

// Whole reads all of it.
func (s *readerSource) Whole(limit int64) ([]byte, error) {
	defer s.Drop()
	data, err := io.ReadAll(io.LimitReader(s.r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = TooLong(limit)
	}
	return data, err
}

// Drop closes the reader.
func (s *readerSource) Drop() {
	s.once.Do(func() {
		_ = s.r.Close()
		if s.done != nil {
			s.done()
		}
	})
}

func toBase64(data []byte) string            { return base64.StdEncoding.EncodeToString(data) }
func fromBase64(text string) ([]byte, error) { return base64.StdEncoding.DecodeString(text) }
