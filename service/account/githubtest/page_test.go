package githubtest_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"svc.dev/svc/service/account/githubtest"
)

var inputs = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// press fills in the form of a page as it is and presses a button.
func press(t *testing.T, r reply, decision string, pairs ...string) reply {
	t.Helper()
	if r.StatusCode != 200 || !strings.Contains(r.text, `value="approve">Approve</button>`) {
		t.Fatalf("%d %s", r.StatusCode, r.text)
	}
	fields := url.Values{"decision": {decision}}
	for _, m := range inputs.FindAllStringSubmatch(r.text, -1) {
		fields.Set(m[1], html.UnescapeString(m[2]))
	}
	for i := 0; i < len(pairs); i += 2 {
		fields.Set(pairs[i], pairs[i+1])
	}
	return do(t, "POST", r.Request.URL.String(), fields.Encode())
}

func TestPagesAskFirst(t *testing.T) {
	s := githubtest.New(t, githubtest.WithPages())
	create := do(t, "POST", s.URL+"/settings/apps/new?state=a%26b", form("manifest", string(manifest())))
	if r := press(t, create, "cancel"); r.StatusCode != 200 {
		t.Errorf("%d", r.StatusCode)
	}
	to := press(t, create, "approve").leads(t).Query()
	if to.Get("state") != "a&b" {
		t.Errorf("%v", to)
	}
	app := do(t, "POST", s.URL+"/app-manifests/"+to.Get("code")+"/conversions", "").json(t)
	ask := do(t, "GET", s.URL+"/login/oauth/authorize?"+form("client_id", app["client_id"].(string), "redirect_uri", callback, "state", "s", "code_challenge", challenge, "code_challenge_method", "S256"), "")
	if to := press(t, ask, "cancel").leads(t).Query(); to.Get("error") != "access_denied" || to.Get("state") != "s" {
		t.Errorf("%v", to)
	}
	to = press(t, ask, "approve", "as", "hubot").leads(t).Query()
	out := exchange(t, s, "client_id", app["client_id"].(string), "client_secret", app["client_secret"].(string), "code", to.Get("code"), "code_verifier", verifier, "redirect_uri", callback)
	if out["access_token"] == nil || to.Get("state") != "s" {
		t.Errorf("%v", out)
	}
	install := do(t, "GET", s.URL+"/github-apps/widget-bot/installations/new?state=s", "")
	to = press(t, install, "approve", "target", "acme").leads(t).Query()
	if to.Get("setup_action") != "install" || to.Get("state") != "s" || to.Get("installation_id") == "" {
		t.Errorf("%v", to)
	}
	if r := press(t, install, "cancel"); r.StatusCode != 200 {
		t.Errorf("%d", r.StatusCode)
	}
}
