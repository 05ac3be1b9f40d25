package sqldb

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// How a connection to PostgreSQL finds out that the other side is gone: by silence where bytes of ours are not acknowledged,
// by probes where there is nothing to say.
const (
	connectTimeout = 3 * time.Second
	userTimeout    = 5 * time.Second
	probeIdle      = 5 * time.Second
	probeInterval  = 2 * time.Second
	probeCount     = 2
)

// wire is a network connection that can be cut off. The driver ends a call whose context ended with 15 seconds of courtesies
// to a server that may be gone, and the connection's place in its pool is taken all that time; a wire that was cut off has
// nobody left to be polite to. What the server still does for it ends by statement_timeout.
type wire struct {
	net.Conn
	cut atomic.Bool
}

// severed is the address of a wire that was cut off. Nobody can be dialed there.
type severed struct{ net.Addr }

const severedNetwork = "severed"

func (severed) Network() string { return severedNetwork }

func (w *wire) RemoteAddr() net.Addr {
	if w.cut.Load() {
		return severed{w.Conn.RemoteAddr()}
	}
	return w.Conn.RemoteAddr()
}

// Read says of a wire that was cut off what the driver expects of a call whose context ended.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	return n, w.why(err)
}

func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	return n, w.why(err)
}

func (w *wire) why(err error) error {
	if err != nil && w.cut.Load() {
		return os.ErrDeadlineExceeded
	}
	return err
}

func (w *wire) cutOff() {
	w.cut.Store(true)
	_ = w.Conn.Close() // nothing is left to be told
}

// dial opens a wire within connectTimeout.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	if network == severedNetwork {
		return nil, net.ErrClosed
	}
	dialer := net.Dialer{
		Timeout: connectTimeout, Control: limitSilence,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: probeIdle, Interval: probeInterval, Count: probeCount},
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: conn}, nil
}

// avoid is how long an address is passed over that could not be dialed, where there is another to go to.
const avoid = 10 * time.Second

// detour dials like dial, but does not wait again for an address that has just been waited for in vain. The driver tries the
// addresses of a cluster in their order for every connection: each would pay for a dead one.
type detour struct {
	mu   sync.Mutex
	dead map[string]time.Time // until when
}

func (d *detour) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	dead := time.Now().Before(d.dead[address])
	d.mu.Unlock()
	if dead {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errDead}
	}
	conn, err := dial(ctx, network, address)
	if failed, ok := errors.AsType[net.Error](err); ok && failed.Timeout() {
		d.mu.Lock()
		d.dead[address] = time.Now().Add(avoid)
		d.mu.Unlock()
	}
	return conn, err
}

var errDead = errors.New("the address did not answer a moment ago")

// ender ends a driver's call at once when its context does.
type ender struct{ conn net.Conn }

func newEnder(c *pgconn.PgConn) ctxwatch.Handler { return ender{c.Conn()} }

func (e ender) HandleCancel(context.Context) {
	conn := e.conn
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	if w, ok := conn.(*wire); ok {
		w.cutOff()
		return
	}
	_ = conn.SetDeadline(time.Now())
}

func (e ender) HandleUnwatchAfterCancel() {}

// newWaiter ends a driver's call when its context does, and keeps the connection: for one that waits for what may not come.
func newWaiter(c *pgconn.PgConn) ctxwatch.Handler {
	return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
}
