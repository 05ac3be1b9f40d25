package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

const (
	committers  = 4
	groupRows   = 64
	groupBytes  = 128 << 10 // of one group: what fits into a socket holds its locks for a moment only
	commitQueue = 4096
	// lockWait is how long a group waits for a row that another transaction holds. Its neighbours are then tried alone.
	lockWait = "250ms"
)

// committer is PostgreSQL's group commit: statements that wait at the same time share a round trip and a commit. Each is a
// transaction by itself otherwise, and its refusal is a missing row, never an error.
type committer struct {
	groups *pgxpool.Pool // for groups, whose waits for locks are short
	alone  *pgxpool.Pool // for statements by themselves
	limit  time.Duration // of a group, and of a statement that goes alone
	queue  chan *statement
	ended  chan struct{} // closed when nobody commits any more
	single sync.WaitGroup
}

// statement changes one stream's row and answers with at most one row.
type statement struct {
	query  string
	args   []any
	stream svc.Stream // a group is sorted by it, so that two groups never wait for each other in a circle
	dest   []any      // belongs to the committer until the statement is done
	bytes  int        // of its arguments, about
	left   atomic.Bool
	done   chan error
}

func newCommitter(groups, alone *pgxpool.Pool, limit time.Duration) *committer {
	return &committer{groups: groups, alone: alone, limit: limit, queue: make(chan *statement, commitQueue), ended: make(chan struct{})}
}

// do returns when the statement is durable; pgx.ErrNoRows is its refusal. It does not end with ctx once it is queued, but
// with its time: then the error leaves open whether it took place, and what it was to fill may not be read.
func (c *committer) do(ctx context.Context, s *statement) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.done, s.bytes = make(chan error, 1), weigh(s.args)
	select {
	case c.queue <- s:
	default:
		return svc.ErrBusy
	}
	late := time.NewTimer(c.allowed(ctx))
	defer late.Stop()
	select {
	case err := <-s.done:
		return err
	case <-late.C:
		s.left.Store(true)
		return sqldb.ErrOverdue
	case <-c.ended:
	}
	select {
	case err := <-s.done:
		return err
	default:
		return sqldb.ErrClosed
	}
}

// allowed is how long a caller waits: until the deadline of ctx where that is sooner.
func (c *committer) allowed(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(c.limit, time.Until(deadline))
	}
	return c.limit
}

func weigh(args []any) int {
	n := 0
	for _, a := range args {
		switch a := a.(type) {
		case []byte:
			n += len(a)
		case string:
			n += len(a)
		case [][]byte:
			for _, b := range a {
				n += len(b)
			}
		}
	}
	return n
}

// run takes what waits and commits it, until ctx ends.
func (c *committer) run(ctx context.Context) {
	for {
		select {
		case s := <-c.queue:
			c.commit(c.gather(s))
		case <-ctx.Done():
			return
		}
	}
}

// close ends those who wait, when nothing is committed any more.
func (c *committer) close() {
	c.single.Wait()
	close(c.ended)
	c.groups.Close()
}

func (c *committer) gather(first *statement) []*statement {
	group, bytes := []*statement{first}, first.bytes
	for len(group) < groupRows && bytes < groupBytes {
		select {
		case s := <-c.queue:
			group, bytes = append(group, s), bytes+s.bytes
		default:
			return group
		}
	}
	return group
}

// commit answers a group. What cannot be done together is tried alone, beside the groups that follow, so that a stream whose
// row is held delays no other. So is what is large: it would hold the rows of the group while it travels.
func (c *committer) commit(group []*statement) {
	group = slices.DeleteFunc(group, func(s *statement) bool {
		if s.bytes >= groupBytes {
			c.tryAlone(s)
		}
		return s.bytes >= groupBytes || s.left.Load()
	})
	if len(group) == 0 {
		return
	}
	answers, err := c.together(group)
	for i, s := range group {
		switch {
		case err == nil:
			s.done <- answers[i]
		case undone(err):
			c.tryAlone(s)
		default:
			s.done <- err
		}
	}
}

func (c *committer) tryAlone(s *statement) {
	c.single.Go(func() { s.done <- c.lonely(s) })
}

func (c *committer) lonely(s *statement) error {
	if s.left.Load() {
		return sqldb.ErrOverdue
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	return c.alone.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if s.bytes >= sqldb.Heavy {
			defer sqldb.Forget(conn.Conn())
		}
		return conn.QueryRow(ctx, s.query, s.args...).Scan(s.dest...)
	})
}

// together runs a group as one transaction. The answers count only once it has ended.
func (c *committer) together(group []*statement) (answers []error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	if len(group) == 1 {
		err := c.groups.QueryRow(ctx, group[0].query, group[0].args...).Scan(group[0].dest...)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return nil, err
		}
		return []error{err}, nil
	}
	slices.SortFunc(group, func(a, b *statement) int { return compareStreams(a.stream, b.stream) })
	var batch pgx.Batch
	for _, s := range group {
		batch.Queue(s.query, s.args...)
	}
	results := c.groups.SendBatch(ctx, &batch)
	for _, s := range group {
		err := results.QueryRow().Scan(s.dest...)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return nil, errors.Join(err, results.Close())
		}
		answers = append(answers, err)
	}
	if err := results.Close(); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	return answers, nil
}

func compareStreams(a, b svc.Stream) int {
	return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}

// undone reports whether the server itself said that a statement failed: then nothing of its group is written, and each may
// be tried alone. When the connection was lost nobody knows. The severity that counts is the one that no server translates.
func undone(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.SeverityUnlocalized == "ERROR"
}
