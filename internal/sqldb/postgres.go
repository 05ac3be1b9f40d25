package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// attempts is how often a transaction is tried that others got in the way of.
const attempts = 5

// urgentConns is how many connections are kept for what must wait for nobody: one, and one to go on with while it dies.
const urgentConns = 2

// postgresEngine is pools of connections for writing, for reading and for what is urgent, and the wake-ups between nodes.
type postgresEngine struct {
	writes, reads, urgents *connections
	timeout                time.Duration
	notifier               *notifier
	listener               *listener
}

// connections are a pool of them, as the driver and as database/sql know it.
type connections struct {
	*sql.DB
	pool *pgxpool.Pool
}

func connect(ctx context.Context, config *pgxpool.Config) (*connections, error) {
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &connections{stdlib.OpenDBFromPool(pool), pool}, nil
}

// Close closes the pool too. That of none does nothing.
func (c *connections) Close() error {
	if c == nil {
		return nil
	}
	err := c.DB.Close()
	c.pool.Close()
	return err
}

func openPostgres(ctx context.Context, url string, o Options) (*postgresEngine, error) {
	config, err := poolConfig(url, o)
	if err != nil {
		return nil, err
	}
	id := randomHex()
	e := &postgresEngine{
		timeout: o.Timeout, notifier: newNotifier(config.ConnConfig, id, o.Log), listener: newListener(config.ConnConfig, id, o.Log),
	}
	if err := e.start(ctx, config, o); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *postgresEngine) start(ctx context.Context, config *pgxpool.Config, o Options) (err error) {
	if e.writes, err = connect(ctx, config); err != nil {
		return err
	}
	if e.reads, err = connect(ctx, readConfig(config, o)); err != nil {
		return err
	}
	if e.urgents, err = connect(ctx, urgentConfig(config)); err != nil {
		return err
	}
	return e.writes.pool.Ping(ctx)
}

func poolConfig(url string, o Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	params := config.ConnConfig.RuntimeParams
	params["synchronous_commit"] = "on"
	limit := strconv.FormatInt(o.Timeout.Milliseconds(), 10)
	// A node that is paused inside a transaction must not hold rows that others wait for, and a statement that nobody waits
	// for any more ends too: a connection that was cut off cannot ask for it.
	params[idleTimeout] = limit
	params[statementTimeout] = limit
	params["application_name"] = cmp.Or(params["application_name"], "svc")
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, connectTimeout)
	config.ConnConfig.DialFunc = dial
	if len(config.ConnConfig.Fallbacks) > 0 {
		config.ConnConfig.DialFunc = (&detour{dead: map[string]time.Time{}}).dial
	}
	config.ConnConfig.BuildContextWatcherHandler = newEnder
	if o.Observe != nil {
		config.ConnConfig.Tracer = observer(o.Observe)
	}
	switch {
	case o.Conns > 0:
		config.MaxConns = int32(o.Conns)
	case !strings.Contains(url, "pool_max_conns="):
		config.MaxConns = 16
	}
	return config, nil
}

// The server's own limits, so that a statement or a transaction that nobody waits for ends by itself.
const (
	statementTimeout = "statement_timeout"
	idleTimeout      = "idle_in_transaction_session_timeout"
)

// readConfig makes connections that cannot write: PostgreSQL refuses it, without a BEGIN around each read.
func readConfig(write *pgxpool.Config, o Options) *pgxpool.Config {
	config := write.Copy()
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	config.MinConns, config.MinIdleConns, config.MaxConns = 0, 0, int32(cmp.Or(max(o.Readers, 0), 8))
	return config
}

// urgentConfig makes few connections, all of them for statements that are short.
func urgentConfig(write *pgxpool.Config) *pgxpool.Config {
	config := write.Copy()
	config.MinConns, config.MinIdleConns, config.MaxConns = 0, 0, urgentConns
	return config
}

func (e *postgresEngine) write(ctx context.Context, fn func(*Tx) error) error {
	return e.retry(ctx, false, func(ctx context.Context) error {
		return transact(ctx, e.writes.DB, sql.TxOptions{Isolation: sql.LevelReadCommitted}, e.patiently(ctx, fn))
	})
}

func (e *postgresEngine) snapshot(ctx context.Context, fn func(*Tx) error) error {
	return e.retry(ctx, true, func(ctx context.Context) error {
		return transact(ctx, e.reads.DB, sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, e.patiently(ctx, fn))
	})
}

// read needs no BEGIN around its statements, unless they may take longer than the connection's own limit.
func (e *postgresEngine) read(ctx context.Context, fn func(*Tx) error) error {
	return e.retry(ctx, true, func(ctx context.Context) error {
		if patienceOf(ctx) > e.timeout {
			return transact(ctx, e.reads.DB, sql.TxOptions{ReadOnly: true}, e.patiently(ctx, fn))
		}
		return alone(ctx, e.reads.DB, fn)
	})
}

func (e *postgresEngine) urgent(ctx context.Context, fn func(*Tx) error) error {
	return e.retry(ctx, false, func(ctx context.Context) error { return alone(ctx, e.urgents.DB, fn) })
}

// alone runs statements that are a transaction each.
func alone(ctx context.Context, source *sql.DB, fn func(*Tx) error) error {
	conn, err := source.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return fn(&Tx{dialect: Postgres, ctx: ctx, run: conn})
}

// patiently lifts the server's own limit for a transaction that may take longer.
func (e *postgresEngine) patiently(ctx context.Context, fn func(*Tx) error) func(*Tx) error {
	d := patienceOf(ctx)
	if d <= e.timeout {
		return fn
	}
	return func(tx *Tx) error {
		_, err := tx.Exec("SELECT set_config($1, $2, TRUE)", statementTimeout, strconv.FormatInt(d.Milliseconds(), 10))
		if err != nil {
			return err
		}
		return fn(tx)
	}
}

func transact(ctx context.Context, source *sql.DB, o sql.TxOptions, fn func(*Tx) error) error {
	conn, err := source.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer conn.Close()
	inner, err := conn.BeginTx(ctx, &o)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	tx := &Tx{dialect: Postgres, ctx: ctx, run: inner}
	// Undoes what was not committed, also when fn ends its goroutine.
	defer func() {
		_ = inner.Rollback()
		if tx.bytes >= Heavy {
			forget(conn)
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if err := inner.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// retry does it again, after a moment, when others got in its way, all within the time that is allowed. A connection that was
// lost is no answer either: a read may always be asked again, a write while nothing of it was sent.
func (e *postgresEngine) retry(ctx context.Context, reads bool, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, allowed(ctx, e.timeout))
	defer cancel()
	for n := 1; ; n++ {
		err := overdue(ctx, do(ctx))
		if n == attempts || !repeatable(err) && !pgconn.SafeToRetry(err) && !(reads && unreached(err)) {
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
	switch sqlState(err) {
	case "40001", "40P01": // serialization failure, deadlock
		return true
	case "0A000": // a newer node changed the table of a statement prepared here; the driver has forgotten it by now
		return true
	}
	return false
}

// IsTaken reports whether err says that another row has a value which may be there once. On SQLite, where nobody else writes
// meanwhile, a look before the statement is as good.
func IsTaken(err error) bool { return sqlState(err) == "23505" }

// sqlState is PostgreSQL's code of an error, empty where the server did not speak.
func sqlState(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

func (e *postgresEngine) notify(keys []string)     { e.notifier.add(keys) }
func (e *postgresEngine) listen(fn func([]string)) { e.listener.add(fn) }
func (e *postgresEngine) pool() *pgxpool.Pool      { return e.writes.pool }

func (e *postgresEngine) close() error {
	e.notifier.close()
	e.listener.close()
	return errors.Join(e.urgents.Close(), e.reads.Close(), e.writes.Close())
}
