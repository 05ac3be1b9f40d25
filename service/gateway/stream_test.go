package gateway_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/scope"
)

// soak runs what takes long, and holds the figures.
var soak = os.Getenv("SVC_SOAK") != ""

// places are where a runtime can be: in this process, and in another.
var places = map[string]struct {
	address func(testing.TB) string
	apart   bool
}{"one process": {sqldbtest.SQLite, false}, "two processes": {sqldbtest.Schema, true}}

// both runs a test with the runtime in each place.
func both(t *testing.T, edit func(*gateway.Config), fn func(t *testing.T, s *scene)) {
	t.Helper()
	for mode, place := range places {
		t.Run(mode, func(t *testing.T) { fn(t, withRuntime(t, place.address(t), place.apart, edit)) })
	}
}

// open begins to read a stream.
func (s *scene) openStream(t testing.TB, path string, header http.Header) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Header = s.hosts[gateway.Agents], header
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

const following = "/v1/ada/personal/agents/central/x?view=updates&offset=-1&live=sse"

// talked gives ada a key and a conversation.
func (s *scene) talked(t testing.TB, text string) (cookie, key string) {
	t.Helper()
	cookie, _ = s.session(t, "ada@example.com")
	key = s.key(t, cookie, "ada", "agents:read", "agents:write")
	s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/x", header: by(key), body: map[string]string{"kind": "user", "body": text}}).wants(t, 202, "")
	return cookie, key
}

func TestARevokedCredentialEndsItsStreams(t *testing.T) {
	both(t, func(c *gateway.Config) { c.Recheck = 50 * time.Millisecond }, func(t *testing.T, s *scene) {
		cookie, key := s.talked(t, "n=2")
		for name, c := range map[string]struct {
			header http.Header
			revoke func()
			typ    string
		}{
			"key": {by(key), func() {
				var list struct{ Items []struct{ ID string } }
				s.do(t, call{on: gateway.Agents, path: "/api/workspaces/ada/personal/keys", cookie: cookie}).wants(t, 200, "").read(t, &list)
				s.do(t, call{on: gateway.Agents, method: "DELETE", path: "/api/workspaces/ada/personal/keys/" + list.Items[0].ID, cookie: cookie}).wants(t, 204, "")
			}, "invalid_api_key"},
			"session": {http.Header{"Cookie": {s.another(t)}}, func() {
				s.do(t, call{method: "POST", path: "/api/account/sessions/revoke-others", cookie: cookie})
			}, "unauthenticated"},
		} {
			stream := s.openStream(t, following, c.header)
			defer stream.Body.Close()
			in := bufio.NewReader(stream.Body)
			if _, err := in.ReadString('\n'); err != nil || stream.StatusCode != 200 {
				t.Fatalf("%s: %d %v", name, stream.StatusCode, err)
			}
			c.revoke()
			began := time.Now()
			if _, err := io.ReadAll(in); err != nil {
				t.Errorf("%s: the stream broke off: %v", name, err)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s: the stream was open for %s", name, took)
			}
			s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/agents/central/x", header: c.header.Clone()}).wants(t, 401, c.typ)
		}
	})
}

// TestWhatAProjectSaysIsNotCutShortUnseen revokes the key of somebody who hears a project: events come to their end, and all else breaks off.
func TestWhatAProjectSaysIsNotCutShortUnseen(t *testing.T) {
	says := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	apart := httptest.NewServer(says)
	defer apart.Close()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := quick(t, func(c *gateway.Config) { c.Recheck = 50 * time.Millisecond })
	cookie, _ := s.session(t, "ada@example.com")
	for place, runtime := range map[string]http.Handler{
		"one process":   says,
		"two processes": gateway.NewProxy(parse(apart.URL), &scope.Forward{Token: runtimeToken, AdminToken: adminToken, Key: private}, nil, s.Accounts.Log),
	} {
		s.runtime = runtime
		for kind, whole := range map[string]bool{"text/plain": false, "": false, "text/event-stream": true, "text/event-stream;charset=utf-8": true} {
			key := s.key(t, cookie, "ada", "agents:read", "runs:read")
			answer := s.openStream(t, "/v1/ada/personal/page?type="+url.QueryEscape(kind), by(key))
			if answer.StatusCode != http.StatusOK {
				t.Fatalf("%s, %q: %d", place, kind, answer.StatusCode)
			}
			execute(t, s, "UPDATE api_keys SET revoked_at = 1")
			if text, err := io.ReadAll(answer.Body); string(text) != "half" || (err == nil) != whole {
				t.Errorf("%s, %q: it ends with %q, %v", place, kind, text, err)
			}
			answer.Body.Close()
		}
	}
}

// another is the cookie of a second session of ada's.
func (s *scene) another(t testing.TB) string {
	t.Helper()
	return s.do(t, call{method: "POST", path: loginPath, body: map[string]string{"email": "ada@example.com", "password": password}}).wants(t, 200, "").cookies()
}

// TestAnOpenStreamOutlivesARecheck holds that looking again ends nothing that counts.
func TestAnOpenStreamOutlivesARecheck(t *testing.T) {
	both(t, func(c *gateway.Config) { c.Recheck = time.Millisecond }, func(t *testing.T, s *scene) {
		_, key := s.talked(t, "n=30 delay=10")
		if text := s.follow(t, following, by(key), "submission-settled"); !strings.Contains(text, "word29 ") {
			t.Errorf("stream: %s", text)
		}
	})
}

// TestWhoHasGoneHoldsNoStream lets an account have one stream, and waits until it may have another.
func TestWhoHasGoneHoldsNoStream(t *testing.T) {
	both(t, func(c *gateway.Config) { c.Streams, c.Rate, c.Burst = 1, 1e6, 1e6 }, func(t *testing.T, s *scene) {
		_, key := s.talked(t, "n=2")
		first := s.openStream(t, following, by(key))
		second := s.openStream(t, following, by(key))
		second.Body.Close()
		if first.StatusCode != 200 || second.StatusCode != 429 || second.Header.Get("Retry-After") == "" {
			t.Fatalf("%d, then %d", first.StatusCode, second.StatusCode)
		}
		first.Body.Close()
		s.mayStream(t, key)
	})
}

// mayStream waits until the account has a stream to spare.
func (s *scene) mayStream(t *testing.T, key string) {
	t.Helper()
	eventually(t, "there is a stream to spare", func() bool {
		answer := s.openStream(t, following, by(key))
		answer.Body.Close()
		return answer.StatusCode == 200
	})
}

// TestWhoDoesNotReadHoldsNoStream opens a stream of which much is to be told, and takes none of it.
func TestWhoDoesNotReadHoldsNoStream(t *testing.T) {
	both(t, func(c *gateway.Config) {
		c.Streams, c.Rate, c.Burst, c.WriteTimeout = 1, 1e6, 1e6, 200*time.Millisecond
	}, func(t *testing.T, s *scene) {
		_, key := s.talked(t, "n=200 size=50000")
		conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.(*net.TCPConn).SetReadBuffer(4096) // a hint
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: agents.svc.localhost:8080\r\nAuthorization: Bearer %s\r\n\r\n", following, key)
		if line, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("%s %v", line, err)
		}
		s.mayStream(t, key)
	})
}

// settled waits until the reply is whole, and returns where the conversation stands then.
func (s *scene) settled(t *testing.T, key string) (offset string) {
	t.Helper()
	var got reply
	eventually(t, "the reply ends", func() bool {
		got = s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/agents/central/x", header: by(key)})
		return strings.Contains(got.body, `"outcome":"completed"`)
	})
	var told struct{ Offset string }
	got.read(t, &told)
	return told.Offset
}

// TestAStreamThatBreaksOffIsNoWholeAnswer kills the runtime in the middle: a client must not take what it heard for all.
func TestAStreamThatBreaksOffIsNoWholeAnswer(t *testing.T) {
	s := quick(t)
	cookie, _ := s.session(t, "ada@example.com")
	s.runtime = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	answer := s.openStream(t, following, http.Header{"Cookie": {cookie}})
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("%q is the whole answer", text)
	}
}

func TestAGatewayThatStopsRefusesWhatIsNew(t *testing.T) {
	stopping := make(chan struct{})
	s := withRuntime(t, sqldbtest.SQLite(t), true, func(c *gateway.Config) { c.Stopping, c.Farewell = stopping, 300*time.Millisecond })
	_, key := s.talked(t, "n=2")
	stream := s.openStream(t, following, by(key))
	defer stream.Body.Close()
	close(stopping)
	began := time.Now()
	if _, err := io.ReadAll(stream.Body); err != nil || time.Since(began) > 20*time.Second {
		t.Errorf("the stream ended after %s: %v", time.Since(began), err)
	}
	for _, c := range []call{{method: "POST", path: "/v1/ada/personal/agents/central/x", body: `{"kind":"user","body":"n=1"}`}, {path: following}} {
		c.on, c.header = gateway.Agents, by(key)
		if got := s.do(t, c).wants(t, 503, "runtime_unavailable"); got.Header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After: %v", got.Header)
		}
	}
	s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/agents/central/x", header: by(key)}).wants(t, 200, "")
}

// arrivals notes when each word of a stream is heard.
func arrivals(answer *http.Response, words int) map[string]time.Time {
	heard := map[string]time.Time{}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for len(heard) < words && lines.Scan() {
		now := time.Now()
		for _, m := range aWord.FindAllString(lines.Text(), -1) {
			heard[m] = now
		}
	}
	return heard
}

var aWord = regexp.MustCompile(`word\d+ `)

// straight asks the runtime itself for a path, as ada: in this process by a server in front of it, else by a signed request.
func (s *scene) straight(t *testing.T, owner, path string) *http.Response {
	t.Helper()
	c := scope.Claims{Account: "ada", AccountID: owner, Scope: "users/ada/personal", Actor: "ada", Authority: scope.Customer, Base: agentsURL + "/v1/ada/personal", RequestID: "req_x"}
	to := s.private
	if to == "" {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.runtime.ServeHTTP(w, r.WithContext(scope.With(r.Context(), c)))
		}))
		t.Cleanup(server.Close)
		to = server.URL
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.forward != nil {
		if err := s.forward.Sign(r, c); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		t.Fatalf("%s: %d %s", path, answer.StatusCode, text)
	}
	return answer
}

// TestTheGatewayAddsLittleToAStream hears every word twice at 100 words a second, from the runtime itself and through the
// gateway.
func TestTheGatewayAddsLittleToAStream(t *testing.T) {
	words := 100
	if soak {
		words = 3000
	}
	for mode, place := range places {
		t.Run(mode, func(t *testing.T) {
			s := withRuntime(t, place.address(t), place.apart)
			cookie, ada := s.session(t, "ada@example.com")
			key := s.key(t, cookie, "ada", "agents:read", "agents:write")
			var admitted struct{ Offset string }
			s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/x", header: by(key), body: map[string]string{"kind": "user", "body": fmt.Sprintf("n=%d delay=10", words)}}).
				wants(t, 202, "").read(t, &admitted)
			query := "?view=updates&live=sse&offset=" + admitted.Offset
			straight := s.straight(t, ada.Account.ID, "/agents/central/x"+query)
			defer straight.Body.Close()
			through := s.openStream(t, "/v1/ada/personal/agents/central/x"+query, by(key))
			defer through.Body.Close()
			var direct, passed map[string]time.Time
			var readers sync.WaitGroup
			readers.Go(func() { direct = arrivals(straight, words) })
			readers.Go(func() { passed = arrivals(through, words) })
			readers.Wait()
			var added []time.Duration
			for word, at := range direct {
				added = append(added, passed[word].Sub(at))
			}
			if len(added) != words || len(passed) != words {
				t.Fatalf("%d and %d words", len(direct), len(passed))
			}
			slices.Sort(added)
			p50, p99 := added[len(added)/2], added[len(added)*99/100]
			t.Logf("added to %d words: p50 %s, p99 %s, most %s", words, p50, p99, added[len(added)-1])
			if soak && p99 >= 5*time.Millisecond {
				t.Errorf("the gateway adds %s", p99)
			}
		})
	}
}

// TestAThousandStreamsAreHeld opens them all on one conversation, and lets them hear of one more prompt.
func TestAThousandStreamsAreHeld(t *testing.T) {
	many := 50
	if soak {
		many = 1000
	}
	for mode, place := range places {
		t.Run(mode, func(t *testing.T) {
			s := open(t, place.address(t), accounttest.Options{}, func(c *gateway.Config) { c.Streams, c.Rate, c.Burst = 2*many, 1e6, 1e6 })
			s.start(t, place.apart)
			_, key := s.talked(t, "n=1")
			path := strings.Replace(following, "offset=-1", "offset="+s.settled(t, key), 1)
			began := time.Now()
			streams := make([]*http.Response, many)
			for i := range streams {
				streams[i] = s.openStream(t, path, by(key))
				defer streams[i].Body.Close()
				if streams[i].StatusCode != 200 {
					text, _ := io.ReadAll(streams[i].Body)
					t.Fatalf("stream %d: %d %s", i, streams[i].StatusCode, text)
				}
			}
			opened := time.Since(began)
			asked := time.Now()
			s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/x", header: by(key), body: `{"kind":"user","body":"n=1 again"}`}).wants(t, 202, "")
			took := make([]time.Duration, many)
			var readers sync.WaitGroup
			for i, stream := range streams {
				readers.Go(func() {
					for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
						if strings.Contains(lines.Text(), "submission-settled") {
							took[i] = time.Since(asked)
							return
						}
					}
				})
			}
			readers.Wait()
			slices.Sort(took)
			if took[0] == 0 {
				t.Error("a stream did not hear of the reply")
			}
			t.Logf("%d streams opened in %s; the reply was heard by half in %s, by all in %s", many, opened, took[many/2], took[many-1])
			ended(t, s, streams)
		})
	}
}

// ended fails unless the streams of clients that have gone are given up.
func ended(t *testing.T, s *scene, streams []*http.Response) {
	t.Helper()
	for _, stream := range streams {
		stream.Body.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s.gateway.Drain(ctx)
	if ctx.Err() != nil {
		t.Error("streams of clients that have gone are open")
	}
}
