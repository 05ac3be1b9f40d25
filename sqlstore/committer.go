package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

const (
	committers    = 4
	committerRows = 64
	commitQueue   = 4096
	commitTimeout = time.Minute
)

// committer is PostgreSQL's group commit: statements that wait at the same time share a round trip and a commit. Each is a
// transaction by itself otherwise, and its refusal is a missing row, never an error.
type committer struct {
	pool  *pgxpool.Pool
	queue chan *statement
	ended chan struct{} // closed when nobody commits any more
}

// statement changes one stream's row and answers with at most one row.
type statement struct {
	query string
	args  []any
	row   int64 // of the stream: a group is sorted by it, so that two groups never wait for each other in a circle
	dest  []any
	done  chan error
}

func newCommitter(pool *pgxpool.Pool) *committer {
	return &committer{pool: pool, queue: make(chan *statement, commitQueue), ended: make(chan struct{})}
}

// do returns when the statement is durable; pgx.ErrNoRows is its refusal. It does not end with ctx once it has begun.
func (c *committer) do(ctx context.Context, s *statement) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.done = make(chan error, 1)
	select {
	case c.queue <- s:
	default:
		return svc.ErrBusy
	}
	select {
	case err := <-s.done:
		return err
	case <-c.ended:
	}
	select {
	case err := <-s.done:
		return err
	default:
		return sqldb.ErrClosed
	}
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

func (c *committer) gather(first *statement) []*statement {
	group := []*statement{first}
	for len(group) < committerRows {
		select {
		case s := <-c.queue:
			group = append(group, s)
		default:
			return group
		}
	}
	return group
}

func (c *committer) commit(group []*statement) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	if len(group) > 1 {
		answers, err := c.together(ctx, group)
		if err == nil {
			for i, s := range group {
				s.done <- answers[i]
			}
			return
		}
		if !undone(err) {
			for _, s := range group {
				s.done <- err
			}
			return
		}
	}
	for _, s := range group {
		s.done <- c.pool.QueryRow(ctx, s.query, s.args...).Scan(s.dest...)
	}
}

// together runs a group as one transaction. The answers count only once it has ended.
func (c *committer) together(ctx context.Context, group []*statement) (answers []error, err error) {
	slices.SortFunc(group, func(a, b *statement) int { return cmp.Compare(a.row, b.row) })
	var batch pgx.Batch
	for _, s := range group {
		batch.Queue(s.query, s.args...)
	}
	results := c.pool.SendBatch(ctx, &batch)
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

// undone reports whether the server itself said that a statement failed: then nothing of its group is written, and each may
// be tried alone. When the connection was lost nobody knows.
func undone(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Severity == "ERROR"
}
