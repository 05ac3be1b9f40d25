package githubtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc.dev/svc/service/account/githubtest"
)

const (
	home     = "https://platform.example.com"
	callback = home + "/callback"
	// The pair that RFC 7636 prints.
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
)

// manifest is one that is fine, with changes.
func manifest(changes ...any) []byte {
	m := map[string]any{
		"name": "widget-bot", "url": home, "redirect_url": home + "/manifest", "callback_urls": []string{callback},
		"setup_url": home + "/setup", "setup_on_update": true, "hook_attributes": map[string]any{"url": home + "/hook"},
		"default_permissions": map[string]string{"emails": "read", "contents": "write", "metadata": "read"}, "default_events": []string{"push"},
	}
	for i := 0; i < len(changes); i += 2 {
		m[changes[i].(string)] = changes[i+1]
		if changes[i+1] == nil {
			delete(m, changes[i].(string))
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return text
}

func withApp(t *testing.T, options ...githubtest.Option) (*githubtest.Server, githubtest.App) {
	t.Helper()
	s := githubtest.New(t, options...)
	app, err := s.AddApp(manifest())
	if err != nil {
		t.Fatal(err)
	}
	return s, app
}

var browser = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// reply is an answer that was read.
type reply struct {
	*http.Response
	text string
}

// do sends a request with headers as pairs; a body that has a form's letters is one.
func do(t *testing.T, method, address, body string, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp, string(text)}
}

// leads is where a reply sends the browser.
func (r reply) leads(t *testing.T) *url.URL {
	t.Helper()
	to, err := r.Location()
	if err != nil {
		t.Fatalf("answered %d %s", r.StatusCode, r.text)
	}
	return to
}

func (r reply) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(r.text), &v); err != nil {
		t.Fatalf("%v: %s", err, r.text)
	}
	return v
}

func form(pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

// exchange asks the token endpoint for JSON.
func exchange(t *testing.T, s *githubtest.Server, pairs ...string) map[string]any {
	t.Helper()
	return do(t, "POST", s.URL+"/login/oauth/access_token", form(pairs...), "Accept", "application/json").json(t)
}

// token is the access token of a person.
func token(t *testing.T, s *githubtest.Server, app githubtest.App, user int64) map[string]any {
	t.Helper()
	code := s.Code(app.ClientID, user, callback, challenge)
	out := exchange(t, s, "client_id", app.ClientID, "client_secret", app.ClientSecret, "code", code, "code_verifier", verifier, "redirect_uri", callback)
	if out["access_token"] == nil {
		t.Fatalf("%v", out)
	}
	return out
}
