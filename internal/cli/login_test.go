package cli_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/internal/cli"
	"svc.dev/svc/internal/cli/profile"
	"svc.dev/svc/internal/command/commandtest"
	"svc.dev/svc/service/servicetest"
)

// platform gives out keys as accounts.md section 7 says, approves every code at once, and knows which keys were ended.
type platform struct {
	*httptest.Server
	mu      sync.Mutex
	made    int
	ended   []string
	seen    []string // credentials of requests to the API
	clients []string
	deny    bool
	down    bool   // keys cannot be ended
	base    string // of the API, where it is not here
}

func newPlatform(t *testing.T) *platform {
	t.Helper()
	p := &platform{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/auth/device", p.begin)
	mux.HandleFunc("POST /api/auth/device/token", p.give)
	mux.HandleFunc("POST /api/keys/revoke", p.revoke)
	mux.HandleFunc("GET /v1/ada/personal/runs", p.runs)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *platform) begin(w http.ResponseWriter, r *http.Request) {
	var in struct{ Client string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	p.clients = append(p.clients, in.Client)
	fmt.Fprintf(w, `{"device_code":"dc%d","user_code":"BCDF-GHJK","verification_uri":"%s/device","verification_uri_complete":"%s/device?user_code=BCDF-GHJK","expires_in":600,"interval":0.01}`, p.made, p.URL, p.URL)
}

func (p *platform) give(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Code string `json:"device_code"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	if p.deny {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"error":"access_denied"}`)
		return
	}
	fmt.Fprintf(w, `{"key":"svck_%s","id":"key_1","workspace":"ada/personal","baseUrl":"%s/v1/ada/personal","scopes":["agents:read","agents:write"],"expiresAt":"2099-01-01T00:00:00.000Z"}`, in.Code, cmp.Or(p.base, p.URL))
}

func (p *platform) revoke(w http.ResponseWriter, r *http.Request) {
	var in struct{ Key string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		w.WriteHeader(500)
		return
	}
	p.ended = append(p.ended, in.Key)
	w.WriteHeader(202)
}

func (p *platform) runs(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, r.Header.Get("Authorization"))
	w.Header().Set("Content-Type", "application/json")
	if slices.Contains(p.ended, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
		w.WriteHeader(401)
		_, _ = io.WriteString(w, `{"error":{"type":"invalid_api_key","message":"This key is not known.","details":""}}`)
		return
	}
	_, _ = io.WriteString(w, `{"items":[]}`)
}

func TestSigningInKeepsAKeyThatOnlyOneCanRead(t *testing.T) {
	folder, p := alone(t), newPlatform(t)
	d := run(t, "", "login", p.URL).wants(t, 0, p.URL+"/device", "BCDF-GHJK", "Signed in as profile default: ada/personal at ")
	if strings.Contains(d.out+d.err, "svck_") {
		t.Errorf("the key is shown: %s%s", d.out, d.err)
	}
	file := filepath.Join(folder, "profiles", "default.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if len(p.clients) != 1 || !strings.HasPrefix(p.clients[0], "svc/v0.0.0-test on ") || len([]rune(p.clients[0])) > 64 {
		t.Errorf("it calls itself %q", p.clients)
	}
	d = run(t, "", "whoami").wants(t, 0, "ada/personal", p.URL+"/v1/ada/personal", "…_dc1", "agents:write", "2099-01-01")
	if strings.Contains(d.out, "svck_") || !slices.Equal(p.seen, []string{"Bearer svck_dc1"}) {
		t.Errorf("%s: %v", d.out, p.seen)
	}
	// Signing in again ends the key before; where was remembered.
	run(t, "", "login").wants(t, 0)
	if !slices.Equal(p.ended, []string{"svck_dc1"}) {
		t.Errorf("ended are %v", p.ended)
	}
	run(t, "", "logout").wants(t, 0, "Signed out of ada/personal")
	if !slices.Equal(p.ended, []string{"svck_dc1", "svck_dc2"}) {
		t.Errorf("ended are %v", p.ended)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the key is still there")
	}
	run(t, "", "logout").wants(t, 1, "there is no such profile")
}

func TestKeyThatCannotBeKeptIsEnded(t *testing.T) {
	folder, p := alone(t), newPlatform(t)
	if err := os.WriteFile(folder, nil, 0o600); err != nil { // no folder can be made there
		t.Fatal(err)
	}
	run(t, "", "login", p.URL).wants(t, 1)
	if !slices.Equal(p.ended, []string{"svck_dc1"}) {
		t.Errorf("ended are %v", p.ended)
	}
}

// TestKeyForAnAddressThatIsNoneIsEnded ends it where it was given, and sends it nowhere else.
func TestKeyForAnAddressThatIsNoneIsEnded(t *testing.T) {
	alone(t)
	p := newPlatform(t)
	p.base = "http://elsewhere.example"
	run(t, "", "login", p.URL).wants(t, 2, "is not https")
	if !slices.Equal(p.ended, []string{"svck_dc1"}) {
		t.Errorf("ended are %v", p.ended)
	}
	run(t, "", "profiles", "list").wants(t, 0, "PROFILE")
}

// TestKeyThatOthersCouldReadIsEnded: it is the first that must be.
func TestKeyThatOthersCouldReadIsEnded(t *testing.T) {
	folder, p := alone(t), newPlatform(t)
	for i, args := range [][]string{{"login", p.URL}, {"logout"}} {
		run(t, "", "login", p.URL).wants(t, 0)
		if err := os.Chmod(filepath.Join(folder, "profiles", "default.json"), 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, "", args...).wants(t, 0)
		if last := fmt.Sprintf("svck_dc%d", 1+2*i); !slices.Contains(p.ended, last) {
			t.Errorf("after %v the ended are %v, without %s", args, p.ended, last)
		}
	}
}

func TestSomebodyDeniesIt(t *testing.T) {
	alone(t)
	p := newPlatform(t)
	p.deny = true
	run(t, "", "login", p.URL).wants(t, 1, "denied")
	run(t, "", "profiles", "list").wants(t, 0, "PROFILE")
	run(t, "", "whoami").wants(t, 1)
}

// TestTwoSignInsAtOnceLeaveOneKey signs one profile in from several sides: the keys that are not kept are ended.
func TestTwoSignInsAtOnceLeaveOneKey(t *testing.T) {
	alone(t)
	p := newPlatform(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			var out, errs buffer
			if d := runWith(t.Context(), strings.NewReader(""), &out, &errs, "login", p.URL); d.code != 0 {
				t.Errorf("%+v", d)
			}
		})
	}
	group.Wait()
	run(t, "", "whoami").wants(t, 0)
	if len(p.ended) != 7 || slices.Contains(p.ended, strings.TrimPrefix(p.seen[len(p.seen)-1], "Bearer ")) {
		t.Errorf("ended are %v; in use is %v", p.ended, p.seen)
	}
}

func TestKeyThatCannotBeEndedIsForgottenAllTheSame(t *testing.T) {
	alone(t)
	p := newPlatform(t)
	run(t, "", "login", p.URL).wants(t, 0)
	p.down = true
	d := run(t, "", "logout", "--json").wants(t, 1, "is forgotten here and not revoked there")
	commandtest.Fits(t, schemas, "logout", d.out)
	if !strings.Contains(d.out, `"revoked": false`) {
		t.Errorf("%s", d.out)
	}
	run(t, "", "whoami").wants(t, 1, "sign in with svc login")
}

func TestSeveralServicesAreSeveralProfiles(t *testing.T) {
	alone(t)
	home, work := newPlatform(t), newPlatform(t)
	run(t, "", "login", home.URL, "--profile", "home").wants(t, 0)
	run(t, "", "login", work.URL, "--profile", "work").wants(t, 0)
	run(t, "", "whoami").wants(t, 0, work.URL)
	run(t, "", "whoami", "--profile", "home").wants(t, 0, home.URL)
	t.Setenv(cli.ProfileVariable, "home")
	run(t, "", "whoami").wants(t, 0, home.URL)
	t.Setenv(cli.ProfileVariable, "")
	run(t, "", "profiles", "use", "home").wants(t, 0, home.URL)
	run(t, "", "whoami").wants(t, 0, home.URL)
	run(t, "", "profiles", "list").wants(t, 0, "home", "work", "*", home.URL, work.URL)
	run(t, "", "profiles", "use", "nothing").wants(t, 1)
	run(t, "", "login", home.URL, "--profile", "../x").wants(t, 2)
	run(t, "", "logout", "--profile", "work").wants(t, 0)
	run(t, "", "whoami").wants(t, 0, home.URL)
}

func TestKeyGoesNowhereElse(t *testing.T) {
	alone(t)
	mine, other := newPlatform(t), newPlatform(t)
	run(t, "", "login", mine.URL).wants(t, 0)
	run(t, "", "runs", "list", "--base-url", other.URL+"/v1/ada/personal").wants(t, 0)
	t.Setenv(cli.BaseVariable, other.URL+"/v1/ada/personal")
	run(t, "", "runs", "list").wants(t, 0)
	if !slices.Equal(other.seen, []string{"", ""}) {
		t.Errorf("another service was sent %q", other.seen)
	}
	// Where a profile is named, the variable is not meant.
	run(t, "", "runs", "list", "--profile", "default").wants(t, 0)
	if !slices.Equal(mine.seen, []string{"Bearer svck_dc1"}) {
		t.Errorf("its own service was sent %q", mine.seen)
	}
	run(t, "key", "login", "--key", "-", "http://agents.example.com/v1/ada/personal").wants(t, 2, "is not https")
	run(t, "", "login", "http://svc.example.com").wants(t, 2, "is not https")
	t.Setenv(cli.BaseVariable, "http://agents.example.com/v1/ada/personal")
	t.Setenv(cli.KeyVariable, "svck_x")
	run(t, "", "runs", "list").wants(t, 2, "is not https")
}

func TestSigningInWithAKey(t *testing.T) {
	m := atService(t)
	t.Setenv(cli.BaseVariable, "")
	t.Setenv(cli.KeyVariable, "")
	run(t, m.key+"\n", "login", "--key", "-", m.base).wants(t, 0, "ada/personal")
	run(t, "", "agents", "list").wants(t, 0, "central")
	run(t, "", "login", "--key", "svck_wrong", m.base, "--profile", "wrong").wants(t, 1, "is not accepted")
	run(t, "", "whoami", "--profile", "wrong").wants(t, 1, "there is no such profile")
	run(t, "", "login", "--key", m.makeKey(t, `["projects:read"]`), m.base, "--profile", "narrow").wants(t, 0)
	run(t, "", "login", "--key", "-").wants(t, 2, "ADDRESS is missing")
	run(t, "", "login", "--key", "", m.base).wants(t, 2, "empty")
	run(t, "", "login", "--key", "a b", m.base).wants(t, 2)
	run(t, "", "login", m.base).wants(t, 2, "is the address of an API")
	// A key that somebody made is theirs: it outlives the profile.
	run(t, "", "logout", "--profile", "default").wants(t, 0)
	t.Setenv(cli.BaseVariable, m.base)
	t.Setenv(cli.KeyVariable, m.key)
	run(t, "", "agents", "list").wants(t, 0)
}

var userCode = regexp.MustCompile(`enter ([BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4})\n`)

// decide answers a code as somebody does in a browser.
func (m member) decide(t *testing.T, code, decision string) {
	t.Helper()
	form := url.Values{"user_code": {code}, "workspace": {"ada/personal"}, "days": {"30"}, "decision": {decision}, "scopes": {"agents:read", "agents:write"}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.at.Platform+"/device", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Origin": {m.at.Platform}, "Content-Type": {"application/x-www-form-urlencoded"}, "Cookie": {m.cookie}}
	if a := servicetest.Send(t, servicetest.Client, r); a.Status != http.StatusSeeOther {
		t.Errorf("%s: %d %s", decision, a.Status, a.Body)
	}
}

// TestSigningInAtAService goes through a real service: one code is approved, another denied.
func TestSigningInAtAService(t *testing.T) {
	m := atService(t)
	t.Setenv(cli.BaseVariable, "")
	t.Setenv(cli.KeyVariable, "")
	if a := servicetest.Ask(t, http.MethodPost, m.at.Platform+"/api/auth/device"); a.Status == http.StatusNotFound {
		t.Skip("this service gives out no codes yet")
	}
	ended := map[string]chan done{}
	for _, decision := range []string{"approve", "deny"} {
		var out, errs buffer
		waits := make(chan done, 1)
		ended[decision] = waits
		go func() {
			waits <- runWith(t.Context(), strings.NewReader(""), &out, &errs, "login", m.at.Platform, "--profile", decision)
		}()
		if !eventually(func() bool { return userCode.MatchString(errs.String()) }) {
			t.Fatalf("there is no code: %s", &errs)
		}
		m.decide(t, userCode.FindStringSubmatch(errs.String())[1], decision)
	}
	(<-ended["deny"]).wants(t, 1, "denied")
	(<-ended["approve"]).wants(t, 0, "Signed in as profile approve: ada/personal at "+m.base)
	run(t, "", "whoami").wants(t, 0, "agents:write")
	run(t, "", "agents", "send", "central", "talk", "n=2").wants(t, 0, "word0 word1 ")
	run(t, "", "projects", "ls").wants(t, 1, "projects:read")
	store, err := profile.Home()
	if err != nil {
		t.Fatal(err)
	}
	p, err := store.Load("approve")
	if err != nil || !p.Own || p.ExpiresAt == nil {
		t.Fatalf("%+v, %v", p, err)
	}
	run(t, "", "logout").wants(t, 0)
	t.Setenv(cli.BaseVariable, m.base)
	t.Setenv(cli.KeyVariable, p.Key)
	run(t, "", "agents", "list").wants(t, 1, "is not accepted")
}
