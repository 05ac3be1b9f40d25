package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"svc.dev/svc/service/config"
)

// shown is what gateway and runtime show each other, as an operator writes it for one of them.
type shown struct{ token, previous, admin, adminPrevious, key, public string }

// tell writes what a process is to read at its next SIGHUP, and lets it. Tokens are files of their own, keys stand in svc.toml.
func (s shown) tell(t *testing.T, p *process, data string) {
	t.Helper()
	s.write(t, data)
	reload(t, p, "tokens reloaded")
}

func (s shown) write(t *testing.T, data string) {
	t.Helper()
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(data, "token"), s.token+"\n")
	writeFile(t, filepath.Join(data, "admin"), s.admin+"\n")
	text := "[runtime]\n"
	for key, value := range map[string]string{
		"token_previous": s.previous, "admin_token_previous": s.adminPrevious, "assertion_key": s.key, "assertion_public": s.public,
	} {
		if value != "" {
			text += fmt.Sprintf("%s = %q\n", key, value)
		}
	}
	writeFile(t, filepath.Join(data, "svc.toml"), text)
}

// reload sends SIGHUP and waits until the process says what came of it, once more than before.
func reload(t *testing.T, p *process, says string) {
	t.Helper()
	before := strings.Count(p.said(), says)
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if !eventually(func() bool { return strings.Count(p.said(), says) > before }) {
		t.Fatalf("%s does not say %q: %s", p.Part, says, p.said())
	}
}

// rotatable is a service of two processes that read their tokens from files.
type rotatable struct {
	*halves
	gatewayData, runtimeData string
}

func newRotatable(t *testing.T, s shown) *rotatable {
	t.Helper()
	r := &rotatable{halves: newHalves(t, "127.0.0.1:"+freePort(t))}
	r.gatewayData, r.runtimeData = filepath.Join(r.data, "gateway"), filepath.Join(r.data, "runtime")
	s.write(t, r.gatewayData)
	s.write(t, r.runtimeData)
	kept := r.settings[:0]
	for _, variable := range r.settings {
		if !strings.HasPrefix(variable, "SVC_RUNTIME_TOKEN") && !strings.HasPrefix(variable, "SVC_RUNTIME_ADMIN") && !strings.HasPrefix(variable, "SVC_ASSERTION") {
			kept = append(kept, variable)
		}
	}
	files := func(data string) []string {
		return append(append([]string{}, kept...), "SVC_LIMIT_RATE=1000000", "SVC_LIMIT_BURST=1000000", "SVC_RUNTIME_TOKEN_FILE="+filepath.Join(data, "token"), "SVC_RUNTIME_ADMIN_TOKEN_FILE="+filepath.Join(data, "admin"))
	}
	r.runtime = launch(t, files(r.runtimeData), "runtime", "--data", r.runtimeData)
	r.gateway = launch(t, files(r.gatewayData), "gateway", "--data", r.gatewayData)
	return r
}

func newShown(t *testing.T, letter string) shown {
	t.Helper()
	pair, err := config.NewAssertionPair()
	if err != nil {
		t.Fatal(err)
	}
	return shown{token: strings.Repeat(letter, 32), admin: strings.Repeat(letter+"!", 16), key: pair.Key, public: pair.Public}
}

// TestTokensRotateWithoutARefusedRequest goes the way of the contract, the runtime first, while clients ask all the time.
func TestTokensRotateWithoutARefusedRequest(t *testing.T) {
	old := newShown(t, "o")
	r := newRotatable(t, old)
	ada := signUp(t, r.gateway.Serving, "ada")
	ada.do(t, "POST", "/agents/central/first", `{"kind":"user","body":"n=1"}`)
	var asked, failed atomic.Int64
	var each [4]atomic.Int64
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for i := range each {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				asked.Add(1)
				each[i].Add(1)
				if status := ada.status(t); status != http.StatusOK {
					failed.Add(1)
					t.Errorf("refused with %d after %d requests", status, asked.Load())
				}
			}
		})
	}
	// A client that asks once more has the answer to what was on its way.
	arrives := func(t *testing.T) {
		t.Helper()
		for i := range each {
			before := each[i].Load()
			if !eventually(func() bool { return each[i].Load() > before || failed.Load() > 0 }) {
				t.Errorf("client %d waits for its answer", i)
			}
		}
	}
	for i := range 3 {
		next := newShown(t, fmt.Sprint(i))
		both := shown{old.token, next.token, old.admin, next.admin, "", old.public + "," + next.public}
		both.tell(t, r.runtime, r.runtimeData)
		next.tell(t, r.gateway, r.gatewayData)
		arrives(t)
		next.tell(t, r.runtime, r.runtimeData)
		enough := asked.Load() + 25
		if !eventually(func() bool { return asked.Load() >= enough || failed.Load() > 0 }) {
			t.Errorf("%d requests in ten seconds, want %d", asked.Load(), enough)
		}
		old = next
	}
	close(stop)
	asking.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of %d requests were refused", failed.Load(), asked.Load())
	}
	t.Logf("%d requests, %d refused", asked.Load(), failed.Load())
	said := r.gateway.said() + r.runtime.said()
	if strings.Contains(said, old.token) || strings.Contains(said, old.key) {
		t.Error("a token is in the log")
	}

	// The other way round it does not go: a gateway with a token that the runtime does not know.
	newShown(t, "x").tell(t, r.gateway, r.gatewayData)
	if status := ada.status(t); status != http.StatusBadGateway {
		t.Errorf("a gateway that is not believed answers %d", status)
	}
}

// status asks for something that the runtime answers.
func (p person) status(t *testing.T) int {
	req, err := http.NewRequestWithContext(t.Context(), "GET", p.base+"/agents/central/first", nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+p.key)
	res, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

func TestABadTokenLeavesTheOldOneInUse(t *testing.T) {
	good := newShown(t, "o")
	r := newRotatable(t, good)
	ada := signUp(t, r.gateway.Serving, "ada")
	ada.do(t, "POST", "/agents/central/first", `{"kind":"user","body":"n=1"}`)
	const refused = "tokens were not reloaded, the old ones stay in use"
	for name, spoil := range map[string]func(*shown){
		"too short":       func(s *shown) { s.token = "hunter2" },
		"none":            func(s *shown) { s.token = "" },
		"the same twice":  func(s *shown) { s.admin = s.token },
		"no key":          func(s *shown) { s.key, s.public = "", "" },
		"a key that none": func(s *shown) { s.key, s.public = "hunter2", "hunter2" },
	} {
		bad := good
		spoil(&bad)
		bad.write(t, r.gatewayData)
		bad.write(t, r.runtimeData)
		reload(t, r.gateway, refused)
		reload(t, r.runtime, refused)
		if status := ada.status(t); status != http.StatusOK {
			t.Errorf("%s: %d", name, status)
		}
	}
	if said := r.gateway.said() + r.runtime.said(); strings.Contains(said, "hunter2") {
		t.Error(said)
	}
	good.tell(t, r.gateway, r.gatewayData)
	good.tell(t, r.runtime, r.runtimeData)
	if status := ada.status(t); status != http.StatusOK {
		t.Errorf("mended: %d", status)
	}
}
