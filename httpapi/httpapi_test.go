package httpapi_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/internal/notepad"
)

// ask calls a handler without a network.
func ask(h http.Handler, path string) answer {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return answer{w.Code, w.Header(), w.Body.String(), nil}
}

func TestEveryAnswerHasARequestIDOfOurs(t *testing.T) {
	s := newServer(t, settings{extras: true})
	id := s.invoke(t, "trivial", "")
	seen := map[string]bool{}
	for _, path := range []string{"/nothing", "/runs/" + id, "/runs/" + id + "?meta", "/runs/" + id + "?offset=now&live=long-poll",
		"/runs/" + id + "?offset=-1&live=sse", "/channels/echo/ping", "/channels/hooks/mute", "/workflows/trivial",
		"/agents/tooluser/x", "/agents/tooluser/x/submissions", "/agents/tooluser/x/abort", "/agents/tooluser/x/attachments/a", "/agents/denied/x"} {
		got := s.do(t, "GET", path, nil, "X-Request-Id", "req_mine")
		name := got.header.Get("X-Request-Id")
		if !requestID.MatchString(name) || seen[name] || strings.Contains(got.body, name) {
			t.Errorf("%s: request id %q", path, name)
		}
		seen[name] = true
	}
}

func TestRequestIDOfAGatewayIsKept(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{RequestID: func(r *http.Request) string { return r.Header.Get("X-Gateway") }}})
	if got := s.do(t, "GET", "/nothing", nil, "X-Gateway", "req_theirs"); got.header.Get("X-Request-Id") != "req_theirs" {
		t.Errorf("request id %q", got.header.Get("X-Request-Id"))
	}
	if got := s.get(t, "/nothing"); !requestID.MatchString(got.header.Get("X-Request-Id")) {
		t.Errorf("request id %q", got.header.Get("X-Request-Id"))
	}
}

func TestMountKeepsThePathThatWasAskedFor(t *testing.T) {
	s := newServer(t, settings{mount: "/v1/api"})
	const want = `{"error":{"type":"route_not_found","message":"No route for GET /v1/api/nothing.","details":"Check method and path."}}`
	if got := s.get(t, "/v1/api/nothing?x"); got.body != want {
		t.Errorf("answer %s", got.body)
	}
	if got := s.do(t, "POST", "/v1/api/workflows/%74rivial?wait=result", nil); got.status != 200 {
		t.Errorf("answer %d %s", got.status, got.body)
	}
	s.do(t, "POST", "/v1/api//workflows/trivial", nil).wants(t, 404, "route_not_found")
}

func TestScopesNeverMeet(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{Scope: func(r *http.Request) (string, error) {
		switch scope := r.Header.Get("X-Scope"); scope {
		case "nobody":
			return "", fault.New("not_yours", "That is not yours.", "")
		case "broken":
			return "", errors.New("secret")
		default:
			return scope, nil
		}
	}}})
	invoked, err := s.rt.In("users/a").Invoke(t.Context(), "trivial", svc.Invocation{Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	path := "/runs/" + invoked.RunID
	if got := s.do(t, "GET", path, nil, "X-Scope", "users/a"); got.status != 200 {
		t.Errorf("own scope: %d %s", got.status, got.body)
	}
	s.do(t, "GET", path, nil, "X-Scope", "users/b").wants(t, 404, "run_not_found")
	s.do(t, "GET", path, nil).wants(t, 404, "run_not_found")
	s.do(t, "GET", path, nil, "X-Scope", "nobody").wants(t, 500, "not_yours")
	s.do(t, "POST", "/workflows/trivial", nil, "X-Scope", "broken").wants(t, 500, "internal_error")
}

func TestKeysOfTwoScopesNeverMeet(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{Scope: func(r *http.Request) (string, error) { return r.Header.Get("X-Scope"), nil }}})
	for _, scope := range []string{"users/a", "users/b"} {
		got := s.do(t, "POST", "/workflows/trivial", nil, "X-Scope", scope, "Idempotency-Key", "same")
		if got.status != 202 || got.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: %d %v", scope, got.status, got.header)
		}
	}
}

func TestDevShowsWhatDevelopersAreTold(t *testing.T) {
	for _, dev := range []bool{false, true} {
		s := newServer(t, settings{Config: httpapi.Config{Dev: dev, Scope: func(*http.Request) (string, error) {
			return "", &fault.Error{Type: "invalid_request", Message: "No.", Dev: "Look here."}
		}}})
		want := `{"error":{"type":"invalid_request","message":"No.","details":""}}`
		if dev {
			want = `{"error":{"type":"invalid_request","message":"No.","details":"","dev":"Look here."}}`
		}
		if got := s.do(t, "POST", "/workflows/trivial", nil); got.body != want {
			t.Errorf("dev %v: %s", dev, got.body)
		}
	}
}

func TestCauseIsLoggedUnderTheRequestID(t *testing.T) {
	var log notepad.Pad
	s := newServer(t, settings{extras: true, Config: httpapi.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}})
	got := s.get(t, "/channels/hooks/broken")
	got.wants(t, 500, "internal_error")
	if text := log.String(); !strings.Contains(text, "secret") || !strings.Contains(text, "request_id="+got.header.Get("X-Request-Id")) {
		t.Errorf("log %s", text)
	}
}

func TestGuardIsBuiltOnce(t *testing.T) {
	var built, asked atomic.Int64
	s := newServer(t, settings{declare: func(rt *svc.Runtime) {
		wf := svc.NewWorkflow("counted", nothing)
		wf.Route = func(next http.Handler) http.Handler {
			built.Add(1)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				next.ServeHTTP(w, r)
			})
		}
		rt.AddWorkflow(wf)
	}})
	for range 3 {
		s.do(t, "POST", "/workflows/counted", nil)
	}
	s.do(t, "GET", "/workflows/counted", nil)
	if built.Load() != 1 || asked.Load() != 3 {
		t.Errorf("built %d times, asked %d times", built.Load(), asked.Load())
	}
}

func TestRequestThatTheGuardPassesOnIsServed(t *testing.T) {
	s := newServer(t, settings{extras: true, declare: func(rt *svc.Runtime) {
		hasty := svc.NewWorkflow("hasty", func(ctx context.Context, w *svc.Work, _ struct{}) (struct{}, error) {
			return struct{}{}, w.Sleep(ctx, 40*time.Second)
		})
		hasty.Route = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithTimeout(r.Context(), 50*time.Millisecond)
				defer cancel()
				next.ServeHTTP(w, r.WithContext(ctx))
			})
		}
		rt.AddWorkflow(hasty)
	}})
	// The guard's deadline ends the wait, not the run.
	s.do(t, "POST", "/workflows/hasty?wait=result", nil).wants(t, 500, "internal_error")
}

func TestGuardThatSwallowsTheAnswerIsAFailure(t *testing.T) {
	s := newServer(t, settings{declare: func(rt *svc.Runtime) {
		wf := svc.NewWorkflow("swallowed", nothing)
		wf.Route = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(httptest.NewRecorder(), r)
				next.ServeHTTP(httptest.NewRecorder(), r)
			})
		}
		rt.AddWorkflow(wf)
	}})
	s.do(t, "POST", "/workflows/swallowed", nil).wants(t, 500, "internal_error")
	if list, err := s.rt.ListRuns(t.Context(), svc.RunFilter{}); err != nil || len(list.Runs) != 1 {
		t.Errorf("runs %v, %v", list.Runs, err)
	}
}

func TestChannelHandlerHasTheWholeServer(t *testing.T) {
	handled := map[string]http.HandlerFunc{
		"/stream": func(w http.ResponseWriter, _ *http.Request) {
			if _, ok := w.(http.Flusher); !ok || http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)) != nil {
				http.Error(w, "no", http.StatusTeapot)
				return
			}
			http.NewResponseController(w).Flush()
		},
		"/hijack": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmine")
				conn.Close()
			}
		},
		"/hint": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusEarlyHints) },
		"/half": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "half")
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	}
	s := newServer(t, settings{declare: func(rt *svc.Runtime) {
		c := &svc.Channel{Name: "raw"}
		for path, h := range handled {
			c.Routes = append(c.Routes, svc.ChannelRoute{Method: "GET", Path: path, Handler: h})
		}
		rt.AddChannel(c)
	}})
	if got := s.get(t, "/channels/raw/stream"); got.status != 200 || got.body != "" {
		t.Errorf("stream: %d %q", got.status, got.body)
	}
	if got := s.get(t, "/channels/raw/hijack"); got.body != "mine" {
		t.Errorf("hijack: %d %q", got.status, got.body)
	}
	s.get(t, "/channels/raw/hint").wants(t, 500, "internal_error")
	if got := s.get(t, "/channels/raw/half"); got.body != "half" || got.err == nil {
		t.Errorf("half: %q %v", got.body, got.err)
	}
}

func TestChannelTakesBodiesOfAnySize(t *testing.T) {
	s := newServer(t, settings{extras: true, Config: httpapi.Config{MaxBody: 10, MaxBuffered: 10}})
	got := s.do(t, "POST", "/channels/hooks/deep/er", strings.NewReader(strings.Repeat("x", 1000)))
	if got.status != 200 || len(got.body) < 1000 {
		t.Errorf("answer %d %s", got.status, got.body)
	}
}

func TestAppIsTheAPIAtTheRoot(t *testing.T) {
	s := newServer(t, settings{})
	app := httpapi.App(s.rt, httpapi.Config{})
	if got := ask(app, "/channels/echo/ping"); got.body != "pong" {
		t.Errorf("answer %d %s", got.status, got.body)
	}
	ask(app, "/elsewhere").wants(t, 404, "route_not_found")
}
