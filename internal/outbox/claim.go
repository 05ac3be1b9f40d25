package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// Claim is a row that is this node's to try until its lease ends.
type Claim[R any] struct {
	Row     R
	Attempt int64 // from 1; the fence: the next claim raises it
	Created time.Time
	// Stopped reports whether Run is to end: an attempt that failed may have been cut short by us.
	Stopped func() bool
}

// Verdict is what an attempt came to.
type Verdict struct {
	verb  verb
	next  time.Time
	write func(*sqldb.Tx) error
}

type verb int

const (
	done verb = iota
	again
	dead
)

// Done says that nothing is left to do. The write takes the row away, or out of the state queued, whoever's it is by now.
func Done(write func(*sqldb.Tx) error) Verdict { return Verdict{verb: done, write: write} }

// Again says that the row is due again at a time.
func Again(next time.Time) Verdict { return Verdict{verb: again, next: next} }

// Dead gives the row up. The write is of the same transaction, and takes place only if the row was still ours.
func Dead(write func(*sqldb.Tx) error) Verdict { return Verdict{verb: dead, write: write} }

// earliest is when the next row may be tried; some is false when none waits.
func (q *Queue[R]) earliest(ctx context.Context) (at time.Time, some bool, err error) {
	ms, err := sqldb.Read(ctx, q.DB, func(tx *sqldb.Tx) (sql.NullInt64, error) {
		return sqldb.Column[sql.NullInt64](tx.QueryRow("SELECT MIN(next_at) FROM " + q.Table.Name + " WHERE state = 'queued'"))
	})
	if err != nil {
		return at, false, fmt.Errorf("look for %s: %w", q.Table.Rows, err)
	}
	return time.UnixMilli(ms.Int64), ms.Valid, nil
}

// claim takes up to n rows that are due, the longest waiting first. Two nodes never hold the same one.
func (q *Queue[R]) claim(ctx context.Context, n int) ([]Claim[R], error) {
	now := q.Now()
	claims, err := sqldb.Write(ctx, q.DB, func(tx *sqldb.Tx) ([]Claim[R], error) {
		return sqldb.Collect(tx, q.scan, q.claiming(tx), now.UnixMilli(), now.Add(q.Lease).UnixMilli(), n)
	})
	if err != nil {
		return nil, fmt.Errorf("claim %s: %w", q.Table.Rows, err)
	}
	return claims, nil
}

func (q *Queue[R]) scan(row sqldb.Row) (c Claim[R], err error) {
	var created int64
	err = row.Scan(append([]any{&c.Attempt, &created}, q.Table.Fields(&c.Row)...)...)
	c.Created = time.UnixMilli(created)
	return c, err
}

// claiming leaves out the rows that another node is claiming.
func (q *Queue[R]) claiming(tx *sqldb.Tx) string {
	t := q.Table
	key := strings.Join(t.Key, ", ")
	return `WITH due AS MATERIALIZED (SELECT ` + key + ` FROM ` + t.Name + ` WHERE state = 'queued' AND next_at <= $1
		ORDER BY next_at, created_at, ` + key + ` LIMIT $3` + tx.SkipLocked() + `)
		UPDATE ` + t.Name + ` SET attempts = attempts + 1, next_at = $2 WHERE (` + key + `) IN (SELECT ` + key + ` FROM due)
		RETURNING attempts, created_at, ` + strings.Join(t.Columns, ", ")
}

// settle writes a verdict down, and tries again for a while: what is not written down happens twice.
func (q *Queue[R]) settle(ctx context.Context, c Claim[R], v Verdict) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for {
		err := q.DB.Write(ctx, func(tx *sqldb.Tx) error { return q.write(tx, c, v) })
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || gone(err) {
			return fmt.Errorf("settle %s: %w", q.Table.Rows, err)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

func (q *Queue[R]) write(tx *sqldb.Tx, c Claim[R], v Verdict) error {
	switch v.verb {
	case done:
		return v.write(tx)
	case again:
		_, err := q.change(tx, c, "next_at", v.next.UnixMilli())
		return err
	}
	n, err := q.change(tx, c, "state", "dead")
	if err != nil || n == 0 {
		return err
	}
	return v.write(tx)
}

// change sets a column of a row that is still the claim's.
func (q *Queue[R]) change(tx *sqldb.Tx, c Claim[R], column string, to any) (int64, error) {
	where := ""
	for i, name := range q.Table.Key {
		where += fmt.Sprintf(" AND %s = $%d", name, i+3)
	}
	return tx.Exec("UPDATE "+q.Table.Name+" SET "+column+" = $1 WHERE state = 'queued' AND attempts = $2"+where,
		append([]any{to, c.Attempt}, q.Table.KeyOf(c.Row)...)...)
}
