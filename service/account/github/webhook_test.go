package github_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/account/githubtest"
)

// The vector that GitHub publishes.
const (
	vectorSecret = "It's a Secret to Everybody"
	vectorBody   = "Hello, World!"
	vectorSum    = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
)

func TestPublishedSignatureHolds(t *testing.T) {
	if !github.Verify(vectorSecret, "sha256="+vectorSum, []byte(vectorBody)) {
		t.Error("it does not")
	}
}

// emptySum is what everybody can sign with.
func emptySum() string {
	mac := hmac.New(sha256.New, nil)
	mac.Write([]byte(vectorBody))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestNothingElseHolds(t *testing.T) {
	for name, c := range map[string]struct{ secret, header, body string }{
		"no header":        {vectorSecret, "", vectorBody},
		"no scheme":        {vectorSecret, vectorSum, vectorBody},
		"SHA-1 scheme":     {vectorSecret, "sha1=" + vectorSum, vectorBody},
		"SHA-1 sum":        {vectorSecret, "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59", vectorBody},
		"scheme in caps":   {vectorSecret, "SHA256=" + vectorSum, vectorBody},
		"short":            {vectorSecret, "sha256=" + vectorSum[:62], vectorBody},
		"long":             {vectorSecret, "sha256=" + vectorSum + "00", vectorBody},
		"empty":            {vectorSecret, "sha256=", vectorBody},
		"not hexadecimal":  {vectorSecret, "sha256=" + strings.Repeat("zz", 32), vectorBody},
		"space before":     {vectorSecret, " sha256=" + vectorSum, vectorBody},
		"two signatures":   {vectorSecret, "sha256=" + vectorSum + ",sha256=" + vectorSum, vectorBody},
		"another body":     {vectorSecret, "sha256=" + vectorSum, vectorBody + "\n"},
		"another secret":   {vectorSecret + "!", "sha256=" + vectorSum, vectorBody},
		"empty secret":     {"", "sha256=" + emptySum(), vectorBody},
		"last digit wrong": {vectorSecret, "sha256=" + vectorSum[:63] + "6", vectorBody},
	} {
		if github.Verify(c.secret, c.header, []byte(c.body)) {
			t.Errorf("%s: it does", name)
		}
	}
}

// hook receives what the fake delivers.
func hook(t *testing.T, s scene) (string, func() (http.Header, []byte)) {
	t.Helper()
	type got struct {
		header http.Header
		body   []byte
	}
	deliveries := make(chan got, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		deliveries <- got{r.Header, body}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() (http.Header, []byte) {
		g := <-deliveries
		return g.header, g.body
	}
}

func TestDeliveriesAreRead(t *testing.T) {
	s := start(t)
	to, receive := hook(t, s)
	id := s.fake.AddInstallation(githubtest.Installation{App: s.app.ID, Account: githubtest.Acme})
	acme, octocat := "{9919 acme Organization}", "{583231 octocat User}"
	for _, c := range []struct {
		event string
		body  any
		want  string
	}{
		{"ping", s.fake.PingPayload(s.app.ID), "{ping  0 0 {0  }  {0  } {0  }}"},
		{"installation", s.fake.InstallationPayload("created", id), fmt.Sprintf("{installation created %d %d %s all {0  } %s}", id, s.app.ID, acme, octocat)},
		{"installation", s.fake.ApprovedPayload(id, githubtest.Hubot), fmt.Sprintf("{installation created %d %d %s all {480938 hubot User} %s}", id, s.app.ID, acme, octocat)},
		{"installation", s.fake.InstallationPayload("deleted", id), fmt.Sprintf("{installation deleted %d %d %s all {0  } %s}", id, s.app.ID, acme, octocat)},
		{"installation", s.fake.InstallationPayload("suspend", id), fmt.Sprintf("{installation suspend %d %d %s all {0  } %s}", id, s.app.ID, acme, octocat)},
		{"installation_repositories", s.fake.RepositoriesPayload(id, []int64{githubtest.Widgets}, nil), fmt.Sprintf("{installation_repositories added %d %d %s selected {0  } %s}", id, s.app.ID, acme, octocat)},
		{"installation_repositories", s.fake.RepositoriesPayload(id, nil, []int64{githubtest.Gadgets}), fmt.Sprintf("{installation_repositories removed %d %d %s selected {0  } %s}", id, s.app.ID, acme, octocat)},
		{"github_app_authorization", s.fake.RevokedPayload(githubtest.Hubot), "{github_app_authorization revoked 0 0 {0  }  {0  } {480938 hubot User}}"},
		{"push", s.fake.PushPayload(id, githubtest.Widgets), fmt.Sprintf("{push  %d 0 {0  }  {0  } %s}", id, octocat)},
	} {
		resp, err := s.fake.Deliver(t.Context(), s.app.ID, githubtest.Delivery{Event: c.event, Body: c.body, To: to})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		header, body := receive()
		if !github.Verify(s.app.WebhookSecret, header.Get("X-Hub-Signature-256"), body) {
			t.Errorf("%s: the signature does not hold", c.event)
		}
		e, err := github.ParseEvent(header.Get("X-GitHub-Event"), body)
		if got := fmt.Sprint(e); err != nil || got != c.want {
			t.Errorf("%s is\n%s, want\n%s: %v", c.event, got, c.want, err)
		}
	}
}

func TestWhatIsNoEventIsRefused(t *testing.T) {
	for _, c := range []struct{ name, event, body, want string }{
		{"no name", "", `{}`, fault.InvalidRequest},
		{"name is a path", "../ping", `{}`, fault.InvalidRequest},
		{"name with CRLF", "ping\r\n", `{}`, fault.InvalidRequest},
		{"long name", strings.Repeat("a", 65), `{}`, fault.InvalidRequest},
		{"no JSON", "ping", `{"a":`, fault.InvalidJSON},
		{"nothing", "ping", ``, fault.InvalidJSON},
		{"array", "ping", `[]`, fault.InvalidJSON},
		{"null", "ping", `null`, fault.InvalidJSON},
		{"two installations", "push", `{"installation":{"id":1},"installation":{"id":2}}`, fault.InvalidJSON},
		{"installation is a number", "push", `{"installation":1}`, fault.InvalidRequest},
		{"installation is zero", "push", `{"installation":{"id":0}}`, fault.InvalidRequest},
		{"installation is negative", "push", `{"installation":{"id":-1}}`, fault.InvalidRequest},
		{"installation is text", "push", `{"installation":{"id":"1"}}`, fault.InvalidRequest},
		{"installation has an exponent", "push", `{"installation":{"id":1e9}}`, fault.InvalidRequest},
		{"no installation", "installation", `{"action":"created"}`, fault.InvalidRequest},
		{"null installation", "installation", `{"action":"created","installation":null}`, fault.InvalidRequest},
		{"no action", "installation", `{"installation":{"id":1}}`, fault.InvalidRequest},
		{"repositories are no list", "installation", `{"action":"created","installation":{"id":1},"repositories":{}}`, fault.InvalidRequest},
		{"repository is none", "installation_repositories", `{"action":"added","installation":{"id":1},"repositories_added":[{"id":1,"full_name":"../../etc"}]}`, fault.InvalidRequest},
		{"nobody revoked", "github_app_authorization", `{"action":"revoked"}`, fault.InvalidRequest},
		{"sender without id", "github_app_authorization", `{"action":"revoked","sender":{"login":"a"}}`, fault.InvalidRequest},
		{"revoked without action", "github_app_authorization", `{"sender":{"id":1,"login":"a"}}`, fault.InvalidRequest},
	} {
		e, err := github.ParseEvent(c.event, []byte(c.body))
		if !fault.Is(err, c.want) || e.Name != "" {
			t.Errorf("%s: %+v, %v", c.name, e, err)
		}
	}
}

func TestEventsThatAreNobodysAreRead(t *testing.T) {
	e, err := github.ParseEvent("star", []byte(`{"action":"created","sender":7,"repositories":1,"installation":{"id":5,"node_id":"x"}}`))
	if err != nil || e.Installation != 5 || e.Action != "created" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := json.Marshal(e); err != nil {
		t.Error(err)
	}
}
