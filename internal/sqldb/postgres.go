package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// attempts is how often a transaction is tried that others got in the way of.
const attempts = 5

// postgresEngine is a pool of write connections, a pool of read connections, and the wake-ups between nodes.
type postgresEngine struct {
	writePool, readPool *pgxpool.Pool
	writes, reads       *sql.DB
	notifier            *notifier
	listener            *listener
}

func openPostgres(ctx context.Context, url string, o Options) (*postgresEngine, error) {
	config, err := poolConfig(url, o)
	if err != nil {
		return nil, err
	}
	e := &postgresEngine{}
	if e.writePool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if e.readPool, err = pgxpool.NewWithConfig(ctx, readConfig(config, o)); err != nil {
		e.writePool.Close()
		return nil, err
	}
	e.writes, e.reads = stdlib.OpenDBFromPool(e.writePool), stdlib.OpenDBFromPool(e.readPool)
	id := randomHex()
	e.notifier = newNotifier(config.ConnConfig, id, o.Log)
	e.listener = newListener(config.ConnConfig, id, o.Log)
	if err := e.writePool.Ping(ctx); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func poolConfig(url string, o Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	params := config.ConnConfig.RuntimeParams
	params["synchronous_commit"] = "on"
	// A node that is paused inside a transaction must not hold rows that others wait for.
	params["idle_in_transaction_session_timeout"] = "30s"
	if params["application_name"] == "" {
		params["application_name"] = "svc"
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	switch {
	case o.Conns > 0:
		config.MaxConns = int32(o.Conns)
	case !strings.Contains(url, "pool_max_conns="):
		config.MaxConns = 16
	}
	return config, nil
}

// readConfig makes connections that cannot write: PostgreSQL refuses it, without a BEGIN around each read.
func readConfig(write *pgxpool.Config, o Options) *pgxpool.Config {
	config := write.Copy()
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	config.MinConns, config.MinIdleConns = 0, 0
	config.MaxConns = 8
	if o.Readers > 0 {
		config.MaxConns = int32(o.Readers)
	}
	return config
}

func (e *postgresEngine) write(ctx context.Context, fn func(*Tx) error) error {
	return retry(ctx, func() error {
		return transact(ctx, e.writes, sql.TxOptions{Isolation: sql.LevelReadCommitted}, fn)
	})
}

func (e *postgresEngine) snapshot(ctx context.Context, fn func(*Tx) error) error {
	return retry(ctx, func() error {
		return transact(ctx, e.reads, sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, fn)
	})
}

func (e *postgresEngine) read(ctx context.Context, fn func(*Tx) error) error {
	return retry(ctx, func() error {
		conn, err := e.reads.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return fn(&Tx{dialect: Postgres, ctx: ctx, run: conn})
	})
}

func transact(ctx context.Context, source *sql.DB, o sql.TxOptions, fn func(*Tx) error) error {
	inner, err := source.BeginTx(ctx, &o)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	// Undoes what was not committed, also when fn ends its goroutine.
	defer func() { _ = inner.Rollback() }()
	if err := fn(&Tx{dialect: Postgres, ctx: ctx, run: inner}); err != nil {
		return err
	}
	if err := inner.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// retry does it again, after a moment, when others got in its way.
func retry(ctx context.Context, do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if n == attempts || !repeatable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(n) * time.Duration(1+rand.IntN(5)) * time.Millisecond):
		}
	}
}

// repeatable reports whether err undid the transaction for a reason that will pass.
func repeatable(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case "40001", "40P01": // serialization failure, deadlock
		return true
	case "0A000": // a newer node changed the table of a statement prepared here; the driver has forgotten it by now
		return strings.Contains(pg.Message, "cached plan")
	}
	return false
}

func (e *postgresEngine) notify(keys []string)     { e.notifier.add(keys) }
func (e *postgresEngine) listen(fn func([]string)) { e.listener.add(fn) }
func (e *postgresEngine) pool() *pgxpool.Pool      { return e.writePool }

func (e *postgresEngine) close() error {
	e.notifier.close()
	e.listener.close()
	err := errors.Join(e.writes.Close(), e.reads.Close())
	e.readPool.Close()
	e.writePool.Close()
	return err
}
