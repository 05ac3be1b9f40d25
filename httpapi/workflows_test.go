package httpapi_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/workflow"
)

const jsonType = "application/json"

func TestDeclaredBodyAboveTheLimitIsRefusedUnread(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{MaxBody: 1000}})
	conn, err := net.Dial("tcp", s.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST /workflows/chatty HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n")
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	text, err := io.ReadAll(conn) // the server ends the connection
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"error":{"type":"body_too_large","message":"The body is too large.","details":"At most 1000 bytes.","meta":{"limit":1000}}}`
	if !strings.HasPrefix(string(text), "HTTP/1.1 413 ") || !strings.Contains(string(text), "\r\nConnection: close\r\n") || !strings.HasSuffix(string(text), want) {
		t.Errorf("answer %s", text)
	}
}

func TestChunkedBodyAboveTheLimitIsRefusedAsItPasses(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{MaxBody: 1000}})
	body, send := io.Pipe()
	go io.WriteString(send, `{"n":`+strings.Repeat(" ", 1000)) // and no end
	got := s.do(t, "POST", "/workflows/chatty", body, "Content-Type", jsonType)
	send.Close()
	got.wants(t, 413, "body_too_large")
}

func TestBodyOfExactlyTheLimitPasses(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{MaxBody: 1000}})
	exact := `{"n":0}` + strings.Repeat(" ", 993)
	for _, body := range []io.Reader{strings.NewReader(exact), io.MultiReader(strings.NewReader(exact))} {
		if got := s.do(t, "POST", "/workflows/chatty", body, "Content-Type", jsonType); got.status != 202 {
			t.Errorf("answer %d %s", got.status, got.body)
		}
	}
}

func TestBufferedBodiesHaveALimitTogether(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{MaxBuffered: 1000}})
	begin := func() net.Conn {
		conn, err := net.Dial("tcp", s.address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		io.WriteString(conn, "POST /workflows/chatty HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 801\r\n\r\n"+`{"n":0`+strings.Repeat(" ", 794))
		return conn
	}
	slow := begin()
	small := func() answer {
		return s.do(t, "POST", "/workflows/chatty", strings.NewReader(`{"n":0}`+strings.Repeat(" ", 293)), "Content-Type", jsonType)
	}
	var got answer
	eventually(t, "the slow body is counted", func() bool {
		if got = small(); got.status == 503 {
			return true
		}
		// It may have come while a small one was held, and been refused for it.
		if slow.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); answered(slow) {
			slow = begin()
		}
		return false
	})
	slow.SetReadDeadline(time.Time{})
	got.wants(t, 503, "runtime_unavailable")
	if !strings.Contains(got.body, `"meta":{"state":"busy"}`) || got.header.Get("Retry-After") != "1" {
		t.Errorf("answer %v %s", got.header, got.body)
	}
	io.WriteString(slow, "}")
	head := make([]byte, len("HTTP/1.1 202"))
	if _, err := io.ReadFull(slow, head); err != nil || string(head) != "HTTP/1.1 202" {
		t.Errorf("the slow one: %s %v", head, err)
	}
	eventually(t, "its bytes are given back", func() bool { return small().status == 202 })
}

// answered reports whether a server has said anything before the connection's deadline.
func answered(conn net.Conn) bool {
	n, _ := conn.Read(make([]byte, 1))
	return n > 0
}

func TestBodyThatEndsEarlyIsUnreadable(t *testing.T) {
	s := newServer(t, settings{})
	conn, err := net.Dial("tcp", s.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST /workflows/chatty HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	conn.(*net.TCPConn).CloseWrite()
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	text, _ := io.ReadAll(conn)
	if !strings.HasPrefix(string(text), "HTTP/1.1 400 ") || !strings.Contains(string(text), `"type":"invalid_json"`) {
		t.Errorf("answer %s", text)
	}
}

func TestDisconnectDoesNotCancelTheRun(t *testing.T) {
	s := newServer(t, settings{extras: true})
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "POST", s.URL+"/workflows/nap?wait=result", strings.NewReader(`{"ms":3000}`))
	r.Header.Set("Content-Type", jsonType)
	go func() {
		defer leave()
		for t.Context().Err() == nil {
			if list, err := s.rt.ListRuns(t.Context(), svc.RunFilter{}); err == nil && len(list.Runs) == 1 {
				return
			}
			takes(5 * time.Millisecond)
		}
	}()
	if _, err := s.Client().Do(r); err == nil {
		t.Fatal("answered before the client left")
	}
	eventually(t, "the run completes", func() bool {
		list, err := s.rt.ListRuns(t.Context(), svc.RunFilter{Status: workflow.Completed})
		return err == nil && len(list.Runs) == 1
	})
}

func TestRacingKeysAdmitOnce(t *testing.T) {
	s := newServer(t, settings{})
	answers := make([]answer, 32)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			answers[i] = s.do(t, "POST", "/workflows/chatty", strings.NewReader(`{"n":1}`), "Content-Type", jsonType, "Idempotency-Key", "race")
		})
	}
	group.Wait()
	first := 0
	for _, got := range answers {
		if got.status != 202 || got.body != answers[0].body {
			t.Errorf("answer %d %s, another %s", got.status, got.body, answers[0].body)
		}
		if got.header.Get("Idempotency-Replayed") == "" {
			first++
		}
	}
	if first != 1 {
		t.Errorf("%d of them were the first", first)
	}
	if list, err := s.rt.ListRuns(t.Context(), svc.RunFilter{}); err != nil || len(list.Runs) != 1 {
		t.Errorf("runs %v, %v", list.Runs, err)
	}
}

func TestFullWriteQueueIsBusy(t *testing.T) {
	s := newServer(t, settings{wrap: func(store svc.Store) svc.Store { return &ailing{Store: store, admit: svc.ErrBusy} }})
	got := s.do(t, "POST", "/workflows/trivial", nil)
	got.wants(t, 503, "runtime_unavailable")
	if !strings.Contains(got.body, `"meta":{"state":"busy"}`) || got.header.Get("Retry-After") != "1" {
		t.Errorf("answer %v %s", got.header, got.body)
	}
}
