package sqldb

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

const (
	// channel is where all nodes of one database meet.
	channel = "svc_wake"
	// maxPayload stays below PostgreSQL's limit of 8,000 bytes.
	maxPayload = 7900
	// maxKeys is how many keys wait; beyond it one "something was missed" takes their place.
	maxKeys = 10_000
	// notifyPause is the least time between two sendings.
	notifyPause = 7 * time.Millisecond
)

// notifier gathers keys and sends them on a connection of its own, never inside a transaction: NOTIFY holds a lock
// of the whole server until its commit. It begins with the first key.
type notifier struct {
	config *pgx.ConnConfig
	id     string
	log    *slog.Logger
	wake   chan struct{}
	stop   context.CancelFunc
	ctx    context.Context // of the goroutine
	ended  sync.WaitGroup

	mu     sync.Mutex
	begun  bool
	keys   map[string]struct{}
	missed bool
}

func newNotifier(config *pgx.ConnConfig, id string, log *slog.Logger) *notifier {
	n := &notifier{config: config, id: id, log: log, wake: make(chan struct{}, 1), keys: map[string]struct{}{}}
	n.ctx, n.stop = context.WithCancel(context.Background())
	return n
}

func (n *notifier) add(keys []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, key := range keys {
		n.keep(key)
	}
	if !n.begun {
		n.begun = true
		n.ended.Go(n.run)
	}
	n.nudge()
}

func (n *notifier) nudge() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// keep holds a key until it is sent. One that cannot travel is sent as "something was missed".
func (n *notifier) keep(key string) {
	if !sendable(key) || len(n.keys) >= maxKeys {
		n.missed = true
		clear(n.keys)
	}
	if !n.missed {
		n.keys[key] = struct{}{}
	}
}

func sendable(key string) bool {
	return key != "" && len(key) < maxPayload/2 && !strings.ContainsAny(key, "\n\x00") && utf8.ValidString(key)
}

// close sends what is left, if that is quick, and ends the goroutine.
func (n *notifier) close() {
	n.stop()
	n.ended.Wait()
}

func (n *notifier) run() {
	var conn *pgx.Conn
	defer func() { hangUp(conn) }()
	wait := backoff{}
	for n.waits() {
		if err := n.send(&conn, n.take(), 5*time.Second); err != nil {
			n.log.Warn("notify other nodes", "error", err)
			n.lose()
			wait.sleep(n.ctx)
			continue
		}
		wait = backoff{}
		pause(n.ctx, notifyPause)
	}
	_ = n.send(&conn, n.take(), time.Second)
}

// waits returns when there is something to send, and false when the notifier shall end.
func (n *notifier) waits() bool {
	select {
	case <-n.ctx.Done():
		return false
	case <-n.wake:
		return n.ctx.Err() == nil
	}
}

// take empties the set into payloads: the sender's id and some keys, a line each; the id alone says that something
// was missed.
func (n *notifier) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.missed {
		n.missed = false
		return []string{n.id}
	}
	if len(n.keys) == 0 {
		return nil
	}
	payloads := packed(n.id, n.keys)
	clear(n.keys)
	return payloads
}

func packed(id string, keys map[string]struct{}) []string {
	var payloads []string
	text := id
	for key := range keys {
		if len(text)+1+len(key) > maxPayload {
			payloads = append(payloads, text)
			text = id
		}
		text += "\n" + key
	}
	return append(payloads, text)
}

// lose remembers that a sending went astray, so that the next one says so.
func (n *notifier) lose() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.missed = true
	clear(n.keys)
	n.nudge()
}

func (n *notifier) send(conn **pgx.Conn, payloads []string, limit time.Duration) error {
	if len(payloads) == 0 {
		return nil
	}
	// Not the notifier's context: closing lets a sending finish.
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if *conn == nil || (*conn).IsClosed() {
		fresh, err := pgx.ConnectConfig(ctx, n.config.Copy())
		if err != nil {
			return err
		}
		*conn = fresh
	}
	for _, payload := range payloads {
		if _, err := (*conn).Exec(ctx, "SELECT pg_notify($1, $2)", channel, payload); err != nil {
			hangUp(*conn)
			return err
		}
	}
	return nil
}

// hangUp closes a connection without waiting long for the other side.
func hangUp(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}
