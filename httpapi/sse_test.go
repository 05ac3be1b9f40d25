package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/httpapi"
	"svc.dev/svc/stream"
)

// follow reads a run by SSE from its start to its end and returns its events. Every data frame must have its control frame.
func (s *server) follow(t *testing.T, id string) string {
	t.Helper()
	body := s.open(t, "/runs/"+id+"?offset=-1&live=sse")
	defer body.Close()
	var events []string
	var data string
	for e, err := range stream.Events(body) {
		switch {
		case err != nil:
			t.Errorf("follow: %v", err)
		case e.Name == "data" && data == "":
			data = strings.Trim(string(e.Data), "[]")
		case e.Name == "control":
			control, err := stream.ParseControl(e.Data)
			if err != nil || control.NextOffset == "" {
				t.Errorf("control %s: %v", e.Data, err)
			}
			if data != "" {
				events = append(events, data)
			}
			data = ""
		default:
			t.Errorf("frame %s after data", e.Name)
		}
	}
	return strings.Join(events, ",")
}

// open begins to read a response that takes its time.
func (s *server) open(t *testing.T, path string) io.ReadCloser {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 200 {
		t.Fatalf("%s: %s", path, response.Status)
	}
	return response.Body
}

func TestIdleConnectionBeatsAndTellsWhereItStands(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{Heartbeat: 60 * time.Millisecond, LongPoll: 150 * time.Millisecond}})
	id := s.begun(t, "chatty", `{"n":1,"delay":40000}`)
	began := time.Now()
	body := s.open(t, "/runs/"+id+"?offset=now&live=sse")
	defer body.Close()
	var beats, controls int
	for lines := bufio.NewScanner(body); (controls < 4 || beats < 5) && lines.Scan(); {
		switch lines.Text() {
		case ": heartbeat":
			beats++
		case "event: control":
			controls++
		case "event: data":
			t.Error("data out of nothing")
		}
	}
	// The first control came at once, and a wait before each of the others.
	took := time.Since(began)
	if controls < 4 || controls-1 > int(took/(150*time.Millisecond)) || beats < 5 || beats > int(took/(60*time.Millisecond)) {
		t.Errorf("%d heartbeats and %d controls in %v", beats, controls, took)
	}
}

func TestSlowReaderIsEndedByTheWriteTimeout(t *testing.T) {
	s := newServer(t, settings{extras: true, Config: httpapi.Config{WriteTimeout: 200 * time.Millisecond}})
	id := s.invoke(t, "bulky", `{"sizes":[`+strings.Repeat("1000000,", 20)+`1000000]}`)
	eventually(t, "the run ends", func() bool { run, err := s.rt.GetRun(t.Context(), id); return err == nil && run.Ended() })
	conn, err := net.Dial("tcp", s.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(conn, "GET /runs/%s?offset=-1&live=sse HTTP/1.1\r\nHost: x\r\n\r\n", id)
	eventually(t, "the handler serves", func() bool { return s.serving.Load() == 1 })
	eventually(t, "the handler gives up", func() bool { return s.serving.Load() == 0 })
}

func TestVanishedReaderLeavesNothing(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{LongPoll: time.Minute, Heartbeat: time.Minute}})
	id := s.begun(t, "chatty", `{"n":1,"delay":40000}`)
	s.get(t, "/runs/"+id)
	s.Client().CloseIdleConnections()
	eventually(t, "connections are idle", func() bool { return s.serving.Load() == 0 })
	before := goroutines(t)
	var conns []net.Conn
	for i := range 40 {
		conn, err := net.Dial("tcp", s.address())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		fmt.Fprintf(conn, "GET /runs/%s?offset=0_0&live=%s HTTP/1.1\r\nHost: x\r\n\r\n", id, []string{"sse", "long-poll"}[i%2])
	}
	eventually(t, "all are served", func() bool { return s.serving.Load() == 40 })
	for _, conn := range conns {
		conn.Close()
	}
	eventually(t, "none is served", func() bool { return s.serving.Load() == 0 })
	eventually(t, "nobody follows", func() bool { return s.rt.Followed() == 0 })
	eventually(t, "their goroutines are gone", func() bool { return runtime.NumGoroutine() <= before })
}

func TestStoppingLetsReadersGo(t *testing.T) {
	s := newServer(t, settings{stop: 900 * time.Millisecond, Config: httpapi.Config{LongPoll: time.Minute, Heartbeat: time.Minute}})
	id := s.begun(t, "chatty", `{"n":1,"delay":40000}`)
	other := s.begun(t, "chatty", `{"n":1,"delay":40000}`)
	began := time.Now()
	ended := make(chan answer, 2)
	go func() { ended <- s.get(t, "/runs/"+id+"?offset=0_0&live=sse") }()
	go func() { ended <- s.get(t, "/runs/"+other+"?offset=0_0&live=long-poll") }()
	eventually(t, "both are followed", func() bool { return s.rt.Followed() == 2 })
	go s.stop()
	<-s.rt.Stopping()

	for _, mode := range modes {
		got := s.get(t, "/runs/"+id+mode)
		got.wants(t, 503, "runtime_unavailable")
		if !strings.Contains(got.body, `"meta":{"state":"draining"}`) || got.header.Get("Retry-After") != "1" {
			t.Errorf("answer %v %s", got.header, got.body)
		}
	}
	s.do(t, "POST", "/workflows/trivial", nil).wants(t, 503, "runtime_unavailable")
	s.get(t, "/runs/"+id+"?offset=bad").wants(t, 400, "invalid_request")
	if got := s.get(t, "/runs/"+id+"?meta"); got.status != 200 {
		t.Errorf("record: %d", got.status)
	}

	for range 2 {
		got := <-ended
		if lived := time.Since(began); lived < time.Second || lived > 20*time.Second {
			t.Errorf("a reader was let go after %v", lived)
		}
		whole := got.status == 204 || got.status == 200 && strings.HasSuffix(got.body, "\n\n")
		if got.err != nil || !whole {
			t.Errorf("answer %d %q ended with %v", got.status, got.body, got.err)
		}
	}
}

func TestConnectionIsUsableAfterSSE(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{WriteTimeout: 500 * time.Millisecond}})
	id := s.invoke(t, "trivial", "")
	s.follow(t, id)
	takes(time.Second) // more than a write may
	if got := s.get(t, "/runs/"+id); got.status != 200 || got.err != nil {
		t.Errorf("answer %d, %v", got.status, got.err)
	}
}

func TestSSEOverHTTP2(t *testing.T) {
	s := newServer(t, settings{extras: true, Config: httpapi.Config{WriteTimeout: 500 * time.Millisecond}})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	h2 := &http.Server{Handler: s.Config.Handler, Protocols: protocols}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go h2.Serve(listener)
	defer h2.Close()
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	id := s.begun(t, "nap", `{"ms":1500}`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "GET", "http://"+listener.Addr().String()+"/runs/"+id+"?offset=-1&live=sse", nil)
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.ProtoMajor != 2 || !strings.HasSuffix(string(text), `"streamClosed":true}`+"\n\n") {
		t.Errorf("HTTP/%d %q, %v", response.ProtoMajor, text, err)
	}
}
