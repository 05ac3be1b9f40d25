package gateway_test

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/scope"
)

// far is a runtime that goes away and comes back.
type far struct{ at atomic.Pointer[http.Handler] }

func (f *far) to(h http.Handler) { f.at.Store(&h) }

func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*f.at.Load()).ServeHTTP(w, r) }

// hubbed is a scene whose app GitHub tells of, and which passes that on.
type hubbed struct {
	*scene
	hub     *githubtest.Server
	app     int64
	runtime *far
	inVain  atomic.Int32 // what was handed to it while it was away
	apart   bool
}

// withHub sets a scene with a GitHub beside it, and with no runtime yet: nobody listens where it should be.
func withHub(t *testing.T, address string, apart bool) *hubbed {
	t.Helper()
	h := &hubbed{hub: githubtest.New(t), runtime: &far{}, apart: apart}
	h.scene = open(t, address, accounttest.Options{GitHub: h.hub.URL, Edit: func(c *account.Config) {
		c.Platform, c.Now = "https://svc.example.com", nil
	}}, func(c *gateway.Config) { c.Runtime = h.runtime })
	h.leave(t)
	h.configure(t)
	accounttest.Run(t, h.gateway.PassOn)
	return h
}

// leave takes the runtime away.
func (h *hubbed) leave(t *testing.T) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	nowhere := gateway.NewProxy(parse("http://127.0.0.1:1"), &scope.Forward{Token: runtimeToken, AdminToken: adminToken, Key: key}, nil, h.Accounts.Log)
	h.runtime.to(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nowhere.ServeHTTP(w, r)
		h.inVain.Add(1)
	}))
}

// arrive starts the runtime.
func (h *hubbed) arrive(t *testing.T) {
	t.Helper()
	h.start(t, h.apart)
	h.runtime.to(h.scene.runtime)
}

// hubs runs a test in every mode.
func hubs(t *testing.T, fn func(t *testing.T, h *hubbed)) {
	t.Helper()
	for _, m := range everyMode() {
		t.Run(m.name, func(t *testing.T) { fn(t, withHub(t, m.address(t), m.apart)) })
	}
}

// query is what an address at GitHub brings back.
func atHub(t *testing.T, method, address, as string, form url.Values) url.Values {
	t.Helper()
	q, err := url.ParseQuery(strings.TrimPrefix(atGitHub(t, method, address, as, form), "?"))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// configure goes the whole way of a manifest.
func (h *hubbed) configure(t *testing.T) {
	t.Helper()
	if _, err := h.Staff.CreateAdmin(t.Context(), account.Registration{Email: "root@example.com", Password: password, Username: "root-admin"}); err != nil {
		t.Fatal(err)
	}
	in, err := h.Passwords.Login(accounttest.From(t), "root@example.com", password, "")
	if err != nil {
		t.Fatal(err)
	}
	form, err := h.Manifests.Start(t.Context(), in.Who, "github", "", false)
	if err != nil {
		t.Fatal(err)
	}
	back := atHub(t, "POST", form.Action, "octocat", url.Values{"manifest": {form.Manifest}})
	if err := h.Manifests.Finish(t.Context(), in.Who, "github", back.Get("code"), back.Get("state"), form.Browser); err != nil {
		t.Fatal(err)
	}
	var text string
	err = h.DB.Read(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow("SELECT app FROM providers").Scan(&text) })
	var app struct{ ID int64 }
	if err == nil {
		err = json.Unmarshal([]byte(text), &app)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.app = app.ID
}

// resident is somebody by GitHub whose workspace works with an installation on their account.
type resident struct {
	username     string
	cookie       string
	installation int64
}

func (h *hubbed) resident(t *testing.T, login string) resident {
	t.Helper()
	to, err := h.Identities.StartSignIn(accounttest.From(t), "github", account.SignInRequest{ReturnTo: "/", Intent: account.IntentSignIn})
	if err != nil {
		t.Fatal(err)
	}
	back := atHub(t, "GET", to.URL, login, nil)
	out, err := h.Identities.FinishSignIn(accounttest.From(t), "github", account.Callback{Code: back.Get("code"), State: back.Get("state"), Browser: to.Browser})
	if err != nil || out.SignedIn == nil {
		t.Fatalf("sign in: %+v, %v", out, err)
	}
	who := out.SignedIn.Who
	m, _, err := h.Membership(t.Context(), who.Account.ID, "users/"+login+"/personal")
	if err != nil {
		t.Fatal(err)
	}
	if to, err = h.Installations.Start(t.Context(), who, "github", m, "/"); err != nil {
		t.Fatal(err)
	}
	back = atHub(t, "GET", to.URL, login, nil)
	if _, err := h.Installations.Finish(t.Context(), who, "github", back.Get("installation_id"), back.Get("setup_action"), back.Get("state"), to.Browser); err != nil {
		t.Fatal(err)
	}
	return resident{login, "svc_session=" + out.SignedIn.Token, h.Count(t, "SELECT installation FROM installation_bindings WHERE workspace = $1", m.ID)}
}

// signed is a delivery as GitHub sends it.
func (h *hubbed) signed(t *testing.T, d githubtest.Delivery) call {
	t.Helper()
	c := call{method: "POST", path: oauthPath + "webhook"}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.header, c.body = r.Header, string(body)
	}))
	defer hook.Close()
	d.To = hook.URL
	answer, err := h.hub.Deliver(t.Context(), h.app, d)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return c
}

// comment is what somebody wrote about issue 12 of a repository.
func (h *hubbed) comment(t *testing.T, of resident, repository int64, text string) call {
	t.Helper()
	return h.signed(t, githubtest.Delivery{Event: "issue_comment", Body: h.hub.CommentPayload(of.installation, repository, 12, text)})
}

// conversations are the names of a workspace's with its central agent.
func (h *hubbed) conversations(t *testing.T, of resident) (all []string) {
	t.Helper()
	var list struct{ Items []struct{ ID string } }
	h.do(t, call{on: gateway.Agents, path: "/api/workspaces/" + of.username + "/personal/agents/central/conversations", cookie: of.cookie}).wants(t, 200, "").read(t, &list)
	for _, c := range list.Items {
		all = append(all, c.ID)
	}
	return all
}

// answered waits until the central agent has answered so many messages of a conversation, and returns its history.
func (h *hubbed) answered(t *testing.T, of resident, conversation string, times int) string {
	t.Helper()
	var got reply
	eventually(t, fmt.Sprintf("%s of %s is answered %d times", conversation, of.username, times), func() bool {
		got = h.do(t, call{on: gateway.Agents, path: "/v1/" + of.username + "/personal/agents/central/" + conversation, cookie: of.cookie})
		return got.StatusCode == 200 && strings.Count(got.body, `"role":"assistant"`) >= times && !strings.Contains(got.body, `"state":"streaming"`)
	})
	return got.body
}

// settled waits until nothing is left to be passed on.
func (h *hubbed) settled(t *testing.T) {
	t.Helper()
	accounttest.Eventually(t, "all is passed on", func() bool {
		var n, dead int
		err := h.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
			return tx.QueryRow("SELECT count(*), count(CASE WHEN state = 'dead' THEN 1 END) FROM dispatches").Scan(&n, &dead)
		})
		if err != nil || dead > 0 {
			t.Fatalf("%d wait, %d are given up: %v", n, dead, err)
		}
		return n == 0
	})
}

func TestWhatIsWrittenOnGitHubReachesTheCentralAgentOfItsWorkspaceAlone(t *testing.T) {
	hubs(t, func(t *testing.T, h *hubbed) {
		h.arrive(t)
		twin := h.hub.AddRepository(githubtest.Repository{Owner: githubtest.Hubot, Name: "hello-world", Private: true})
		octo, hubot := h.resident(t, "octocat"), h.resident(t, "hubot")
		h.do(t, h.comment(t, octo, githubtest.Hello, "n=2 of octocat")).wants(t, 202, "")
		h.do(t, h.comment(t, hubot, twin, "n=2 of hubot")).wants(t, 202, "")
		h.do(t, h.signed(t, githubtest.Delivery{Event: "push", Body: h.hub.PushPayload(octo.installation, githubtest.Hello)})).wants(t, 202, "")
		for of, other := range map[resident]string{octo: "hubot", hubot: "octocat"} {
			name := "github:" + of.username + ":hello-world:12"
			history := h.answered(t, of, name, 1)
			if !strings.Contains(history, "of "+of.username) || strings.Contains(history, "of "+other) || !strings.Contains(history, "word1") {
				t.Errorf("history of %s: %s", of.username, history)
			}
			h.do(t, call{on: gateway.Agents, path: "/v1/" + of.username + "/personal/agents/central/github:" + other + ":hello-world:12", cookie: of.cookie}).wants(t, 404, "stream_not_found")
		}
		h.settled(t)
		for _, of := range []resident{octo, hubot} {
			if all := h.conversations(t, of); len(all) != 1 || all[0] != "github:"+of.username+":hello-world:12" {
				t.Errorf("conversations of %s: %v", of.username, all)
			}
		}
	})
}

func TestADeliveryThatComesFiftyTimesIsOnePrompt(t *testing.T) {
	hubs(t, func(t *testing.T, h *hubbed) {
		h.arrive(t)
		octo := h.resident(t, "octocat")
		c := h.comment(t, octo, githubtest.Hello, "n=1 once")
		var sending sync.WaitGroup
		var fresh, again atomic.Int32
		for range 50 {
			sending.Go(func() {
				switch h.do(t, c).StatusCode {
				case 202:
					fresh.Add(1)
				case 200:
					again.Add(1)
				}
			})
		}
		sending.Wait()
		if fresh.Load() != 1 || again.Load() != 49 {
			t.Errorf("%d were accepted, %d were duplicates", fresh.Load(), again.Load())
		}
		h.settled(t)
		if history := h.answered(t, octo, "github:octocat:hello-world:12", 1); strings.Count(history, "n=1 once") != 1 {
			t.Errorf("history: %s", history)
		}
	})
}

func TestDeliveriesWaitForARuntimeThatIsAway(t *testing.T) {
	hubs(t, func(t *testing.T, h *hubbed) {
		octo := h.resident(t, "octocat")
		// They come in another order than they were written, as GitHub's do.
		var calls []call
		for n := range 5 {
			calls = append(calls, h.comment(t, octo, githubtest.Hello, fmt.Sprintf("n=1 comment %d.", n)))
		}
		tried := h.inVain.Load()
		for _, n := range []int{3, 0, 4, 1, 2} {
			h.do(t, calls[n]).wants(t, 202, "")
		}
		accounttest.Eventually(t, "a delivery is tried in vain", func() bool { return h.inVain.Load() > tried })
		h.arrive(t)
		history := h.answered(t, octo, "github:octocat:hello-world:12", 5)
		for n := range 5 {
			if strings.Count(history, fmt.Sprintf("comment %d.", n)) != 1 {
				t.Errorf("comment %d: %s", n, history)
			}
		}
		h.settled(t)
		h.leave(t)
		tried = h.inVain.Load()
		h.do(t, h.comment(t, octo, githubtest.Hello, "n=1 while it was away.")).wants(t, 202, "")
		accounttest.Eventually(t, "it is tried in vain", func() bool { return h.inVain.Load() > tried })
		h.runtime.to(h.scene.runtime)
		if history := h.answered(t, octo, "github:octocat:hello-world:12", 6); strings.Count(history, "while it was away") != 1 {
			t.Errorf("history: %s", history)
		}
	})
}

// lost is a runtime that takes what it is given, whose answer never arrives the first time.
type lost struct {
	http.Handler
	once sync.Once
}

func (l *lost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first := false
	l.once.Do(func() { first = true })
	if !first {
		l.Handler.ServeHTTP(w, r)
		return
	}
	l.Handler.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

func TestADeliveryWhoseAnswerWasLostIsOnePrompt(t *testing.T) {
	hubs(t, func(t *testing.T, h *hubbed) {
		h.arrive(t)
		octo := h.resident(t, "octocat")
		h.runtime.to(&lost{Handler: h.scene.runtime})
		h.do(t, h.comment(t, octo, githubtest.Hello, "n=1 once")).wants(t, 202, "")
		h.settled(t)
		if history := h.answered(t, octo, "github:octocat:hello-world:12", 1); strings.Count(history, "n=1 once") != 1 {
			t.Errorf("history: %s", history)
		}
	})
}

func TestNobodyOutsideSendsWhatOnlyTheGatewayPassesOn(t *testing.T) {
	hubs(t, func(t *testing.T, h *hubbed) {
		h.arrive(t)
		octo := h.resident(t, "octocat")
		// Signed by GitHub for the service, which is no signature for a workspace.
		c := h.comment(t, octo, githubtest.Hello, "n=1 forged")
		c.on = gateway.Agents
		for path, want := range map[string]struct {
			status int
			typ    string
		}{
			"/v1/octocat/personal/channels/github/events":            {401, "invalid_signature"},
			"/v1/octocat/personal/channels/github/webhook":           {404, "route_not_found"},
			"/v1/octocat/personal/channels/github/deliveries/github": {404, "route_not_found"},
			"/v1/octocat/personal/own/deliveries/github":             {403, "cross_origin_request"},
			"/v1/octocat/personal/channels/..%2fown/deliveries":      {404, "route_not_found"},
			"/v1/octocat/personal/channels/github/%2e%2e/own":        {400, "invalid_path"},
			"/own/deliveries/github":                                 {404, ""},
			"/api/auth/oauth/github/webhook":                         {404, "route_not_found"},
			"/v1/octocat/personal/agents/own/deliveries/github":      {403, "cross_origin_request"},
			"/v1/nobody/personal/channels/github/events":             {404, "route_not_found"},
		} {
			c.path = path
			for name, edit := range map[string]func(http.Header){
				"as it is": func(http.Header) {},
				"with our headers": func(h http.Header) {
					h.Set(scope.HeaderActor, "channel:github")
					h.Set(scope.HeaderScope, "users/octocat/personal")
					h.Set(scope.HeaderToken, runtimeToken)
				},
				"unsigned": func(h http.Header) { h.Del("X-Hub-Signature-256") },
			} {
				sent := c
				sent.header = c.header.Clone()
				edit(sent.header)
				if got := h.do(t, sent); got.StatusCode != want.status || !strings.Contains(got.body, want.typ) {
					t.Errorf("%s, %s: %d %.200s", path, name, got.StatusCode, got.body)
				}
			}
		}
		if all := h.conversations(t, octo); len(all) != 0 {
			t.Errorf("conversations: %v", all)
		}
	})
}

func TestALongDeliveryIsPassedOnAndALongerOneRefused(t *testing.T) {
	h := withHub(t, sqldbtest.SQLite(t), true)
	h.arrive(t)
	octo := h.resident(t, "octocat")
	body := h.hub.CommentPayload(octo.installation, githubtest.Hello, 12, "n=1 long")
	body["padding"] = strings.Repeat("x", 24<<20)
	h.do(t, h.signed(t, githubtest.Delivery{Event: "issue_comment", Body: body})).wants(t, 202, "")
	h.settled(t)
	if history := h.answered(t, octo, "github:octocat:hello-world:12", 1); !strings.Contains(history, "n=1 long") {
		t.Errorf("history: %s", history)
	}
	body["padding"] = strings.Repeat("x", 25<<20)
	h.do(t, h.signed(t, githubtest.Delivery{Event: "issue_comment", Body: body})).wants(t, 413, "body_too_large")
}
