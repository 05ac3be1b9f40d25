package gateway_test

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/scope"
)

// echo is a runtime that says too much, and remembers what reached it.
type echo struct {
	guard *scope.Guard
	tap   *tap // nil: it is in this process

	mu      sync.Mutex
	heard   []*heard
	settled map[string]bool // ids of requests that were asked about
}

// heard is one request as the runtime got it.
type heard struct {
	method, target, body string
	header               http.Header
	lines                []string // the bytes of the head, line by line; nil in process
	claims               scope.Claims
	err                  error // of the guard
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := &heard{method: r.Method, target: r.URL.EscapedPath(), header: r.Header.Clone()}
	if r.URL.RawQuery != "" {
		h.target += "?" + r.URL.RawQuery
	}
	h.claims, h.err = e.guard.Check(r)
	body, err := io.ReadAll(r.Body)
	h.body = string(body)
	if e.tap != nil {
		h.lines = e.tap.head()
	}
	e.mu.Lock()
	e.heard = append(e.heard, h)
	e.mu.Unlock()
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for name, value := range told {
		w.Header().Set(name, value)
	}
	w.Header().Add("Vary", "Accept")
	_, _ = io.WriteString(w, "echo")
	w.Header().Set("X-Late", "a trailer")
}

// take is what was heard for the request with this id, nil for nothing. What was asked about before and cut off may come to
// the runtime only now: that is left out, and nothing else.
func (e *echo) take(id string) (last *heard) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.heard {
		if h.err != nil || !e.settled[h.claims.RequestID] {
			last = h
		}
	}
	e.heard = nil
	if e.settled == nil {
		e.settled = map[string]bool{}
	}
	e.settled[id] = true
	return last
}

// told are the headers of the echo's answer. Those that may reach a client are in heardBack.
var told = map[string]string{
	"Content-Type": "text/plain", "Content-Disposition": "inline", "Content-Range": "bytes 0-3/4", "Accept-Ranges": "bytes", "Etag": `"e"`,
	"Cache-Control": "no-cache", "Location": "/elsewhere", "Allow": "GET", "Retry-After": "7", "Stream-Next-Offset": "12", "Stream-Closed": "true",
	"Stream-Cursor": "c", "Idempotency-Replayed": "true", "X-Accel-Buffering": "no", "Content-Security-Policy": "sandbox",
	"Cross-Origin-Resource-Policy": "same-origin", "X-Content-Type-Options": "nosniff",

	"Set-Cookie": "svc_session=stolen", "X-Svc-Scope": "users/ada/personal", "X-Svc-Runtime-Token": runtimeToken, "X-Svc-Assertion": "x",
	"X_svc_scope": "users/eve/personal", "X-Request-Id": "req_runtime", "Server": "engine", "X-Powered-By": "engine", "Strict-Transport-Security": "max-age=0",
	"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "true", "Clear-Site-Data": `"*"`, "Www-Authenticate": "Basic",
	"Proxy-Authenticate": "Basic", "Refresh": "0; url=/", "Link": "</x>; rel=preload", "Trailer": "X-Late", "Alt-Svc": `h3=":1"`, "X-Accel-Redirect": "/etc/passwd",
	"Content-Location": "/elsewhere", "Referrer-Policy": "unsafe-url", "X-Frame-Options": "ALLOWALL",
}

// heardBack are those that a client gets.
var heardBack = []string{
	"Content-Type", "Content-Disposition", "Content-Range", "Accept-Ranges", "Etag", "Cache-Control", "Location", "Allow", "Retry-After",
	"Stream-Next-Offset", "Stream-Closed", "Stream-Cursor", "Idempotency-Replayed", "X-Accel-Buffering", "Content-Security-Policy",
	"Cross-Origin-Resource-Policy", "X-Content-Type-Options",
}

// tap keeps the bytes that the last connection brought.
type tap struct {
	net.Listener
	mu  sync.Mutex
	got *bytes.Buffer
}

func (l *tap) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = new(bytes.Buffer)
	return &tapped{Conn: conn, tap: l, got: l.got}, nil
}

// head is the lines of the last head, without that of the request.
func (l *tap) head() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(l.got.String(), "\r\n")
	for i, line := range lines {
		if line == "" {
			return lines[min(1, i):i] // of nothing there is none
		}
	}
	return lines
}

type tapped struct {
	net.Conn
	tap *tap
	got *bytes.Buffer
}

func (c *tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.got.Write(p[:n])
	return n, err
}

// echoes puts an echoing runtime behind the scene, in this process or in a server of its own.
func (s *scene) echoes(t *testing.T, apart bool) *echo {
	t.Helper()
	if !apart {
		forward, guard := scope.NewPair()
		e := &echo{guard: guard}
		s.runtime = forward.Within(e)
		return e
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := scope.NewGuard([]string{runtimeToken}, []string{adminToken}, []ed25519.PublicKey{public})
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{guard: guard}
	server := httptest.NewUnstartedServer(e)
	e.tap = &tap{Listener: server.Listener}
	server.Listener = e.tap
	server.Start()
	t.Cleanup(server.Close)
	// One connection for each request, so that the bytes of one are told from those of another.
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	s.runtime = gateway.NewProxy(parse(server.URL), &scope.Forward{Token: runtimeToken, AdminToken: adminToken, Key: private}, transport, s.Accounts.Log)
	return e
}

// parsedLines are the lines of a head by their name as it was sent.
func parsedLines(lines []string) map[string][]string {
	all := map[string][]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		all[name] = append(all[name], textproto.TrimString(value))
	}
	return all
}

// sent is the answer to bytes. A nil response is a connection that was closed.
func (s *scene) sent(t *testing.T, request string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, request) // the server may refuse before it has read all
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, nil)
	for err == nil && answer.StatusCode == http.StatusContinue {
		answer, err = http.ReadResponse(in, nil)
	}
	if err != nil {
		return nil, ""
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body) // what came is judged
	return answer, string(body)
}
