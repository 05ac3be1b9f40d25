package sqldb

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// observer hears of every statement on PostgreSQL, in groups too, before it is sent.
type observer func(query string, args []any)

func (o observer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if ctx != ended {
		o(q.SQL, q.Args)
	}
	return ctx
}

func (o observer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (o observer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	for _, q := range b.Batch.QueuedQueries {
		o(q.SQL, q.Arguments)
	}
	return ctx
}

func (o observer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (o observer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
