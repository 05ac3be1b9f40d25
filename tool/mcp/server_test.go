package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/tool/mcp"
)

func stdio(how string) mcp.Config {
	return mcp.Config{
		Command: []string{os.Args[0]}, Env: []string{role + "=" + how, quick}, Grace: 500 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	}
}

func web(address string) mcp.Config {
	return mcp.Config{
		URL: "http://" + address, Grace: 500 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Header: func(r *http.Request) { r.Header.Set("Authorization", "Bearer secret") },
	}
}

// each runs a test on every way to the same server.
func each(t *testing.T, test func(t *testing.T, c mcp.Config)) {
	t.Run("stdio", func(t *testing.T) { t.Parallel(); test(t, stdio("stdio")) })
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		address, _ := webPeer(t, "")
		test(t, web(address))
	})
	t.Run("http with sessions", func(t *testing.T) {
		t.Parallel()
		address, _ := webPeer(t, "", "MCP_TEST_SESSIONS=1")
		test(t, web(address))
	})
}

func connect(t *testing.T, c mcp.Config) *mcp.Server {
	t.Helper()
	s, err := mcp.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func find(s *mcp.Server, name string) (svc.Tool, bool) {
	for _, t := range s.Tools() {
		if t.Name == name {
			return t, true
		}
	}
	return svc.Tool{}, false
}

func call(t *testing.T, ctx context.Context, s *mcp.Server, name, input string) (svc.ToolResult, error) {
	t.Helper()
	tool, ok := find(s, name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return tool.Call(ctx, json.RawMessage(input))
}

// text is what a call answers in words.
func text(t *testing.T, s *mcp.Server, name, input string) string {
	t.Helper()
	r, err := call(t, t.Context(), s, name, input)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(r.Content) == 0 {
		t.Fatalf("%s: no content", name)
	}
	return r.Content[0].Text
}

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func expectFault(t *testing.T, err error, typ string) {
	t.Helper()
	if !fault.Is(err, typ) {
		t.Errorf("got %v, want a fault of type %s", err, typ)
	}
}

// eventually asks until it is told yes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// takes is what takes its time in a scene. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

func TestToolsAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c mcp.Config) {
		s := connect(t, c)
		expect(t, "add", text(t, s, "add", `{"A":2,"B":40}`), "42")
		add, _ := find(s, "add")
		expect(t, "description", add.Description, "Adds two numbers.")
		if schema := string(add.InputSchema()); !strings.Contains(schema, `"A":{"type":"integer"}`) {
			t.Errorf("schema %s", schema)
		}

		r, err := call(t, t.Context(), s, "structured", `{}`)
		expect(t, "structured", err, nil)
		expect(t, "output", string(r.Output), `{"sum":42}`)
		expect(t, "content beside it", len(r.Content), 0)

		r, err = call(t, t.Context(), s, "image", "")
		expect(t, "image", err, nil)
		expect(t, "pieces", len(r.Content), 5)
		expect(t, "text", r.Content[0].Text, "a dot")
		expect(t, "picture", r.Content[1].MimeType+" "+string(r.Content[1].Data), "image/png png")
		expect(t, "a picture that models cannot see", r.Content[2].Text, "[data of type image/svg+xml and 6 bytes is left out]")
		expect(t, "resource", r.Content[3].Text, "inside a")
		expect(t, "link", r.Content[4].Text, "b file:///b")
	})
}

func TestFailureIsResult(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c mcp.Config) {
		s := connect(t, c)
		r, err := call(t, t.Context(), s, "fail", `{}`)
		expect(t, "error", err, nil)
		expect(t, "is error", r.IsError, true)
		expect(t, "text", r.Content[0].Text, "out of paper")

		// The SDK's server answers a bad input so, or with an error of the protocol: the model sees either.
		r, err = call(t, t.Context(), s, "add", `{"A":"two"}`)
		if err == nil && !r.IsError {
			t.Error("a bad input was taken")
		}
	})
}

func TestListFollowsServer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c mcp.Config) {
		changed := make(chan struct{}, 10)
		c.OnChange = func() { changed <- struct{}{} }
		s := connect(t, c)
		if _, ok := find(s, "grown"); ok {
			t.Fatal("grown too early")
		}
		text(t, s, "grow", `{}`)
		select {
		case <-changed:
		case <-time.After(30 * time.Second):
			t.Fatal("no change")
		}
		expect(t, "the new tool", text(t, s, "grown", `{}`), "new here")
	})
}

func TestSilenceEndsCallAndProgressProlongsIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c mcp.Config) {
		c.CallTimeout = 2 * time.Second
		var mu sync.Mutex
		var heard []string
		c.Progress = func(tool, token string, progress, total float64, message string) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, tool+" "+strconv.FormatFloat(progress, 'f', 0, 64)+"/"+strconv.FormatFloat(total, 'f', 0, 64)+" "+message)
		}
		s := connect(t, c)
		expect(t, "slow", text(t, s, "slow", `{"Steps":4,"Pause":700}`), "done")
		mu.Lock()
		expect(t, "progress", strings.Join(heard, ", "), "slow 1/4 step, slow 2/4 step, slow 3/4 step, slow 4/4 step")
		mu.Unlock()

		_, err := call(t, t.Context(), s, "slow", `{"Steps":1,"Pause":60000}`)
		expectFault(t, err, mcp.Timeout)
		eventually(t, "the server gave up too", func() bool { return text(t, s, "cancelled", `{}`) == "1" })
	})
}

func TestProgressDoesNotProlongForEver(t *testing.T) {
	t.Parallel()
	c := stdio("stdio")
	c.CallTimeout = 60 * time.Millisecond
	s := connect(t, c)
	_, err := call(t, t.Context(), s, "slow", `{"Steps":10000,"Pause":10}`)
	expectFault(t, err, mcp.Timeout)
}

func TestCancellationReachesServer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c mcp.Config) {
		started := make(chan struct{}, 1)
		c.Progress = func(string, string, float64, float64, string) { started <- struct{}{} }
		s := connect(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-started; cancel() }()
		_, err := call(t, ctx, s, "slow", `{"Steps":1,"Pause":60000}`)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		eventually(t, "the server heard of it", func() bool { return text(t, s, "cancelled", `{}`) == "1" })
	})
}

func TestDeadProcessIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := connect(t, stdio("stdio"))
	before := text(t, s, "pid", `{}`)
	_, err := call(t, t.Context(), s, "crash", `{}`)
	expectFault(t, err, mcp.Unavailable)
	after := text(t, s, "pid", `{}`)
	if before == after {
		t.Error("the same process")
	}

	pid, _ := strconv.Atoi(after)
	_ = syscall.Kill(pid, syscall.SIGKILL)
	eventually(t, "a third process", func() bool {
		r, err := call(t, t.Context(), s, "pid", `{}`)
		return err == nil && r.Content[0].Text != after
	})
}

func TestDroppedSessionIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, sessions := range []string{"", "1"} {
		t.Run("sessions="+sessions, func(t *testing.T) {
			t.Parallel()
			address, end := webPeer(t, "", "MCP_TEST_SESSIONS="+sessions)
			s := connect(t, web(address))
			text(t, s, "grow", `{}`)
			end()
			_, err := call(t, t.Context(), s, "add", `{}`)
			expectFault(t, err, mcp.Unavailable)
			webPeer(t, address, "MCP_TEST_SESSIONS="+sessions)
			eventually(t, "another session", func() bool {
				r, err := call(t, t.Context(), s, "add", `{"A":1,"B":2}`)
				return err == nil && r.Content[0].Text == "3"
			})
			eventually(t, "the list of the new server", func() bool { _, ok := find(s, "grown"); return !ok })
		})
	}
}

func TestLostSubscriptionIsMadeAgain(t *testing.T) {
	t.Parallel()
	address, end := webPeer(t, "")
	s := connect(t, web(address))
	text(t, s, "grow", `{}`)
	eventually(t, "the new tool", func() bool { _, ok := find(s, "grown"); return ok })
	end()
	webPeer(t, address)
	text(t, s, "add", `{}`)
	eventually(t, "the list of the new server", func() bool { _, ok := find(s, "grown"); return !ok })
}

func TestForgottenSessionCostsNoCall(t *testing.T) {
	t.Parallel()
	address, end := webPeer(t, "", "MCP_TEST_SESSIONS=1")
	c := web(address)
	// Without the stream nobody notices that the server is another one.
	c.HTTP = &http.Client{Transport: withoutStream{&http.Transport{DisableKeepAlives: true}}}
	s := connect(t, c)
	end()
	webPeer(t, address, "MCP_TEST_SESSIONS=1")
	expect(t, "add", text(t, s, "add", `{"A":1,"B":2}`), "3")
}

type withoutStream struct{ http.RoundTripper }

func (w withoutStream) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return &http.Response{StatusCode: http.StatusMethodNotAllowed, Body: http.NoBody, Request: r}, nil
	}
	return w.RoundTripper.RoundTrip(r)
}

func TestBackoffKeepsAttemptsApart(t *testing.T) {
	t.Parallel()
	address, end := webPeer(t, "")
	s := connect(t, web(address))
	end()
	began := time.Now() // the pause of 250 ms begins after this
	for range 3 {
		_, err := call(t, t.Context(), s, "add", `{}`)
		expectFault(t, err, mcp.Unavailable)
	}
	webPeer(t, address)
	if _, err := call(t, t.Context(), s, "add", `{}`); time.Since(began) < 250*time.Millisecond {
		expectFault(t, err, mcp.Unavailable)
	}
	eventually(t, "connected again", func() bool { _, err := call(t, t.Context(), s, "add", `{}`); return err == nil })
}

func TestCredentialIsAskedFor(t *testing.T) {
	t.Parallel()
	address, _ := webPeer(t, "")
	c := web(address)
	c.Header = nil
	_, err := mcp.Connect(t.Context(), c)
	expectFault(t, err, mcp.Unauthorized)
}

func TestCredentialStaysWithItsOrigin(t *testing.T) {
	t.Parallel()
	address, _ := webPeer(t, "")
	c := web(address)
	_, port, _ := strings.Cut(address, ":")
	c.HTTP = &http.Client{Transport: redirecting{to: "http://localhost:" + port, from: address}}
	_, err := mcp.Connect(t.Context(), c)
	expectFault(t, err, mcp.Unauthorized)
}

// redirecting sends every request for one host to another.
type redirecting struct{ to, from string }

func (d redirecting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != d.from {
		return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	}
	return &http.Response{
		StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {d.to}}, Body: http.NoBody, Request: r,
	}, nil
}

func TestProcessSeesNoSecretOfOurs(t *testing.T) {
	t.Setenv("SVC_SECRET", "do not tell")
	s := connect(t, stdio("stdio"))
	if env := text(t, s, "environment", `{}`); strings.Contains(env, "do not tell") || !strings.Contains(env, role+"=stdio") {
		t.Errorf("the program sees %s; want its role and no secret", env)
	}
}

func TestAllowIsAskedEachTime(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	off := ""
	c := stdio("stdio")
	c.Name = "peer"
	c.Allow = func(tool string) bool { mu.Lock(); defer mu.Unlock(); return tool != off }
	s := connect(t, c)
	add, ok := find(s, "peer_add")
	expect(t, "listed", ok, true)
	mu.Lock()
	off = "add"
	mu.Unlock()
	_, ok = find(s, "peer_add")
	expect(t, "listed when off", ok, false)
	_, err := add.Call(t.Context(), json.RawMessage(`{}`))
	expectFault(t, err, mcp.Disabled)
}

func TestCloseEndsStubbornProcessAndCalls(t *testing.T) {
	t.Parallel()
	c := stdio("stubborn")
	c.Grace = 100 * time.Millisecond
	started := make(chan struct{}, 1)
	c.Progress = func(string, string, float64, float64, string) { started <- struct{}{} }
	s, err := mcp.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(text(t, s, "pid", `{}`))
	slow, _ := find(s, "slow")
	answered := make(chan error, 1)
	go func() {
		_, err := slow.Call(context.Background(), json.RawMessage(`{"Steps":1,"Pause":60000}`))
		answered <- err
	}()
	<-started
	expect(t, "close", s.Close(), nil)
	expectFault(t, <-answered, mcp.Unavailable)
	expect(t, "the process", syscall.Kill(pid, 0), error(syscall.ESRCH))
	_, err = slow.Call(t.Context(), json.RawMessage(`{}`))
	expectFault(t, err, mcp.Unavailable)
	expect(t, "close again", s.Close(), nil)
}

func TestMuteServerIsGivenUp(t *testing.T) {
	t.Parallel()
	c := stdio("mute")
	c.ConnectTimeout = 200 * time.Millisecond
	began := time.Now()
	_, err := mcp.Connect(t.Context(), c)
	expectFault(t, err, mcp.Timeout)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestHostileWebServerIsGivenUp(t *testing.T) {
	t.Parallel()
	for typ, answer := range map[string]http.HandlerFunc{
		mcp.Timeout: func(_ http.ResponseWriter, r *http.Request) {
			// The server hears of a client that left once it has read what the client said.
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
		mcp.Unavailable: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for {
				if _, err := io.WriteString(w, strings.Repeat("[", 1<<16)); err != nil {
					return
				}
			}
		},
	} {
		peer := httptest.NewServer(answer)
		c := web(strings.TrimPrefix(peer.URL, "http://"))
		if typ == mcp.Timeout {
			c.ConnectTimeout = 200 * time.Millisecond
		}
		_, err := mcp.Connect(t.Context(), c)
		expectFault(t, err, typ)
		peer.Close()
	}
}

func TestNoServerIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []mcp.Config{
		{}, {URL: "ftp://x"}, {URL: "http://x", Command: []string{"x"}},
		{Command: []string{"/no/such/program"}}, {Command: []string{"/bin/false"}}, {URL: "http://127.0.0.1:1/mcp?key=secret"},
	} {
		c.Log = slog.New(slog.DiscardHandler)
		if _, err := mcp.Connect(t.Context(), c); err == nil {
			t.Errorf("connected to %v", c)
		} else if f := fault.From(err); strings.Contains(f.Message+f.Details, "secret") {
			t.Errorf("says a secret: %v", err)
		}
	}
}

func TestDeafServerDoesNotHoldCalls(t *testing.T) {
	t.Parallel()
	c := stdio("deaf")
	c.CallTimeout, c.Grace = 100*time.Millisecond, 100*time.Millisecond
	s := connect(t, c)
	began := time.Now()
	_, err := call(t, t.Context(), s, "huge", `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
	expectFault(t, err, mcp.Timeout)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestNamesFitProviders(t *testing.T) {
	t.Parallel()
	c := stdio("hostile")
	c.Name = "my server"
	s := connect(t, c)
	var names []string
	seen := map[string]bool{}
	for _, tool := range s.Tools() {
		names = append(names, tool.Name)
		if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(tool.Name) || seen[tool.Name] {
			t.Errorf("name %q", tool.Name)
		}
		seen[tool.Name] = true
		if !strings.HasPrefix(string(tool.InputSchema()), "{") || !strings.Contains(string(tool.InputSchema()), `"type":"object"`) {
			t.Errorf("%s: schema %s", tool.Name, tool.InputSchema())
		}
		if len(tool.Description) > 4096 {
			t.Errorf("%s: description of %d bytes", tool.Name, len(tool.Description))
		}
		if strings.HasPrefix(tool.Name, "my_server_a_b") {
			r, err := tool.Call(t.Context(), nil)
			expect(t, "call", err, nil)
			names[len(names)-1] += "=" + r.Content[0].Text
		}
	}
	expect(t, "names", strings.Join(names, " "), "my_server_a_b_2e7336dc=a.b my_server_a_b=a_b my_server_a_b_c14cddc0=a/b "+
		"my_server_longlonglonglonglonglonglonglonglonglonglongl_cc8458d7 "+
		"my_server_bare my_server_huge my_server_endless my_server_odd my_server_babble")
}

func TestOneOfCollidingNamesStays(t *testing.T) {
	t.Parallel()
	s := connect(t, stdio("hostile"))
	expect(t, "its own name", text(t, s, "a_b", `{"x":"1"}`), "a_b")
	for _, gone := range []string{"text", "list", "wide"} {
		if _, ok := find(s, gone); ok {
			t.Errorf("%s is listed", gone)
		}
	}
	bare, _ := find(s, "bare")
	expect(t, "a tool without schema", string(bare.InputSchema()), `{"properties":{},"type":"object"}`)
}

func TestFailedRefreshKeepsList(t *testing.T) {
	t.Parallel()
	c := stdio("fickle")
	said := make(lines, 100)
	c.Log = slog.New(slog.NewTextHandler(said, nil))
	c.OnChange = func() { t.Error("nothing has changed") }
	s := connect(t, c)
	before := len(s.Tools())
	for line := range said {
		if strings.Contains(line, "not listed anew") {
			break
		}
	}
	expect(t, "tools", len(s.Tools()), before)
}

// lines are what was written, a line each.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

func TestHostileAnswersAreBounded(t *testing.T) {
	t.Parallel()
	s := connect(t, stdio("hostile"))
	r, err := call(t, t.Context(), s, "huge", `{}`)
	expect(t, "huge", err, nil)
	size := 0
	for _, c := range r.Content {
		size += len(c.Text)
	}
	if size > 1<<20-4096 || !strings.HasSuffix(r.Content[0].Text, "bytes are left out]") {
		t.Errorf("%d bytes, ending in %q", size, r.Content[0].Text[len(r.Content[0].Text)-40:])
	}
	for _, tool := range []string{"odd", "babble", "endless"} {
		_, err := call(t, t.Context(), s, tool, `{}`)
		expectFault(t, err, mcp.Unavailable)
		expect(t, "after "+tool, text(t, s, "bare", `{}`), "bare")
	}
}
