package sqldb

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// probeEvery is how long a silent connection is believed.
const probeEvery = 30 * time.Second

// listener hears what other handles notify, on a connection of its own. It begins with the first function.
type listener struct {
	config *pgx.ConnConfig
	id     string
	log    *slog.Logger
	stop   context.CancelFunc
	ctx    context.Context // of the goroutine
	ended  sync.WaitGroup

	mu     sync.Mutex
	fns    []func([]string)
	stands bool // the connection hears
}

func newListener(config *pgx.ConnConfig, id string, log *slog.Logger) *listener {
	config = config.Copy()
	config.BuildContextWatcherHandler = newWaiter
	l := &listener{config: config, id: id, log: log}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

func (l *listener) add(fn func([]string)) {
	if l.register(fn) {
		fn(nil)
	}
}

// register reports whether the connection stands already.
func (l *listener) register(fn func([]string)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fns = append(l.fns, fn)
	if len(l.fns) == 1 {
		l.ended.Go(l.run)
	}
	return l.stands
}

func (l *listener) close() {
	l.stop()
	l.ended.Wait()
}

func (l *listener) run() {
	wait := backoff{}
	for l.ctx.Err() == nil {
		stood, err := l.hear()
		if stood {
			wait = backoff{}
		}
		if l.ctx.Err() == nil {
			l.log.Warn("listen to other nodes", "error", err)
			wait.sleep(l.ctx)
		}
	}
}

// hear passes on notifications until the connection is lost, and reports whether it ever stood.
func (l *listener) hear() (stood bool, err error) {
	conn, err := pgx.ConnectConfig(l.ctx, l.config.Copy())
	if err != nil {
		return false, err
	}
	defer hangUp(conn)
	if _, err := conn.Exec(l.ctx, "LISTEN "+channel); err != nil {
		return false, err
	}
	l.setStands(true)
	defer l.setStands(false)
	l.tell(nil)
	for {
		payload, err := l.next(conn)
		if err != nil {
			return true, err
		}
		l.pass(payload)
	}
}

// next waits for a notification, and asks a silent connection whether it lives.
func (l *listener) next(conn *pgx.Conn) (string, error) {
	for {
		ctx, cancel := context.WithTimeout(l.ctx, probeEvery)
		n, err := conn.WaitForNotification(ctx)
		cancel()
		switch {
		case err == nil:
			return n.Payload, nil
		case !pgconn.Timeout(err) || l.ctx.Err() != nil:
			return "", err
		}
		ctx, cancel = context.WithTimeout(l.ctx, 5*time.Second)
		err = conn.Ping(ctx)
		cancel()
		if err != nil {
			return "", err
		}
	}
}

// pass tells what another handle sent; an id alone means that something was missed.
func (l *listener) pass(payload string) {
	id, keys, found := strings.Cut(payload, "\n")
	switch {
	case id == l.id:
	case !found:
		l.tell(nil)
	default:
		l.tell(strings.Split(keys, "\n"))
	}
}

func (l *listener) setStands(stands bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stands = stands
}

func (l *listener) tell(keys []string) {
	l.mu.Lock()
	fns := l.fns[:len(l.fns):len(l.fns)]
	l.mu.Unlock()
	for _, fn := range fns {
		fn(keys)
	}
}
