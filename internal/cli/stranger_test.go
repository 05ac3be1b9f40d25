package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/cli"
	"svc.dev/svc/internal/cli/profile"
	"svc.dev/svc/internal/command"
)

// evil is a text that would change the title of a terminal, empty it, colour it, go back in it, and turn its letters round.
const evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\x9b\rback\u202eturned"

// quoted is evil within JSON.
var evilJSON = func() string { text, _ := json.Marshal(strings.ToValidUTF8(evil, "")); return string(text) }()

// at has commands ask a stranger.
func at(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	alone(t)
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	t.Setenv(cli.BaseVariable, server.URL+"/v1/ada/personal")
	t.Setenv(cli.KeyVariable, "svck_secret")
	return server
}

// says answers every request with one text.
func says(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// obeyed is the first character of a text that a terminal would obey.
func obeyed(text string) int { return strings.IndexFunc(text, command.Obeyed) }

// everyVerb is each command that asks a service, with what else it needs.
func everyVerb(t *testing.T) [][]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return [][]string{
		{"whoami"}, {"agents", "list"}, {"agents", "abort", "a", "c"}, {"agents", "history", "a", "c"}, {"agents", "tail", "a", "c", "--no-follow"},
		{"agents", "send", "a", "c", "hi", "--no-wait"}, {"workflows", "list"}, {"workflows", "run", "w", "--no-wait"}, {"runs", "list"},
		{"runs", "get", "r"}, {"runs", "tail", "r", "--no-follow"}, {"runs", "cancel", "r"}, {"projects", "ls"}, {"projects", "ls", "docs"}, {"projects", "create", "docs"},
		{"projects", "get", "docs/a", filepath.Join(t.TempDir(), "got")}, {"projects", "put", file, "docs/a"}, {"projects", "sync", filepath.Dir(file), "docs"}, {"chat", "a", "c"},
	}
}

// TestNoRefusalCommandsTheTerminal refuses everything in a stranger's words.
func TestNoRefusalCommandsTheTerminal(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"an envelope":         says(400, "application/json", `{"error":{"type":"x","message":`+evilJSON+`,"details":`+evilJSON+`}}`),
		"a missing scope":     says(403, "application/json", `{"error":{"type":"x","message":"m","meta":{"required":[`+evilJSON+`]}}}`),
		"a wrong key":         says(401, "application/json", `{"error":{"type":"x","message":`+evilJSON+`}}`),
		"a page":              says(418, "text/html", evil),
		"a failure":           says(500, "application/json", `{"error":{"type":"internal_error","message":"m"}}`),
		"another type":        says(200, "text/html; of=\u009b31m\u202e", `{}`),
		"what is no JSON":     says(200, "application/json", evil),
		"another JSON":        says(200, "application/json", `[`+evilJSON+`]`),
		"texts for all names": says(200, "application/json", `{"items":[{"runId":`+evilJSON+`,"workflowName":`+evilJSON+`,"name":`+evilJSON+`,"slug":`+evilJSON+`,"path":`+evilJSON+`,"description":`+evilJSON+`,"kind":"file"}],"runId":`+evilJSON+`,"submissionId":`+evilJSON+`,"status":`+evilJSON+`,"workflowName":`+evilJSON+`,"result":`+evilJSON+`,"error":{"name":`+evilJSON+`,"message":`+evilJSON+`}}`),
	} {
		t.Run(name, func(t *testing.T) {
			at(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Request-Id", "req_\u009b31m")
				answer(w, r)
			})
			verbs := everyVerb(t)
			if name == "what is no JSON" {
				verbs = [][]string{{"agents", "list"}, {"runs", "tail", "r"}} // it is asked for again until patience ends
			}
			for _, args := range verbs {
				for _, args := range [][]string{args, append(args, "--json")} {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					var out, errs buffer
					d := runWith(ctx, strings.NewReader("hi\n"), &out, &errs, args...)
					if ctx.Err() != nil {
						t.Errorf("%v does not end", args)
					}
					cancel()
					if obeyed(d.out+d.err) >= 0 {
						t.Errorf("%v says %q, %q", args, d.out, d.err)
					}
				}
			}
		})
	}
}

// TestNoSignInCommandsTheTerminal plays the platform of a stranger.
func TestNoSignInCommandsTheTerminal(t *testing.T) {
	for name, answers := range map[string][2]string{
		"a refusal":     {`{"error":{"message":` + evilJSON + `}}`, ""},
		"a code":        {`{"device_code":"d","user_code":` + evilJSON + `,"verification_uri":` + evilJSON + `,"verification_uri_complete":` + evilJSON + `,"interval":0.01}`, `{"error":{"message":` + evilJSON + `}}`},
		"a key":         {`{"device_code":"d","user_code":"u","verification_uri":"v","interval":0.01}`, `{"key":` + evilJSON + `,"baseUrl":"http://127.0.0.1:1/v1/a/b"}`},
		"an address":    {`{"device_code":"d","user_code":"u","verification_uri":"v","interval":0.01}`, `{"key":"svck_x","baseUrl":"http://127.0.0.1:1/\u009b31m"}`},
		"a workspace":   {`{"device_code":"d","user_code":"u","verification_uri":"v","interval":0.01}`, `{"key":"svck_x","baseUrl":"http://127.0.0.1:1/v1/a/b","workspace":` + evilJSON + `,"id":` + evilJSON + `,"scopes":[` + evilJSON + `]}`},
		"another place": {`{"device_code":"d","user_code":"u","verification_uri":"v","interval":0.01}`, `{"key":"svck_x","baseUrl":"http://evil.example/v1/a/b"}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := at(t, func(w http.ResponseWriter, r *http.Request) {
				text := answers[0]
				if strings.HasSuffix(r.URL.Path, "/token") {
					text = answers[1]
				}
				if strings.HasPrefix(text, `{"error"`) {
					w.WriteHeader(400)
				}
				_, _ = io.WriteString(w, text)
			})
			t.Setenv(cli.BaseVariable, "")
			for _, args := range [][]string{{"login", server.URL}, {"login", server.URL, "--json"}, {"whoami"}, {"profiles", "list"}, {"profiles", "list", "--json"}, {"profiles", "use", "default"}, {"logout"}} {
				if d := run(t, "", args...); obeyed(d.out+d.err) >= 0 {
					t.Errorf("%v says %q, %q", args, d.out, d.err)
				}
			}
		})
	}
}

// TestNothingIsSentElsewhere answers every request with another address: neither key nor code nor body goes there.
func TestNothingIsSentElsewhere(t *testing.T) {
	var asked atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(elsewhere.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := at(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL+r.URL.Path, status) })
		for _, args := range everyVerb(t) {
			if args[0] == "whoami" {
				continue
			}
			run(t, "hi\n", args...).wants(t, 1)
		}
		run(t, "", "login", server.URL).wants(t, 1, "the service is elsewhere")
		store, err := profile.Home()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Save("default", profile.Profile{BaseURL: server.URL + "/v1/ada/personal", Key: "svck_secret", Own: true}); err != nil {
			t.Fatal(err)
		}
		run(t, "", "logout").wants(t, 1, "not revoked there")
	}
	if asked.Load() > 0 {
		t.Errorf("%d requests went elsewhere", asked.Load())
	}
}

// TestListsThatNeverEndAreGivenUp tells of a next page for ever.
func TestListsThatNeverEndAreGivenUp(t *testing.T) {
	var pages atomic.Int64
	for name, answer := range map[string]func(n int64) string{
		"the same page":    func(int64) string { return `{"items":[{"name":"a"}],"nextCursor":"x"}` },
		"pages of nothing": func(n int64) string { return fmt.Sprintf(`{"items":[],"nextCursor":"%d"}`, n) },
		"more than were asked for": func(n int64) string {
			return `{"items":[` + strings.Repeat(`{"name":"a"},`, 5000) + `{"name":"b"}]}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			at(t, func(w http.ResponseWriter, r *http.Request) {
				says(200, "application/json", answer(pages.Add(1)))(w, r)
			})
			began := time.Now()
			d := run(t, "", "agents", "list")
			if took := time.Since(began); took > 20*time.Second || d.code == 0 && strings.Count(d.out, "\n") > 52 || d.code == 1 && !strings.Contains(d.err, "tells of further items") {
				t.Errorf("after %s: %d lines, %+.200s", took, strings.Count(d.out, "\n"), d.err)
			}
		})
	}
}

// TestBodiesThatNeverEndAreGivenUp sends more than any answer has.
func TestBodiesThatNeverEndAreGivenUp(t *testing.T) {
	if testing.Short() {
		t.Skip("it sends hundreds of megabytes")
	}
	for _, status := range []int{200, 400} {
		server := at(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"items":["`)
			for junk := strings.Repeat("x", 1<<20); ; {
				if _, err := io.WriteString(w, junk); err != nil {
					return
				}
			}
		})
		for _, args := range [][]string{{"agents", "list"}, {"agents", "history", "a", "c"}, {"login", server.URL}} {
			run(t, "", args...).wants(t, 1)
		}
	}
}
