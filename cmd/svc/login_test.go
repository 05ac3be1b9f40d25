package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// mortal is a service that is killed and comes back at the same address, and somebody signed in to it.
type mortal struct {
	*process
	settings []string
	data     string
	cookie   string
}

// eachMortal runs a test on both databases.
func eachMortal(t *testing.T, test func(t *testing.T, m *mortal)) {
	for name, database := range map[string]func(*testing.T) string{"sqlite": nil, "postgres": func(t *testing.T) string { return sqldbtest.Postgres(t) }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &mortal{data: filepath.Join(t.TempDir(), "data"), settings: []string{"SVC_LISTEN=127.0.0.1:" + freePort(t), "SVC_OPS_LISTEN=127.0.0.1:0"}}
			if database != nil {
				m.settings = append(m.settings, "SVC_DATABASE_URL="+database(t))
			}
			m.begin(t)
			m.cookie = send(t, "POST", m.Platform+"/api/auth/password/register", http.Header{"Origin": {m.Platform}},
				`{"email":"ada@example.com","password":"a calm and long password","username":"ada"}`).cookie
			test(t, m)
		})
	}
}

func (m *mortal) begin(t *testing.T) {
	t.Helper()
	m.process = launch(t, m.settings, "serve", "--data", m.data)
}

// approves answers a code in a browser.
func (m *mortal) approves(t *testing.T, code string) {
	t.Helper()
	form := url.Values{"user_code": {code}, "workspace": {"ada/personal"}, "days": {"30"}, "decision": {"approve"}, "scopes": {"runs:read"}}
	r, err := http.NewRequestWithContext(t.Context(), "POST", m.Platform+"/device", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Origin": {m.Platform}, "Content-Type": {"application/x-www-form-urlencoded"}, "Cookie": {m.cookie}}
	res, err := client.Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if to := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || !strings.Contains(to, "notice=device_approved") {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("approve: %s to %q: %s", res.Status, to, body)
	}
}

// live are the keys of devices that work, by their ids.
func (m *mortal) live(t *testing.T) map[string]bool {
	t.Helper()
	var all struct {
		Items []struct{ ID, Kind, State string }
	}
	res := send(t, "GET", m.Agents+"/api/workspaces/ada/personal/keys", http.Header{"Cookie": {m.cookie}, "Origin": {m.Agents}}, "")
	if err := json.Unmarshal([]byte(res.body), &all); err != nil || res.status != 200 {
		t.Fatalf("keys: %d %s", res.status, res.body)
	}
	ids := map[string]bool{}
	for _, k := range all.Items {
		if k.Kind == "device" && k.State == "live" {
			ids[k.ID] = true
		}
	}
	return ids
}

func (m *mortal) opens(t *testing.T, key string) bool {
	t.Helper()
	return send(t, "GET", m.Agents+"/v1/ada/personal/runs", http.Header{"Authorization": {"Bearer " + key}}, "").status == 200
}

// gate stands between svc login and the service.
type gate struct {
	*httptest.Server
	to     string       // where the service is whenever it lives
	polled atomic.Value // the last body of a request
	missed atomic.Int64 // requests that nobody answered
	// lose is asked whether an answer is lost, with all that follows from it.
	lose func(status int, body []byte) bool
}

func (m *mortal) gate(t *testing.T, lose func(status int, body []byte) bool) *gate {
	t.Helper()
	g := &gate{to: m.Platform, lose: lose}
	g.Server = httptest.NewServer(http.HandlerFunc(g.pass))
	t.Cleanup(g.Close)
	return g
}

func (g *gate) pass(w http.ResponseWriter, r *http.Request) {
	asked, err := io.ReadAll(r.Body)
	g.polled.Store(string(asked))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	on, err := http.NewRequestWithContext(r.Context(), r.Method, g.to+r.URL.Path, bytes.NewReader(asked))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	on.Header = r.Header.Clone()
	res, err := client.Transport.RoundTrip(on)
	if err != nil {
		g.missed.Add(1)
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || g.lose != nil && g.lose(res.StatusCode, body) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(body) // whoever has gone needs no answer
}

// signing is svc login while it waits.
type signing struct {
	cmd    *exec.Cmd
	folder string
	out    bytes.Buffer
	errs   safeBuffer
	code   string
}

// safeBuffer may be read while it is written.
type safeBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

var shownCode = regexp.MustCompile(`enter ([A-Z]{4}-[A-Z]{4})\n`)

// signIn runs svc login until it shows its code.
func signIn(t *testing.T, at, folder string) *signing {
	t.Helper()
	s := &signing{cmd: exec.Command("svc", "login", at), folder: folder}
	s.cmd.Env = append(withoutSettings(), "XDG_CONFIG_HOME="+folder)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.errs
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // it may have ended before
	if !eventually(func() bool { return shownCode.MatchString(s.errs.String()) }) {
		t.Fatalf("there is no code: %s", &s.errs)
	}
	s.code = shownCode.FindStringSubmatch(s.errs.String())[1]
	return s
}

// ends waits for svc login, which must say something.
func (s *signing) ends(t *testing.T, code int, says string) {
	t.Helper()
	_ = s.cmd.Wait() // its code is looked at
	if got := s.cmd.ProcessState.ExitCode(); got != code || !strings.Contains(s.out.String()+s.errs.String(), says) {
		t.Fatalf("exits with %d, want %d and %q: %s%s", got, code, says, &s.out, &s.errs)
	}
}

func (s *signing) whoami(t *testing.T) (string, error) {
	t.Helper()
	cmd := exec.Command("svc", "whoami")
	cmd.Env = append(withoutSettings(), "XDG_CONFIG_HOME="+s.folder)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestApprovalSurvivesTheServer kills the service when a code was approved, before svc login looks for its key.
func TestApprovalSurvivesTheServer(t *testing.T) {
	eachMortal(t, func(t *testing.T, m *mortal) {
		g := m.gate(t, nil)
		s := signIn(t, g.URL, t.TempDir())
		m.approves(t, s.code)
		m.kill()
		// It asks in vain, and goes on.
		if !eventually(func() bool { return g.missed.Load() > 0 }) {
			t.Fatal("svc login does not ask")
		}
		m.begin(t)
		s.ends(t, 0, "Signed in as profile default: ada/personal")
		if out, err := s.whoami(t); err != nil || len(m.live(t)) != 1 {
			t.Errorf("%v: %s; live are %v", err, out, m.live(t))
		}
	})
}

// TestKeyWhoseAnswerWasLostEnds kills the service when it has answered with the key, before svc login has read that: the key that
// nobody holds does not work, the code gives no other, and signing in once more does.
func TestKeyWhoseAnswerWasLostEnds(t *testing.T) {
	eachMortal(t, func(t *testing.T, m *mortal) {
		var lost struct{ Key string }
		killed := make(chan struct{})
		g := m.gate(t, func(status int, body []byte) bool {
			if json.Unmarshal(body, &lost) != nil || status != 200 || lost.Key == "" {
				return false
			}
			select {
			case <-killed:
				return false
			default:
				m.kill()
				close(killed)
				return true
			}
		})
		folder := t.TempDir()
		s := signIn(t, g.URL, folder)
		m.approves(t, s.code)
		select {
		case <-killed:
		case <-time.After(30 * time.Second):
			t.Fatal("no key was given")
		}
		first := lost.Key
		m.begin(t)
		if !m.opens(t, first) {
			t.Error("the key that was answered is not in the database")
		}
		s.ends(t, 1, "the key was given and did not arrive here, which ended it: sign in once more")
		if m.opens(t, first) || len(m.live(t)) != 0 {
			t.Errorf("the key that nobody has works: %v", m.live(t))
		}
		if send(t, "POST", m.Platform+"/api/auth/device/token", http.Header{}, g.polled.Load().(string)).status != 400 {
			t.Error("the code gives another key")
		}
		s = signIn(t, g.URL, folder)
		m.approves(t, s.code)
		s.ends(t, 0, "Signed in as profile default")
		if out, err := s.whoami(t); err != nil || len(m.live(t)) != 1 {
			t.Errorf("%v: %s; live are %v", err, out, m.live(t))
		}
	})
}

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// polled is what became of one code.
type polled struct {
	code, key, id string
	verdict       string // empty: a key, or nobody answered
}

// asksForKey begins with a code that is approved.
func (m *mortal) asksForKey(t *testing.T) *polled {
	t.Helper()
	var asked struct {
		Device string `json:"device_code"`
		User   string `json:"user_code"`
	}
	res := send(t, "POST", m.Platform+"/api/auth/device", http.Header{}, `{"client":"killed"}`)
	if err := json.Unmarshal([]byte(res.body), &asked); err != nil || asked.User == "" {
		t.Fatalf("ask: %d %s", res.status, res.body)
	}
	m.approves(t, asked.User)
	return &polled{code: asked.Device}
}

// poll looks for the key once. A service that is gone answers nothing.
func (m *mortal) poll(p *polled) {
	res, err := client.Post(m.Platform+"/api/auth/device/token", "application/json", strings.NewReader(fmt.Sprintf(`{"grant_type":%q,"device_code":%q}`, deviceGrant, p.code)))
	if err != nil {
		return
	}
	defer res.Body.Close()
	var said struct{ Key, ID, Error string }
	if json.NewDecoder(res.Body).Decode(&said) == nil {
		p.key, p.id, p.verdict = said.Key, said.ID, said.Error
	}
}

// TestEveryCodeGivesOneKeyWheneverTheServerIsKilled kills the service while several programs fetch their keys. A key that was received
// works; a program that heard nothing asks again, and gets its key, or learns that it was given, and then that key does not work.
func TestEveryCodeGivesOneKeyWheneverTheServerIsKilled(t *testing.T) {
	eachMortal(t, func(t *testing.T, m *mortal) {
		held := map[string]string{}
		for kill := range 2 {
			all := make([]*polled, 8)
			for i := range all {
				all[i] = m.asksForKey(t)
			}
			var group sync.WaitGroup
			answered := make(chan struct{}, len(all))
			for _, p := range all {
				group.Go(func() {
					m.poll(p)
					answered <- struct{}{}
				})
			}
			// Some have their answers then, and others are anywhere.
			for range 1 + rand.IntN(len(all)-2) {
				<-answered
			}
			m.kill()
			group.Wait()
			m.begin(t)
			takes(5 * time.Second) // as long as a program waits
			tally := map[string]int{}
			for _, p := range all {
				switch {
				case p.key != "":
					tally["received"]++
				case p.verdict != "":
					t.Errorf("told %s at the first time", p.verdict)
				default:
					m.poll(p)
					tally["asked again, and "+map[bool]string{true: "received", false: p.verdict}[p.key != ""]]++
				}
				if p.key != "" {
					held[p.id] = p.key
				} else if p.verdict != "expired_token" {
					t.Errorf("told %q, and no key", p.verdict)
				}
			}
			t.Logf("kill %d: %v", kill+1, tally)
		}
		live := m.live(t)
		for id, key := range held {
			if !live[id] || !m.opens(t, key) {
				t.Errorf("%s was given, and does not work", id)
			}
		}
		if len(live) != len(held) {
			t.Errorf("%d keys work, and %d are held", len(live), len(held))
		}
	})
}
