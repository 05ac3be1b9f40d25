package front_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/front"
)

// TestAnAnswerBeforeItsRequestIsReadArrives has clients send for longer than the server itself waits before it cuts them off.
func TestAnAnswerBeforeItsRequestIsReadArrives(t *testing.T) {
	const pieces, piece = 16, 64 << 10
	sized := "Content-Length: " + strconv.Itoa(pieces*piece) + "\r\n"
	for name, of := range map[string]struct {
		head   string
		sealed bool
	}{
		"one of several requests": {sized, false},
		"the only request":        {sized + "Connection: close\r\n", false}, // as proxies send them
		"sealed":                  {sized + "Connection: close\r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "too much", http.StatusRequestEntityTooLarge)
			}))
			l := listen(t, front.Limits{})
			srv.Listener = l
			front.Guard(srv.Config)
			start := srv.Start
			if of.sealed {
				start = srv.StartTLS
			}
			start()
			t.Cleanup(srv.Close)
			conn := dial(t, l, "127.0.0.1")
			if of.sealed {
				conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
			}
			if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\n"+of.head+"\r\n"); err != nil {
				t.Fatal(err)
			}
			for i := range pieces {
				takes(100 * time.Millisecond)
				if _, err := conn.Write(make([]byte, piece)); err != nil {
					t.Fatalf("piece %d: %v", i, err)
				}
			}
			if answer, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(answer), "too much\n") {
				t.Errorf("the answer is %q, %v", answer, err)
			}
			_ = conn.Close()
			eventually(t, "the connection's place is free", func() bool { return l.Count() == 0 })
		})
	}
}

// counted is a listener that counts what its connections read.
type counted struct {
	net.Listener
	read atomic.Int64
}

func (l *counted) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{conn.(*net.TCPConn), &l.read}, nil
}

type countedConn struct {
	*net.TCPConn
	read *atomic.Int64
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// TestThoseWhoAreRefusedKeepNobodyBusy has clients send on as fast as they can.
func TestThoseWhoAreRefusedKeepNobodyBusy(t *testing.T) {
	const clients, span = 16, time.Second
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inner := &counted{Listener: tcp}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusServiceUnavailable)
	}))
	srv.Listener = front.Listen(inner, front.Limits{})
	front.Guard(srv.Config)
	srv.Start()
	t.Cleanup(srv.Close)
	began := time.Now()
	for range clients {
		conn := dial(t, tcp, "127.0.0.1")
		go func() {
			_, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000000000\r\n\r\n")
			for piece := make([]byte, 256<<10); err == nil; {
				_, err = conn.Write(piece)
			}
		}()
	}
	takes(span)
	read, most := inner.read.Load()>>20, 16+int64(32*time.Since(began).Seconds())
	if read < 8 || read > most {
		t.Errorf("%d MiB were read of those who are refused, at most %d may be", read, most)
	}
}

// TestThoseWhoAreRefusedAndGoneKeepNoPlace has one client come again and again, with requests that nobody reads.
func TestThoseWhoAreRefusedAndGoneKeepNoPlace(t *testing.T) {
	const times, places = 1000, 64
	var refused atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "too many", http.StatusTooManyRequests)
	}))
	l := listen(t, front.Limits{PerAddress: places, Refused: func() { refused.Add(1) }})
	srv.Listener = l
	front.Guard(srv.Config)
	srv.Start()
	t.Cleanup(srv.Close)
	for i := range times {
		conn := dial(t, l, "127.0.0.1")
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(answer), "too many\n") {
			t.Fatalf("answer %d is %q, %v; %d were refused at the door", i, answer, err, refused.Load())
		}
		_ = conn.Close()
	}
}
