package front_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc/internal/front"
)

func listen(t *testing.T, limits front.Limits) *front.Listener {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := front.Listen(inner, limits)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// dial connects from a loopback address.
func dial(t *testing.T, l net.Listener, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := d.Dial("tcp", l.Addr().String())
	if errors.Is(err, syscall.ECONNRESET) {
		return nil // ended before it was begun
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// closed reports whether the other side has ended a connection, or does so within that time.
func closed(t *testing.T, conn net.Conn, within time.Duration) bool {
	t.Helper()
	if conn == nil {
		return true
	}
	_ = conn.SetReadDeadline(time.Now().Add(within))
	_, err := conn.Read(make([]byte, 1))
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// eventually waits for something that takes a moment.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

// takes is what takes its time in a scene. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

func TestConnectionsAreCountedInAllAndByAddress(t *testing.T) {
	var refused atomic.Int32
	l := listen(t, front.Limits{
		Connections: 5, PerAddress: 2, Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}, Refused: func() { refused.Add(1) },
	})
	accepted := make(chan net.Conn, 16)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	for i, c := range []struct {
		from   string
		closed bool
	}{
		{"127.0.0.1", false}, {"127.0.0.1", false}, {"127.0.0.1", true},
		{"127.0.0.2", false}, {"127.0.0.9", false}, {"127.0.0.9", false}, {"127.0.0.3", true},
	} {
		within := 200 * time.Millisecond
		if c.closed {
			within = 20 * time.Second
		}
		if got := closed(t, dial(t, l, c.from), within); got != c.closed {
			t.Errorf("connection %d from %s: closed %t", i, c.from, got)
		}
	}
	eventually(t, "the two that were closed are told of", func() bool { return refused.Load() == 2 })
	if l.Count() != 5 || refused.Load() != 2 {
		t.Errorf("%d connections, %d refused", l.Count(), refused.Load())
	}
	first := <-accepted
	_ = first.Close()
	_ = first.Close()
	if l.Count() != 4 || closed(t, dial(t, l, "127.0.0.1"), 200*time.Millisecond) {
		t.Errorf("%d connections after one has left", l.Count())
	}
}

// TestAReaderThatStandsStillIsLetGo serves an answer that is longer than all buffers, to a client that does not read. The
// handler says nothing of deadlines, or lifts them.
func TestAReaderThatStandsStillIsLetGo(t *testing.T) {
	l := listen(t, front.Limits{Write: 300 * time.Millisecond})
	ended := make(chan error, 2)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lifted" {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		}
		var err error
		for chunk := make([]byte, 1<<20); err == nil; {
			_, err = w.Write(chunk)
		}
		ended <- err
	})}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	for _, path := range []string{"/", "/lifted"} {
		conn := dial(t, l, "127.0.0.1")
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			t.Fatalf("%s is still being written", path)
		}
	}
}

func TestAReaderThatIsSlowIsNot(t *testing.T) {
	l := listen(t, front.Limits{Write: 300 * time.Millisecond})
	const size = 64 << 10
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 8 {
			_, _ = io.WriteString(w, strings.Repeat("x", size))
			_ = http.NewResponseController(w).Flush()
			takes(100 * time.Millisecond)
		}
	})}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	res, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, res.Body); err != nil || n != 8*size {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestNetworkOfAnAddress(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::", "::1": "::",
	} {
		if got := front.Network(netip.MustParseAddr(in)).String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
