package operate_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc.dev/svc/internal/notepad"
	"svc.dev/svc/service/operate"
)

// single is a listener of one connection.
type single struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (s *single) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conn:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *single) Close() error   { close(s.closed); return nil }
func (s *single) Addr() net.Addr { return &net.UnixAddr{Name: "admin.sock", Net: "unix"} }

// connect is a command's connection to a handler, which has no buffers: what nobody reads is not written.
func connect(t *testing.T, h http.Handler) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	l := &single{make(chan net.Conn, 1), make(chan struct{})}
	l.conn <- ours
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() {
		theirs.Close()
		srv.Close()
	})
	return theirs
}

func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// takes is what takes its time in a scene. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

const ask = "POST / HTTP/1.1\r\nHost: svc\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"

func TestACommandThatReadsNothingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log notepad.Pad
		ended := make(chan error, 1)
		conn := connect(t, operate.Sending(slog.New(slog.NewTextHandler(&log, nil)), func(w io.Writer) (err error) {
			for chunk := make([]byte, 1<<10); err == nil; {
				_, err = w.Write(chunk)
			}
			ended <- err
			return err
		}))
		begun := time.Now()
		say(t, conn, ask)
		if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) > 2*operate.Stalled {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		synctest.Wait()
		if !strings.Contains(log.String(), "the command has read nothing for 15m0s") {
			t.Errorf("the log says %q", log.String())
		}
	})
}

func TestACommandThatReadsSlowlyIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		conn := connect(t, operate.Sending(slog.New(slog.DiscardHandler), func(w io.Writer) (err error) {
			for range 20 {
				if _, err = w.Write(make([]byte, 1<<10)); err != nil {
					break
				}
			}
			ended <- err
			return err
		}))
		begun := time.Now()
		say(t, conn, ask)
		for buf := make([]byte, 8<<10); ; takes(operate.Stalled / 3) {
			if _, err := conn.Read(buf); err != nil {
				break
			}
		}
		if err := <-ended; err != nil || time.Since(begun) < operate.Stalled {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}

func TestACommandThatSendsNothingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		conn := connect(t, operate.Receiving(func(r io.Reader) error {
			_, err := io.Copy(io.Discard, r)
			ended <- err
			return err
		}))
		begun := time.Now()
		say(t, conn, "POST / HTTP/1.1\r\nHost: svc\r\nContent-Length: 100\r\n\r\nhalf")
		if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) > 2*operate.Stalled {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}
