package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	maxQueue      = 4096    // closures that wait
	maxGroup      = 256     // closures in one commit
	maxGroupBytes = 1 << 20 // bytes of arguments in one commit
)

// errGoexit answers a closure that ended the goroutine it ran on, as t.FailNow does.
var errGoexit = errors.New("database closure ended its goroutine")

// writer owns the only write connection. It commits together what has queued up while the last commit was
// synced, so a lone write waits for nobody and many writes share one fsync.
type writer struct {
	source  *sql.DB
	limit   time.Duration // of a write, once it is queued
	session *session
	queue   chan *write
	group   []*write   // begun and not all answered
	mu      sync.Mutex // held while a group is worked on
	failed  *failure
	done    chan struct{}
	commit  func() error // replaced by tests
	there   func() error // whether what was committed can be found again
}

// write is one closure that waits for its commit.
type write struct {
	fn       func(*Tx) error
	taken    atomic.Bool // by the writer, or by a caller that left
	left     atomic.Bool // its caller waits no longer: what has not run yet must not
	over     atomic.Bool // between the caller and the writer: its caller has left, or is answered
	late     func()      // what to do when it is committed after its caller has left
	answered bool
	answer   chan error
}

func startWriter(ctx context.Context, source *sql.DB, there func() error, o Options, failed *failure) (*writer, error) {
	s, err := openSession(ctx, source)
	if err != nil {
		return nil, err
	}
	w := &writer{source: source, limit: o.Timeout, session: s, queue: make(chan *write, maxQueue), failed: failed, there: there, done: make(chan struct{})}
	w.commit = func() error { return w.exec("COMMIT") }
	go w.run()
	return w, nil
}

// do queues fn and waits for its outcome, as long as is allowed. A caller whose context or time ends before fn began takes it
// back.
func (w *writer) do(ctx context.Context, fn func(*Tx) error) error {
	if err := w.failed.err(); err != nil {
		return err
	}
	j := &write{fn: fn, late: latenessOf(ctx), answer: make(chan error, 1)}
	select {
	case w.queue <- j:
	default:
		return ErrBusy
	}
	late := time.NewTimer(allowed(ctx, w.limit))
	defer late.Stop()
	select {
	case err := <-j.answer:
		return err
	case <-ctx.Done():
		if j.take() {
			return ctx.Err()
		}
	case <-late.C:
		return j.leave()
	}
	select {
	case err := <-j.answer:
		return err
	case <-late.C:
		return j.leave()
	}
}

// close ends the writer; nobody may be in do.
func (w *writer) close() error {
	close(w.queue)
	<-w.done
	return w.session.close()
}

func (w *writer) run() {
	orderly := false
	defer func() {
		if orderly {
			close(w.done)
			return
		}
		w.abandon()
		go w.run()
	}()
	for j := range w.queue {
		w.serve(j)
	}
	orderly = true
}

// abandon answers a group whose goroutine was ended by one of its closures.
func (w *writer) abandon() {
	_ = w.rollback()
	w.answer(errGoexit)
	w.mu.Unlock()
}

// serve commits first together with what is queued behind it.
func (w *writer) serve(first *write) {
	if !first.take() {
		return
	}
	w.mu.Lock()
	w.group = append(w.group[:0], first)
	err := w.begin()
	if err == nil {
		err = w.gather()
	}
	if err != nil && len(w.group) > 1 {
		w.replay()
	}
	w.answer(err)
	clear(w.group) // closures hold what they wrote
	w.mu.Unlock()
}

// begin starts a transaction, on a new connection if the old one is lost.
func (w *writer) begin() error {
	if err := w.failed.err(); err != nil {
		return err
	}
	err := w.exec("BEGIN IMMEDIATE")
	if lost(err) {
		if err = w.reconnect(); err == nil {
			err = w.exec("BEGIN IMMEDIATE")
		}
	}
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return nil
}

// gather runs the group's closures, takes more as long as they are queued, and commits. When one of them fails,
// the whole transaction is undone.
func (w *writer) gather() error {
	bytes := 0
	for n := 0; n < len(w.group); n++ {
		more, err := w.apply(w.group[n])
		if err != nil {
			return w.undo(err)
		}
		if bytes += more; bytes < maxGroupBytes && len(w.group) < maxGroup {
			w.next()
		}
	}
	return w.finish()
}

// next adds to the group what is queued, if anything is.
func (w *writer) next() {
	for {
		select {
		case j, open := <-w.queue:
			if !open {
				return
			}
			if j.take() {
				w.group = append(w.group, j)
				return
			}
		default:
			return
		}
	}
}

// apply runs one closure and returns the bytes of its arguments.
func (w *writer) apply(j *write) (int, error) {
	// A context that can end would make the driver start a goroutine for every statement.
	tx := &Tx{dialect: SQLite, ctx: context.Background(), run: w.session, left: &j.left}
	if j.left.Load() {
		return 0, ErrOverdue
	}
	err := j.fn(tx)
	return tx.bytes, err
}

// finish commits. An error is fatal, for a failed fsync cannot be tried again, but for two that leave the transaction as it
// was, to be undone: a constraint that was deferred to the commit, and a disk without room for it. A commit to files that the
// next start would not find is none: nobody is told that it took place.
func (w *writer) finish() error {
	err := w.commit()
	if err == nil {
		err = w.there()
	}
	if err == nil {
		return nil
	}
	switch code(err) & 0xff {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_FULL:
		return w.undo(err)
	}
	w.failed.set(fmt.Errorf("commit: %w", err))
	return w.failed.err()
}

// undo rolls back because of err, and returns it unless there is worse.
func (w *writer) undo(err error) error {
	if worse := w.rollback(); worse != nil {
		return worse
	}
	return err
}

// rollback ends the transaction; SQLite may have done so itself after an I/O error.
func (w *writer) rollback() error {
	err := w.exec("ROLLBACK")
	if err == nil || strings.Contains(err.Error(), "no transaction is active") {
		return nil
	}
	w.failed.set(fmt.Errorf("rollback: %w", err))
	return w.failed.err()
}

// replay gives each closure of a group that was undone a transaction of its own, so that only the guilty fail.
func (w *writer) replay() {
	for _, j := range w.group {
		j.reply(w.alone(j))
	}
}

func (w *writer) alone(j *write) error {
	if err := w.begin(); err != nil {
		return err
	}
	if _, err := w.apply(j); err != nil {
		return w.undo(err)
	}
	return w.finish()
}

// answer tells the same to all of the group that were not told yet.
func (w *writer) answer(err error) {
	for _, j := range w.group {
		j.reply(err)
	}
}

func (w *writer) exec(query string) error {
	_, err := w.session.ExecContext(context.Background(), query)
	return err
}

func (w *writer) reconnect() error {
	w.session.discard()
	s, err := openSession(context.Background(), w.source)
	if err != nil {
		return err
	}
	w.session = s
	return nil
}

// take claims the closure for running and reports false when its caller has left.
func (j *write) take() bool { return j.taken.CompareAndSwap(false, true) }

// leave gives up waiting. A closure that has begun may still be committed; what of it has not run yet does not.
func (j *write) leave() error {
	if !j.over.CompareAndSwap(false, true) {
		return <-j.answer
	}
	j.taken.Store(true)
	j.left.Store(true)
	return ErrOverdue
}

func (j *write) reply(err error) {
	if j.answered {
		return
	}
	j.answered = true
	switch {
	case j.over.CompareAndSwap(false, true):
		j.answer <- err
	case err == nil && j.late != nil:
		go j.late()
	}
}

// code is SQLite's extended result code, and 0 for another error.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}
