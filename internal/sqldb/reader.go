package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// readers are goroutines that own a read connection each. SQLite's deep stacks stay on them, so that thousands of
// waiting callers keep small ones.
type readers struct {
	source *sql.DB
	limit  time.Duration // of a read, once it has begun
	queue  chan *read
	all    sync.WaitGroup
	mu     sync.Mutex
	errs   []error
}

// read is one closure handed to a reader.
type read struct {
	fn       func(*Tx) error
	snapshot bool
	left     atomic.Bool // its caller waits no longer
	answer   chan error
}

func startReaders(ctx context.Context, source *sql.DB, o Options) (*readers, error) {
	n := o.Readers
	r := &readers{source: source, limit: o.Timeout, queue: make(chan *read)}
	source.SetMaxOpenConns(n)
	for range n {
		s, err := openSession(ctx, source)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.all.Add(1)
		go r.run(s)
	}
	return r, nil
}

// do waits for a free reader as long as ctx lives, and then for its answer, neither for longer than is allowed.
func (r *readers) do(ctx context.Context, fn func(*Tx) error, snapshot bool) error {
	j := &read{fn: fn, snapshot: snapshot, answer: make(chan error, 1)}
	limit := allowed(ctx, r.limit)
	if err := r.hand(ctx, j, limit); err != nil {
		return err
	}
	err := awaited(j.answer, limit)
	if errors.Is(err, ErrOverdue) {
		j.left.Store(true)
	}
	return err
}

// hand gives a closure to a reader that is free, or comes free in time.
func (r *readers) hand(ctx context.Context, j *read, limit time.Duration) error {
	select {
	case r.queue <- j:
		return nil
	default:
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case r.queue <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return ErrOverdue
	}
}

// close ends the readers; nobody may be in do.
func (r *readers) close() error {
	close(r.queue)
	r.all.Wait()
	return errors.Join(r.errs...)
}

func (r *readers) run(s *session) {
	var current *read
	defer func() {
		// A closure that ended this goroutine, as t.FailNow does, must not take the reader with it.
		if current != nil {
			s.discard()
			current.answer <- errGoexit
			go r.run(nil)
			return
		}
		r.end(s)
	}()
	for current = range r.queue {
		var err error
		if s, err = r.usable(s); err == nil {
			err = s.serve(current)
		}
		current.answer <- err
		current = nil
	}
}

// usable replaces a session whose connection is lost.
func (r *readers) usable(s *session) (*session, error) {
	if s != nil && !s.lost() {
		return s, nil
	}
	if s != nil {
		s.discard()
	}
	fresh, err := openSession(context.Background(), r.source)
	if err != nil {
		return nil, fmt.Errorf("reader: %w", err)
	}
	return fresh, nil
}

func (r *readers) end(s *session) {
	defer r.all.Done()
	if s == nil {
		return
	}
	if err := s.close(); err != nil {
		r.mu.Lock()
		r.errs = append(r.errs, err)
		r.mu.Unlock()
	}
}

// serve runs one read closure.
func (s *session) serve(j *read) error {
	ctx := context.Background()
	tx := &Tx{dialect: SQLite, ctx: ctx, run: s, left: &j.left}
	if !j.snapshot {
		return j.fn(tx)
	}
	if _, err := s.ExecContext(ctx, "BEGIN"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err := j.fn(tx)
	if _, end := s.ExecContext(ctx, "ROLLBACK"); end != nil {
		s.discard()
		return errors.Join(err, end)
	}
	return err
}
