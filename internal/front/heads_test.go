package front_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/front"
	"svc.dev/svc/memory"
)

// guarded serves with a budget; what is asked waits until it is let go.
func guarded(t *testing.T, budget *memory.Budget) (l *front.Listener, arrived chan struct{}, letGo chan struct{}) {
	t.Helper()
	l = listen(t, front.Limits{Memory: budget})
	arrived, letGo = make(chan struct{}, 100), make(chan struct{})
	srv := &http.Server{MaxHeaderBytes: 64 << 10, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		if r.URL.Path == "/wait" {
			<-letGo
		}
	})}
	front.Guard(srv)
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return l, arrived, letGo
}

// fields is a head of as many fields as fit into so many bytes.
func fields(n int) string {
	var text strings.Builder
	for i := 0; text.Len() < n; i++ {
		fmt.Fprintf(&text, "%x:\r\n", i)
	}
	return text.String()
}

// TestAHeadIsCountedUntilItsAnswer counts what the heads of one connection take, one after the other, and no body.
func TestAHeadIsCountedUntilItsAnswer(t *testing.T) {
	budget := memory.New(64 << 20)
	l, arrived, letGo := guarded(t, budget)
	conn := dial(t, l, "127.0.0.9")
	answers := bufio.NewReader(conn)
	for range 3 {
		fmt.Fprintf(conn, "POST /wait HTTP/1.1\r\nHost: x\r\n%sContent-Length: 100000\r\n\r\n%s", fields(40<<10), strings.Repeat("\n", 100_000))
		<-arrived
		if n := budget.Used(memory.Strangers); n < 1<<20 || n > 4<<20 {
			t.Errorf("%d bytes are counted", n)
		}
		letGo <- struct{}{}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		eventually(t, "the head is still counted", func() bool { return budget.Used(memory.Strangers) == 0 })
	}
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nCookie: a=b\r\n\r\n")
	<-arrived
	if n := budget.Used(memory.Strangers); n != 0 {
		t.Errorf("%d bytes of a usual head are counted", n)
	}
	if n := budget.Used(memory.Connections); n != front.ConnectionBytes {
		t.Errorf("%d bytes for a connection", n)
	}
	conn.Close()
	eventually(t, "the connection is still counted", func() bool { return budget.Stats().Held == 0 })
}

// TestHeadsHaveNoMoreThanTheirShare begins heads that are never finished, and lets others ask as usual meanwhile.
func TestHeadsHaveNoMoreThanTheirShare(t *testing.T) {
	budget := memory.New(64 << 20)
	l, arrived, _ := guarded(t, budget)
	for n := range 60 {
		fmt.Fprint(dial(t, l, fmt.Sprintf("127.0.1.%d", 1+n/20)), "GET / HTTP/1.1\r\nHost: x\r\n"+fields(60<<10))
	}
	eventually(t, "no head was refused", func() bool { return l.Count() < 60 && budget.Used(memory.Strangers) > 0 })
	if n := budget.Used(memory.Strangers); n > budget.Share() || n == 0 {
		t.Errorf("heads hold %d of %d", n, budget.Share())
	}
	fmt.Fprint(dial(t, l, "127.0.1.1"), "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case <-arrived:
	case <-time.After(30 * time.Second):
		t.Fatal("a usual request is not served")
	}
}

// TestAHeadTakesNoMoreThanIsCounted measures what heads of tiny fields take.
func TestAHeadTakesNoMoreThanIsCounted(t *testing.T) {
	budget := memory.New(1 << 30)
	l, arrived, letGo := guarded(t, budget)
	heap := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	before := heap()
	const n = 20
	for i := range n {
		fmt.Fprintf(dial(t, l, "127.0.0.9"), "GET /wait HTTP/1.1\r\nHost: x%d\r\n%s\r\n", i, fields(60<<10))
	}
	for range n {
		<-arrived
	}
	took, said := heap()-before, budget.Stats().Held
	close(letGo)
	t.Logf("%d heads take %d bytes, %d are counted", n, took, said)
	if took > said || said > 6*took {
		t.Errorf("%d heads take %d bytes, %d are counted", n, took, said)
	}
}

// TestHeadsOfOneConnectionAreCountedEach holds several requests of one HTTP/2 connection open: each head takes memory, and one that
// there is none for is ended alone.
func TestHeadsOfOneConnectionAreCountedEach(t *testing.T) {
	budget := memory.New(64 << 20)
	l := listen(t, front.Limits{Memory: budget})
	cert := httptest.NewTLSServer(nil)
	defer cert.Close()
	entered, release := make(chan struct{}), make(chan struct{})
	srv := &http.Server{MaxHeaderBytes: 1 << 20, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})}
	front.Guard(srv)
	sealed := l.Seal(&tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"h2"}})
	go func() { _ = srv.Serve(sealed) }()
	defer srv.Close()
	var http2 http.Protocols
	http2.SetHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: &http2, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	ask := func(head int) chan error {
		said := make(chan error, 1)
		go func() {
			r, _ := http.NewRequest("GET", "https://"+l.Addr().String(), nil)
			r.Header.Set("X-Long", strings.Repeat("x", head))
			res, err := client.Do(r)
			if err == nil {
				res.Body.Close()
			}
			said <- err
		}()
		return said
	}
	var held []chan error
	refused := false
	for len(held) < 50 && !refused {
		said := ask(200 << 10)
		select {
		case <-entered:
			held = append(held, said)
		case err := <-said:
			refused = err != nil
		}
	}
	if got := budget.Used(memory.Strangers); len(held) < 2 || !refused || got < int64(len(held)-1)*200<<10 || got > budget.Share() {
		t.Errorf("%d heads of 200 KiB are held, the next refused %t, and take %d of %d bytes", len(held), refused, got, budget.Share())
	}
	close(release)
	for _, said := range held {
		if err := <-said; err != nil {
			t.Errorf("a request beside it: %v", err)
		}
	}
	eventually(t, "heads are given back", func() bool { return budget.Used(memory.Strangers) == 0 })
}
