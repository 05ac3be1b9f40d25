package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/secret"
)

// halves is a service of two processes.
type halves struct {
	settings []string
	data     string
	port     string // of the gateway
	private  string // where the runtime listens
	gateway  *process
	runtime  *process
}

func newHalves(t *testing.T, private string) *halves {
	t.Helper()
	out, err := exec.Command("svc", "keys", "assertion", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var pair config.AssertionPair
	if err := json.Unmarshal(out, &pair); err != nil {
		t.Fatal(err)
	}
	h := &halves{data: t.TempDir(), port: freePort(t), private: private}
	keys := filepath.Join(h.data, "keys.json")
	ring, err := secret.NewRing()
	if err == nil {
		err = ring.WriteNew(keys)
	}
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + private
	if strings.HasPrefix(private, "unix:") {
		at = private
	}
	h.settings = []string{
		"SVC_DATABASE_URL=" + sqldbtest.Postgres(t), "SVC_LISTEN=127.0.0.1:" + h.port, "SVC_OPS_LISTEN=127.0.0.1:0", "SVC_RUNTIME_LISTEN=" + private, "SVC_RUNTIME_URL=" + at,
		"SVC_RUNTIME_TOKEN=" + strings.Repeat("t", 32), "SVC_RUNTIME_ADMIN_TOKEN=" + strings.Repeat("a", 32),
		"SVC_ASSERTION_KEY=" + pair.Key, "SVC_ASSERTION_PUBLIC=" + pair.Public, "SVC_STOP_TIMEOUT=6s", "SVC_KEYS_FILE=" + keys,
	}
	return h
}

func (h *halves) startRuntime(t *testing.T) {
	t.Helper()
	h.runtime = launch(t, h.settings, "runtime", "--data", filepath.Join(h.data, "runtime"))
}

func (h *halves) startGateway(t *testing.T) {
	t.Helper()
	h.gateway = launch(t, h.settings, "gateway", "--data", filepath.Join(h.data, "gateway"))
}

// person is a client with an API key.
type person struct{ base, key string }

// signUp makes an account on a service and a key for its workspace: to talk to agents, or for what is named.
func signUp(t *testing.T, at service.Serving, username string, scopes ...string) person {
	t.Helper()
	if len(scopes) == 0 {
		scopes = []string{"agents:read", "agents:write"}
	}
	res := send(t, "POST", at.Platform+"/api/auth/password/register", http.Header{"Origin": {at.Platform}},
		fmt.Sprintf(`{"email":"%s@example.com","password":"a calm and long password","username":"%s"}`, username, username))
	cookie := res.cookie
	res = send(t, "POST", at.Agents+"/api/workspaces/"+username+"/personal/keys", http.Header{"Origin": {at.Agents}, "Cookie": {cookie}}, `{"name":"k","scopes":["`+strings.Join(scopes, `","`)+`"]}`)
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(res.body), &made); err != nil || made.Key == "" {
		t.Fatalf("key: %d %s", res.status, res.body)
	}
	return person{at.Agents + "/v1/" + username + "/personal", made.Key}
}

// result is an answer, read whole.
type result struct {
	status int
	header http.Header
	body   string
	cookie string
}

func send(t *testing.T, method, url string, header http.Header, body string) result {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := result{status: res.StatusCode, header: res.Header, body: string(text)}
	for _, c := range res.Cookies() {
		if c.Name == "svc_session" {
			r.cookie = c.Name + "=" + c.Value
		}
	}
	return r
}

func (p person) do(t *testing.T, method, path, body string) result {
	t.Helper()
	return send(t, method, p.base+path, http.Header{"Authorization": {"Bearer " + p.key}}, body)
}

// story is what a reader has heard of a reply, across as many connections as it took.
type story struct {
	words  []string
	offset string
	heard  atomic.Int64 // how many words, while it is followed
}

var (
	saidWord = regexp.MustCompile(`"delta":"(word\d+) "`)
	nextOne  = regexp.MustCompile(`"streamNextOffset":"([^"]+)"`)
)

// follow reads on from where the story stands, until it holds so many words or the connection ends. What comes after the
// last control frame will come again, and is left out.
func (s *story) follow(t *testing.T, p person, path string, enough int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", p.base+path+"?view=updates&live=sse&offset="+s.offset, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.key)
	res, err := client.Do(req)
	if err != nil {
		return // nobody listens just now
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		return
	}
	var fresh []string
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for len(s.words) < enough && lines.Scan() {
		for _, m := range saidWord.FindAllStringSubmatch(lines.Text(), -1) {
			fresh = append(fresh, m[1])
		}
		if m := nextOne.FindStringSubmatch(lines.Text()); m != nil {
			s.words, s.offset, fresh = append(s.words, fresh...), m[1], nil
			s.heard.Store(int64(len(s.words)))
		}
	}
}

// holds fails unless the story is every word once, in order.
func (s *story) holds(t *testing.T, n int) {
	t.Helper()
	if len(s.words) != n {
		t.Fatalf("%d words: %v", len(s.words), s.words)
	}
	for i, word := range s.words {
		if word != fmt.Sprintf("word%d", i) {
			t.Fatalf("word %d is %s", i, word)
		}
	}
}

func TestTwoProcessesAreOneService(t *testing.T) {
	h := newHalves(t, "127.0.0.1:"+freePort(t))
	h.startRuntime(t)
	h.startGateway(t)
	ada := signUp(t, h.gateway.Serving, "ada")
	got := ada.do(t, "POST", "/agents/central/first", `{"kind":"user","body":"n=120 delay=25"}`)
	var admitted struct{ StreamURL, Offset string }
	if err := json.Unmarshal([]byte(got.body), &admitted); err != nil || got.status != 202 || admitted.StreamURL != ada.base+"/agents/central/first" {
		t.Fatalf("prompt: %d %s", got.status, got.body)
	}

	// A gateway that dies loses nobody's stream.
	heard := story{offset: admitted.Offset}
	heard.follow(t, ada, "/agents/central/first", 20)
	h.gateway.kill()
	heard.follow(t, ada, "/agents/central/first", 120)
	h.startGateway(t)
	for range 20 {
		heard.follow(t, ada, "/agents/central/first", 120)
	}
	heard.holds(t, 120)
	if got := ada.do(t, "GET", "/agents/central/first", ""); got.status != 200 || !strings.Contains(got.body, "word0 word1 ") || !strings.Contains(got.body, "word118 word119 ") {
		t.Errorf("history: %d %s", got.status, got.body)
	}
	for _, p := range []*process{h.gateway, h.runtime} {
		if res := send(t, "GET", p.Operations+"/readyz", http.Header{}, ""); res.status != 200 {
			t.Errorf("readyz of %s: %d %s", p.Part, res.status, res.body)
		}
	}

	// A runtime that stops says so, and one that is gone is a bad gateway.
	ada.do(t, "POST", "/agents/central/second", `{"kind":"user","body":"n=1000 delay=25"}`)
	h.runtime.stop(t)
	eventually(func() bool {
		got = ada.do(t, "POST", "/agents/central/third", `{"kind":"user","body":"n=1"}`)
		return got.status == 503 || got.status == 502
	})
	// On a machine that takes its time it may be gone before it is asked.
	if !strings.Contains(got.body, "runtime_unavailable") && got.status != 502 {
		t.Errorf("a runtime that stops: %d %s", got.status, got.body)
	}
	<-h.runtime.done
	awaits(t, 502, func() result { return ada.do(t, "GET", "/agents/central/first", "") }, "bad_gateway")
	if res := send(t, "GET", h.gateway.Operations+"/readyz", http.Header{}, ""); res.status != 503 || !strings.Contains(res.body, `"name":"runtime","ok":false`) {
		t.Errorf("readyz without a runtime: %d %s", res.status, res.body)
	}
	h.startRuntime(t)
	if got := ada.do(t, "GET", "/agents/central/first", ""); got.status != 200 {
		t.Errorf("after the runtime came back: %d %s", got.status, got.body)
	}
	if said := h.gateway.said() + h.runtime.said(); strings.Contains(said, strings.Repeat("t", 32)) || strings.Contains(said, "panic") {
		t.Error(said)
	}
}

// awaits asks until it gets that status.
func awaits(t *testing.T, status int, ask func() result, typ string) {
	t.Helper()
	var got result
	eventually(func() bool {
		got = ask()
		return got.status == status
	})
	if got.status != status || !strings.Contains(got.body, typ) || status == 503 && got.header.Get("Retry-After") != "1" {
		t.Errorf("%d %v %s, want %d %s", got.status, got.header, got.body, status, typ)
	}
}

func TestAGatewayThatStopsLetsItsStreamsGo(t *testing.T) {
	h := newHalves(t, "unix:"+filepath.Join(t.TempDir(), "runtime.sock"))
	h.settings = append(h.settings, "SVC_STOP_TIMEOUT=30s")
	h.startRuntime(t)
	h.startGateway(t)
	ada := signUp(t, h.gateway.Serving, "ada")
	var admitted struct{ Offset string }
	got := ada.do(t, "POST", "/agents/central/first", `{"kind":"user","body":"n=160 delay=60"}`)
	if err := json.Unmarshal([]byte(got.body), &admitted); err != nil || got.status != 202 {
		t.Fatalf("prompt: %d %s", got.status, got.body)
	}
	heard := story{offset: admitted.Offset}
	left := make(chan struct{})
	go func() {
		defer close(left)
		heard.follow(t, ada, "/agents/central/first", 160)
	}()
	if !eventually(func() bool { return heard.heard.Load() > 0 }) {
		t.Error("nothing is heard")
	}
	began := time.Now()
	h.gateway.stop(t)
	<-left
	<-h.gateway.done
	if took := time.Since(began); took > 15*time.Second || len(heard.words) == 0 || len(heard.words) == 160 {
		t.Errorf("it took %s, and %d words were heard", took, len(heard.words))
	}
	if code := h.gateway.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, h.gateway.said())
	}
	h.startGateway(t)
	heard.follow(t, ada, "/agents/central/first", 160)
	heard.holds(t, 160)
}

func TestHalvesAreRefusedWithoutWhatTheyShare(t *testing.T) {
	pair, err := config.NewAssertionPair()
	if err != nil {
		t.Fatal(err)
	}
	token, staff := "SVC_RUNTIME_TOKEN="+strings.Repeat("t", 32), "SVC_RUNTIME_ADMIN_TOKEN="+strings.Repeat("a", 32)
	key, public, database := "SVC_ASSERTION_KEY="+pair.Key, "SVC_ASSERTION_PUBLIC="+pair.Public, "SVC_DATABASE_URL=postgres://127.0.0.1:1/x?connect_timeout=1"
	for _, test := range []struct {
		part string
		env  []string
		want string
	}{
		{"gateway", []string{token, staff, key}, "database: svc gateway shares its database with another process, which SQLite cannot: set it to postgres://…, or run svc serve"},
		{"runtime", []string{token, staff, public}, "database: svc runtime shares its database"},
		{"runtime", []string{database, staff, public}, "runtime.token: it is missing"},
		{"runtime", []string{database, token, public}, "runtime.admin_token: it is missing"},
		{"runtime", []string{database, token, staff}, "runtime.assertion_public: it is missing: svc keys assertion"},
		{"runtime", []string{database, token, staff, key}, "runtime.assertion_public: it is missing"},
		{"gateway", []string{database, token, staff, public}, "runtime.assertion_key: it is missing"},
		{"gateway", []string{database, "SVC_RUNTIME_TOKEN=hunter2", staff, key}, "runtime.token: it has 7 bytes and needs 32 or more"},
		{"gateway", []string{database, token, "SVC_RUNTIME_ADMIN_TOKEN=" + strings.Repeat("t", 32), key}, "must be another than the other"},
		{"runtime", []string{database, token, "SVC_RUNTIME_ADMIN_TOKEN=" + strings.Repeat("t", 32), public}, "must be another than the customer's"},
		{"gateway", []string{database, token, staff, "SVC_ASSERTION_KEY=hunter2"}, "runtime.assertion_key: it is not a key that svc keys assertion made"},
		{"runtime", []string{database, token, staff, public + "," + pair.Public + "," + pair.Public}, "runtime.assertion_public: write one public key, or two"},
		{"runtime", []string{database, token, staff, "SVC_ASSERTION_PUBLIC=x"}, "runtime.assertion_public: it is not a public key"},
		{"gateway", []string{database, token, staff, key, "SVC_RUNTIME_URL=127.0.0.1:8081"}, "runtime.url: it is not an address like http://127.0.0.1:8081"},
	} {
		cmd := exec.Command("svc", test.part, "--data", t.TempDir())
		cmd.Env = append(cmd.Environ(), test.env...)
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != command.Misuse || !strings.Contains(said.String(), test.want) || strings.Contains(said.String(), "hunter2") {
			t.Errorf("svc %s %v: %v %s", test.part, test.env, err, said.String())
		}
	}
}
