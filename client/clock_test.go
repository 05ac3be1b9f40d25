package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc.dev/svc/client"
	"svc.dev/svc/stream"
)

// wires is a network within a bubble of time.
type wires struct {
	once   sync.Once
	dialed chan net.Conn
	closed chan struct{}
}

func newWires() *wires { return &wires{dialed: make(chan net.Conn), closed: make(chan struct{})} }

func (w *wires) Accept() (net.Conn, error) {
	select {
	case c := <-w.dialed:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wires) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

func (w *wires) Addr() net.Addr { return &net.UnixAddr{Name: "wires"} }

func (w *wires) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case w.dialed <- theirs:
		return ours, nil
	case <-w.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bubble runs a test in a bubble of time, with a server at the other end of its wires.
func bubble(t *testing.T, server http.Handler, config client.Config, test func(t *testing.T, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		s := &http.Server{Handler: server}
		served := make(chan error, 1)
		go func() { served <- s.Serve(w) }()
		transport := &http.Transport{DialContext: w.dial, ExpectContinueTimeout: time.Second}
		defer func() {
			transport.CloseIdleConnections()
			_ = s.Close()
			<-served
		}()
		config.BaseURL, config.HTTP = "http://server", &http.Client{Transport: transport}
		c, err := client.New(config)
		if err != nil {
			t.Fatal(err)
		}
		test(t, c)
	})
}

// ticker is a server whose one run has an event with every tick, for as long as it is told to go on. It serves its stream as the real one
// does, with tokens that expire and connections that are held back.
type ticker struct {
	began  time.Time
	every  time.Duration
	events int64 // then the run ends

	mu    sync.Mutex
	good  map[string]time.Time // until when tokens are good; nil: none is needed
	held  bool                 // something on the way holds server-sent events back
	down  bool                 // nobody is there
	asked map[string]int       // how often, by mode
}

func newTicker(every time.Duration, events int64) *ticker {
	return &ticker{every: every, events: events, asked: map[string]int{}}
}

func (s *ticker) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *ticker) count(mode string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[mode]
}

// head is the last event that there is now.
func (s *ticker) head() stream.Offset {
	return stream.Offset(min(int64(time.Since(s.began)/s.every), s.events) - 1)
}

func (s *ticker) page(after stream.Offset) stream.Frame {
	head := s.head()
	var items [][]byte
	next := after
	for next < head && len(items) < 100 {
		next++
		items = append(items, fmt.Appendf(nil, `{"type":"log","runId":"run_1","v":3,"eventIndex":%d,"timestamp":"2026-07-01T12:00:00.000Z"}`, next))
	}
	return stream.NewFrame(after, next, items).At(head, int64(head) == s.events-1)
}

// expires is when the token of a request is no longer good.
func (s *ticker) expires(r *http.Request) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.good == nil {
		return time.Now().Add(time.Hour * 1000)
	}
	return s.good[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
}

func (s *ticker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	live := r.URL.Query().Get("live")
	s.mu.Lock()
	if s.began.IsZero() {
		s.began = time.Now()
	}
	s.asked[live]++
	held, down := s.held, s.down
	s.mu.Unlock()
	if down {
		panic(http.ErrAbortHandler)
	}
	end := s.expires(r)
	if !time.Now().Before(end) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"type":"invalid_api_key","message":"No.","details":""}}`))
		return
	}
	after, err := stream.ParseLoose(r.URL.Query().Get("offset"))
	if err != nil {
		http.Error(w, "offset", http.StatusBadRequest)
		return
	}
	if live == stream.LiveSSE && held {
		<-r.Context().Done()
		return
	}
	if live == stream.LiveSSE {
		s.sse(w, r, after, end)
		return
	}
	s.poll(w, r, after)
}

func (s *ticker) sse(w http.ResponseWriter, r *http.Request, at stream.Offset, end time.Time) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for {
		page := s.page(at)
		_, _ = w.Write(page.SSE())
		_, _ = w.Write(stream.AppendControl(nil, page.Next, "1", page.Tail, page.Closed))
		if err := out.Flush(); err != nil || page.Closed || !time.Now().Before(end) {
			return
		}
		at = page.Next
		for beats := 0; page.Tail && s.head() == at; beats++ {
			if !nap(r.Context(), min(15*time.Second, time.Until(end), s.every)) || !time.Now().Before(end) {
				return
			}
			_, _ = w.Write(stream.Heartbeat())
			if out.Flush() != nil {
				return
			}
		}
	}
}

func (s *ticker) poll(w http.ResponseWriter, r *http.Request, after stream.Offset) {
	for began := time.Now(); r.URL.Query().Get("live") != "" && s.head() <= after && int64(after) < s.events-1 && time.Since(began) < 30*time.Second; {
		if !nap(r.Context(), time.Second) {
			return
		}
	}
	page := s.page(after)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set(stream.HeaderNextOffset, page.Next.String())
	if page.Tail {
		h.Set(stream.HeaderUpToDate, "true")
	}
	if page.Closed {
		h.Set(stream.HeaderClosed, "true")
	}
	h.Set("Content-Length", strconv.Itoa(len(page.JSON())))
	_, _ = w.Write(page.JSON())
}

// nap lets time of the bubble pass, and reports whether somebody is still there.
func nap(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(d, 1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// follow reads the run of a ticker to its end, and fails the test unless each event comes once, and soon.
func (s *ticker) follow(t *testing.T, c *client.Client, o client.StreamOptions, late time.Duration, each func(int64)) {
	t.Helper()
	var want int64
	for e, err := range c.Runs.Stream(t.Context(), "run_1", o) {
		if err != nil {
			t.Fatalf("after %v and %d events: %v", time.Since(s.began), want, err)
		}
		if e.Index != want {
			t.Fatalf("event %d, want %d", e.Index, want)
		}
		if lag := time.Since(s.began) - time.Duration(want+1)*s.every; lag > late {
			t.Fatalf("event %d came %v late", want, lag)
		}
		want++
		if each != nil {
			each(e.Index)
		}
	}
	if want != s.events {
		t.Fatalf("%d events, want %d", want, s.events)
	}
}

// TestATokenIsRenewedForADay follows a run for 24 hours with tokens of an hour, and once the one who gives them is away for a while.
func TestATokenIsRenewedForADay(t *testing.T) {
	for _, live := range []client.Live{client.Auto, client.LongPoll} {
		t.Run(string("live "+live), func(t *testing.T) {
			server := newTicker(time.Minute, 24*60)
			server.good = map[string]time.Time{}
			given, failed := 0, 0
			config := client.Config{TokenFunc: func(context.Context) (string, error) {
				if given == 12 && failed < 5 {
					failed++
					return "", errors.New("nobody is there")
				}
				given++
				token := fmt.Sprintf("token-%d", given)
				server.set(func() { server.good[token] = time.Now().Add(time.Hour) })
				return token, nil
			}}
			bubble(t, server, config, func(t *testing.T, c *client.Client) {
				server.follow(t, c, client.StreamOptions{Live: live}, 40*time.Second, nil)
				if given < 24 || given > 26 || failed != 5 {
					t.Errorf("%d tokens in a day, %d failures", given, failed)
				}
			})
		})
	}
}

// TestATokenThatIsRefusedAgainIsTheAnswer asks somebody who gives tokens that are never good, and somebody who has one only.
func TestATokenThatIsRefusedAgainIsTheAnswer(t *testing.T) {
	given := 0
	for name, config := range map[string]client.Config{
		"fixed":   {Token: "x"},
		"one":     {TokenFunc: func(context.Context) (string, error) { return "x", nil }},
		"another": {TokenFunc: func(context.Context) (string, error) { given++; return strconv.Itoa(given), nil }},
	} {
		server := newTicker(time.Minute, 3)
		server.good = map[string]time.Time{}
		bubble(t, server, config, func(t *testing.T, c *client.Client) {
			for _, err := range c.Runs.Stream(t.Context(), "run_1", client.StreamOptions{}) {
				if e, ok := errors.AsType[*client.Error](err); !ok || e.Type != "invalid_api_key" || e.Status != 401 {
					t.Errorf("%s: %v", name, err)
				}
			}
			if n := server.count("sse"); n > 3 {
				t.Errorf("%s: asked %d times", name, n)
			}
		})
	}
}

// TestATokenThatNobodyGivesIsTheAnswer gives up a stream whose token is refused for good, and one whose token does not come.
func TestATokenThatNobodyGivesIsTheAnswer(t *testing.T) {
	for why, within := range map[error]time.Duration{
		errors.New("nobody is there"):                             40 * time.Second,
		&client.Error{Type: "invalid_grant", Status: 400}:         time.Second,
		&client.Error{Type: client.Unreachable, Message: "Gone."}: 40 * time.Second,
	} {
		server := newTicker(time.Minute, 300)
		server.good = map[string]time.Time{}
		first := true
		config := client.Config{TokenFunc: func(context.Context) (string, error) {
			if !first {
				return "", why
			}
			first = false
			server.set(func() { server.good["good"] = time.Now().Add(2 * time.Hour) })
			return "good", nil
		}}
		bubble(t, server, config, func(t *testing.T, c *client.Client) {
			n := 0
			for _, err := range c.Runs.Stream(t.Context(), "run_1", client.StreamOptions{}) {
				if err == nil {
					n++
					continue
				}
				if took := time.Since(server.began) - 2*time.Hour; !client.Is(err, client.TokenUnavailable) || !errors.Is(err, why) || n < 119 || took > within {
					t.Errorf("%v: %v, after %d events and %v", why, err, n, took)
				}
			}
		})
	}
}

// TestEventsThatAreHeldBackArePolled lets something on the way hold server-sent events back for the first hours.
func TestEventsThatAreHeldBackArePolled(t *testing.T) {
	server := newTicker(10*time.Second, 6*60*4)
	server.held = true
	bubble(t, server, client.Config{}, func(t *testing.T, c *client.Client) {
		var polls int
		server.follow(t, c, client.StreamOptions{}, 20*time.Second, func(i int64) {
			switch i {
			case 6 * 60:
				if n := server.count("sse"); n > 12 {
					t.Errorf("tried %d times in an hour", n)
				}
			case 6 * 60 * 2:
				server.set(func() { server.held = false })
			case 6*60*2 + 6*12: // twelve minutes later they are back
				polls = server.count("long-poll")
			}
		})
		if n := server.count("long-poll"); n != polls || polls == 0 {
			t.Errorf("%d polls, and %d after the way was free", polls, n-polls)
		}
	})
}

// TestAStreamThatFallsSilentIsLeft lets a connection die without a word.
func TestAStreamThatFallsSilentIsLeft(t *testing.T) {
	dead := 0
	server := newTicker(time.Minute, 30)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("offset") == stream.Offset(9).String() && r.URL.Query().Get("live") == "sse" && dead == 0 {
			dead++
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(stream.AppendControl(nil, 9, "", true, false))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		if r.URL.Query().Get("offset") == "-1" { // a connection that ends in order at the tenth event
			ctx, cancel := context.WithTimeout(r.Context(), 10*time.Minute+time.Second)
			defer cancel()
			r = r.WithContext(ctx)
		}
		server.ServeHTTP(w, r)
	})
	bubble(t, handler, client.Config{}, func(t *testing.T, c *client.Client) {
		server.follow(t, c, client.StreamOptions{}, time.Minute, nil)
		if dead != 1 {
			t.Errorf("%d connections died", dead)
		}
	})
}

// TestAnOutageIsWaitedOut takes the server away for ten minutes: it is asked ever more seldom, and the stream goes on at once afterwards.
func TestAnOutageIsWaitedOut(t *testing.T) {
	server := newTicker(time.Second, 30*60)
	var waits []time.Duration
	config := client.Config{Retrying: func(_ error, wait time.Duration) { waits = append(waits, wait) }}
	bubble(t, server, config, func(t *testing.T, c *client.Client) {
		var before, during int
		var restart *time.Timer
		server.follow(t, c, client.StreamOptions{Live: client.LongPoll}, 10*time.Minute+15*time.Second, func(i int64) {
			if i == 60 {
				server.set(func() { server.down = true })
				before = server.count("long-poll")
				restart = time.AfterFunc(10*time.Minute, func() {
					during = server.count("long-poll") - before
					server.set(func() { server.down = false })
				})
			}
		})
		restart.Stop()
		if during < 60 || during > 200 {
			t.Errorf("asked %d times in ten minutes", during)
		}
		for i, wait := range waits {
			if wait > 10*time.Second || i == 0 && wait > 100*time.Millisecond {
				t.Errorf("wait %d is %v", i, wait)
			}
		}
	})
}

// refuse answers some requests with a refusal, and the others with a run.
func refuse(times int, status int, retry string, asked *[]time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		*asked = append(*asked, time.Now())
		w.Header().Set("Content-Type", "application/json")
		if len(*asked) > times {
			_, _ = w.Write([]byte(`{"runId":"run_1","workflowName":"w","status":"active","startedAt":"2026-07-01T12:00:00.000Z"}`))
			return
		}
		w.Header().Set("Retry-After", retry)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"error":{"type":"runtime_unavailable","message":"Later.","details":""}}`))
	})
}

func TestAServerThatAsksForTimeGetsIt(t *testing.T) {
	for _, status := range []int{429, 503} {
		var asked []time.Time
		bubble(t, refuse(2, status, "7", &asked), client.Config{}, func(t *testing.T, c *client.Client) {
			if _, err := c.Runs.Get(t.Context(), "run_1"); err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				if gap := asked[i+1].Sub(asked[i]); gap < 7*time.Second || gap > 8*time.Second {
					t.Errorf("%d: asked again after %v", status, gap)
				}
			}
		})
	}
}

func TestACallHasPatienceAndNotMore(t *testing.T) {
	for retry, want := range map[string]time.Duration{"": 30 * time.Second, "60": time.Second} {
		var asked []time.Time
		bubble(t, refuse(1<<20, 503, retry, &asked), client.Config{}, func(t *testing.T, c *client.Client) {
			began := time.Now()
			_, err := c.Runs.Get(t.Context(), "run_1")
			if took := time.Since(began); !client.Is(err, "runtime_unavailable") || took > want {
				t.Errorf("Retry-After %q: %v after %v and %d requests", retry, err, took, len(asked))
			}
		})
	}
	for status, times := range map[int]int{400: 1, 404: 1, 409: 1, 413: 1, 500: 1} {
		var asked []time.Time
		bubble(t, refuse(1<<20, status, "", &asked), client.Config{}, func(t *testing.T, c *client.Client) {
			if _, err := c.Runs.Get(t.Context(), "run_1"); err == nil || len(asked) != times {
				t.Errorf("%d: %v after %d requests", status, err, len(asked))
			}
		})
	}
}

// TestAnAnswerThatNeverComesIsGivenUp asks a server that takes requests and says nothing.
func TestAnAnswerThatNeverComesIsGivenUp(t *testing.T) {
	silent := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	bubble(t, silent, client.Config{}, func(t *testing.T, c *client.Client) {
		began := time.Now()
		_, err := c.Runs.Get(t.Context(), "run_1")
		if took := time.Since(began); !client.Is(err, client.Unreachable) || took > 2*time.Minute {
			t.Errorf("%v after %v", err, took)
		}
		began = time.Now()
		for _, err := range c.Runs.Stream(t.Context(), "run_1", client.StreamOptions{}) {
			if took := time.Since(began); !client.Is(err, client.Unreachable) || took > 4*time.Minute {
				t.Errorf("a stream: %v after %v", err, took)
			}
		}
	})
}

// TestAReaderThatIsSlowHoldsLittle takes a minute for each event of a server that would send them all at once.
func TestAReaderThatIsSlowHoldsLittle(t *testing.T) {
	const events = 400
	var mu sync.Mutex
	sent, took := 0, 0
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, _ := stream.ParseLoose(r.URL.Query().Get("offset"))
		w.Header().Set("Content-Type", "text/event-stream")
		for next := at + 1; next < events; next++ {
			item := fmt.Appendf(nil, `{"type":"log","runId":"r","v":3,"eventIndex":%d,"timestamp":"2026-07-01T12:00:00.000Z","message":%q}`, next, strings.Repeat("x", 10_000))
			frame := stream.AppendControl(stream.NewFrame(next-1, next, [][]byte{item}).SSE(), next, "", next == events-1, next == events-1)
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(90 * time.Second))
			if _, err := w.Write(frame); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			mu.Lock()
			sent = max(sent, int(next))
			if ahead := sent - took; ahead > 8 {
				t.Errorf("%d events are held", ahead)
			}
			mu.Unlock()
		}
	})
	bubble(t, server, client.Config{}, func(t *testing.T, c *client.Client) {
		for e, err := range c.Runs.Stream(t.Context(), "run_1", client.StreamOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			if took != int(e.Index) {
				t.Errorf("event %d, want %d", e.Index, took)
			}
			took++
			mu.Unlock()
			nap(t.Context(), time.Minute)
		}
		if took != events {
			t.Errorf("%d events", took)
		}
	})
}
