package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/internal/contract"
	"svc.dev/svc/sqlstore"
)

// raced says that the race detector watches.
var raced bool

// patience skips what handles many megabytes where that takes half a minute. By their name such tests are run without the race
// detector.
func patience(t *testing.T) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestMegabytes") {
		t.Fatal("nobody runs this test: call it TestMegabytes…")
	}
	if raced {
		t.Skip("the race detector takes half a minute for it")
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// settings is how a server under test differs from the one that everybody gets.
type settings struct {
	httpapi.Config
	extras  bool                      // the modules of declareExtras too
	declare func(*svc.Runtime)        // more modules
	mount   string                    // the prefix that it is served below
	stop    time.Duration             // StopTimeout
	wrap    func(svc.Store) svc.Store // what stands between runtime and store
	tune    func(*svc.Config)         // what else the runtime is made of
	around  surrounding               // what stands around the API
	db      string                    // the database, for one server after another; empty: a new one
}

// surrounding makes a handler that serves the API of a runtime in its own way, and what ends it.
type surrounding func(rt *svc.Runtime, c httpapi.Config) (handler http.Handler, end func())

// server is a runtime on a real store behind a real listener.
type server struct {
	*httptest.Server
	rt      *svc.Runtime
	stop    func()       // begins to stop the runtime, and waits until it has
	end     func()       // stops it, and closes all that is open; the test's end does too
	serving atomic.Int64 // handlers that have not returned
}

func newServer(t *testing.T, c settings) *server {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	if c.db == "" {
		c.db = filepath.Join(t.TempDir(), "svc.db")
	}
	store, err := sqlstore.Open(t.Context(), "sqlite:"+c.db, sqlstore.Config{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	var between svc.Store = store
	if c.wrap != nil {
		between = c.wrap(store)
	}
	config := svc.Config{Store: between, Model: contract.Models.Find, StopTimeout: c.stop, Log: quiet}
	if c.tune != nil {
		c.tune(&config)
	}
	rt, err := svc.New(config)
	if err != nil {
		t.Fatal(err)
	}
	contract.Declare(rt)
	if c.extras {
		declareExtras(rt)
	}
	if c.declare != nil {
		c.declare(rt)
	}
	handler, ended := http.StripPrefix(c.mount, httpapi.New(rt, testConfig(c.Config, quiet))), func() {}
	if c.around != nil {
		handler, ended = c.around(rt, testConfig(c.Config, quiet))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- rt.Run(ctx) }()
	s := &server{rt: rt}
	s.stop = func() {
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("run: %v", err)
		}
		ran <- nil
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.serving.Add(1)
		defer s.serving.Add(-1)
		handler.ServeHTTP(w, r)
	}))
	s.end = sync.OnceFunc(func() {
		s.stop()
		s.CloseClientConnections()
		s.Close()
		ended()
		if err := store.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	t.Cleanup(s.end)
	return s
}

// testConfig makes waits short, and long enough for a machine that is busy.
func testConfig(c httpapi.Config, log *slog.Logger) httpapi.Config {
	if c.LongPoll == 0 {
		c.LongPoll = time.Second
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 500 * time.Millisecond
	}
	if c.Log == nil {
		c.Log = log
	}
	return c
}

// invoke starts a run and returns its id.
func (s *server) invoke(t *testing.T, name, input string) string {
	t.Helper()
	invoked, err := s.rt.Invoke(t.Context(), name, svc.Invocation{Input: []byte(input)})
	if err != nil {
		t.Fatal(err)
	}
	return invoked.RunID
}

// begun starts a run, and returns its id when its first event is there.
func (s *server) begun(t *testing.T, name, input string) string {
	t.Helper()
	id := s.invoke(t, name, input)
	eventually(t, "the run begins", func() bool {
		tail, err := s.rt.Tail(t.Context(), svc.Stream{Kind: svc.KindRun, Name: name, ID: id})
		return err == nil && tail.Head >= 0
	})
	return id
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // how the body ended, nil for a proper end
}

func (s *server) get(t *testing.T, path string) answer {
	t.Helper()
	return s.do(t, http.MethodGet, path, nil)
}

func (s *server) do(t *testing.T, method, path string, body io.Reader, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text), err}
}

// wants fails the test unless the answer is a fault of that type and status.
func (a answer) wants(t *testing.T, status int, typ string) {
	t.Helper()
	if a.status != status || !strings.HasPrefix(a.body, `{"error":{"type":"`+typ+`",`) {
		t.Errorf("answer %d %s, want %d %s", a.status, a.body, status, typ)
	}
}

// eventually waits for something that takes a moment.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

// takes is what takes its time in a scene. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

// goroutines is how many there are when their number stands still.
func goroutines(t *testing.T) int {
	t.Helper()
	last, same := 0, 0
	eventually(t, "the number of goroutines stands still", func() bool {
		if now := runtime.NumGoroutine(); now != last {
			last, same = now, 0
		}
		same++
		return same > 10
	})
	return last
}

func (s *server) address() string { return strings.TrimPrefix(s.URL, "http://") }

// declareExtras adds what the contract program does not have and some transcripts need.
func declareExtras(rt *svc.Runtime) {
	bulky := svc.NewWorkflow("bulky", func(_ context.Context, w *svc.Work, in struct {
		Sizes []int `json:"sizes"`
	}) (struct{}, error) {
		for _, size := range in.Sizes {
			w.Log("bulk", "data", strings.Repeat("x", size))
		}
		return struct{}{}, nil
	})
	nap := svc.NewWorkflow("nap", func(ctx context.Context, w *svc.Work, in struct {
		MS int `json:"ms"`
	}) (struct{}, error) {
		return struct{}{}, w.Sleep(ctx, time.Duration(in.MS)*time.Millisecond)
	})
	typed := svc.NewWorkflow("typed", func(context.Context, *svc.Work, struct{}) (struct{}, error) {
		return struct{}{}, fault.New("operation_failed", "The <provider> said no.", "It was asked twice.").With("asked", 2)
	})
	adder := &svc.Agent{Name: "adder", Model: "scripted/words", Tools: []svc.Tool{svc.NewTool("add", "Adds two numbers.", add)}}
	sum := svc.NewWorkflow("sum", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		answer, err := svc.Ask(ctx, w, adder, "2 and 3")
		return answer.Text, err
	})
	any := svc.NewWorkflow("any", func(_ context.Context, _ *svc.Work, in any) (any, error) { return in, nil })
	unrouted := svc.NewWorkflow("unrouted", nothing)
	silent := svc.NewWorkflow("silent", nothing)
	twice := svc.NewWorkflow("twice", nothing)
	denied := svc.NewWorkflow("denied", nothing)
	stamped := svc.NewWorkflow("stamped", nothing)
	for _, wf := range []*svc.Workflow{bulky, nap, sum, typed, any} {
		wf.Route, wf.Runs = svc.Open, svc.Open
	}
	silent.Route, twice.Route, denied.Route, stamped.Route = sayNothing, passTwice, deny, stamp
	rt.AddWorkflow(bulky, nap, sum, typed, any, unrouted, silent, twice, denied, stamped)
	rt.AddAgent(
		&svc.Agent{Name: "silent", Model: "scripted/words", Route: sayNothing},
		&svc.Agent{Name: "twice", Model: "scripted/words", Route: passTwice},
		&svc.Agent{Name: "denied", Model: "scripted/words", Route: deny, Attachments: svc.Open},
		&svc.Agent{Name: "stamped", Model: "scripted/words", Route: stamp, Attachments: deny},
	)
	rt.AddChannel(&svc.Channel{Name: "hooks", Routes: []svc.ChannelRoute{
		{Method: "PUT", Path: "/deep/er", Handler: http.HandlerFunc(repeat)},
		{Method: "POST", Path: "/deep/er", Handler: http.HandlerFunc(repeat)},
		{Method: "GET", Path: "/mute", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})},
		{Method: "GET", Path: "/broken", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(errors.New("secret")) })},
	}})
}

type addends struct {
	A int `json:"a"`
	B int `json:"b"`
}

func add(_ context.Context, in addends) (int, error) { return in.A + in.B, nil }

// Guards, as far as transcripts need them.

func sayNothing(http.Handler) http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
}

func passTwice(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		next.ServeHTTP(w, r)
	})
}

func deny(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"blocked":true}`)
	})
}

func stamp(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Guard", "was here")
		next.ServeHTTP(w, r)
	})
}

func nothing(context.Context, *svc.Work, struct{}) (struct{}, error) { return struct{}{}, nil }

// repeat answers with what it was sent.
func repeat(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintf(w, "%s %s %q", r.Method, r.URL.EscapedPath(), body)
}
