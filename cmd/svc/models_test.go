package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/model"
	"svc.dev/svc/model/modeltest"
	"svc.dev/svc/service"
)

// providers are those of models, and what their servers speak.
var providers = map[string]modeltest.API{"anthropic": modeltest.Anthropic, "openai": modeltest.Chat, "google": modeltest.Google}

// customer is somebody who keeps the key of a provider in their workspace.
type customer struct {
	person
	provider string
	cookie   string
	at       service.Serving
	logs     []*process
	heard    strings.Builder // all that was answered
}

func newCustomer(t *testing.T, provider string, at service.Serving, logs ...*process) *customer {
	t.Helper()
	c := &customer{provider: provider, at: at, logs: logs}
	c.person = signUp(t, at, provider+"-fan")
	c.cookie = send(t, "POST", at.Platform+"/api/auth/password/login", http.Header{"Origin": {at.Platform}},
		fmt.Sprintf(`{"email":"%s-fan@example.com","password":"a calm and long password"}`, provider)).cookie
	return c
}

// set keeps the key, and where the provider is.
func (c *customer) set(t *testing.T, url, key string) {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"url": url, "key": key})
	res := c.settings(t, "PUT", "/"+c.provider, string(body))
	if res.status != 200 || !strings.Contains(res.body, `"owner":"workspace"`) {
		t.Fatalf("set the key: %d %s", res.status, res.body)
	}
}

func (c *customer) settings(t *testing.T, method, path, body string) result {
	t.Helper()
	res := send(t, method, c.at.Agents+"/api/workspaces/"+c.provider+"-fan/personal/models"+path, http.Header{"Origin": {c.at.Agents}, "Cookie": {c.cookie}}, body)
	c.heard.WriteString(res.body)
	return res
}

// told is what is known of a conversation.
type told struct {
	body        string
	Settlements []struct {
		Outcome string
		Error   struct{ Message string }
	}
}

// prompt says something, and is what the conversation holds when that has settled for the n-th time.
func (c *customer) prompt(t *testing.T, instance, body string, n int) told {
	t.Helper()
	if res := c.do(t, "POST", "/agents/central/"+instance, body); res.status != 202 {
		t.Fatalf("prompt: %d %s", res.status, res.body)
	}
	return c.settled(t, instance, n)
}

func (c *customer) settled(t *testing.T, instance string, n int) (h told) {
	t.Helper()
	if !eventually(func() bool {
		h = told{body: c.do(t, "GET", "/agents/central/"+instance, "").body}
		return json.Unmarshal([]byte(h.body), &h) == nil && len(h.Settlements) >= n
	}) {
		t.Fatalf("%s does not settle: %s", instance, h.body)
	}
	c.heard.WriteString(h.body)
	return h
}

func (h told) is(t *testing.T, what, outcome string, holds ...string) {
	t.Helper()
	last := h.Settlements[len(h.Settlements)-1]
	if last.Outcome != outcome {
		t.Errorf("%s settles as %s: %s", what, last.Outcome, h.body)
	}
	for _, text := range holds {
		if !strings.Contains(h.body, text) {
			t.Errorf("%s: %s is not in %s", what, text, h.body)
		}
	}
}

const hello = `{"kind":"user","body":"hello"}`

// talks goes through all that a provider does, well and badly, with the key that the workspace keeps.
func (c *customer) talks(t *testing.T) {
	t.Helper()
	serve := func(replies ...modeltest.Reply) *modeltest.Server {
		s := modeltest.NewServer(t, providers[c.provider], replies...)
		c.set(t, s.URL, modeltest.Key)
		return s
	}
	fine := modeltest.Reply{Text: []string{"All ", "is ", "well."}}

	serve(modeltest.Reply{Reasoning: []string{"Let me ", "think."}, Signature: "c2ln", Text: []string{"Hel", "lo."}})
	c.prompt(t, "thinks", hello, 1).is(t, "reasoning", "completed", "Hello.", "Let me think.")

	serve(modeltest.Reply{Calls: []model.ToolCall{
		{ID: "call_1", Name: "first", Input: json.RawMessage(`{"a":1}`)}, {ID: "call_2", Name: "second", Input: json.RawMessage(`{"b":2}`)},
	}}, fine)
	c.prompt(t, "calls", hello, 1).is(t, "two calls", "completed", `"first"`, `"second"`, "All is well.")

	picture := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n and so on"))
	s := serve(fine)
	c.prompt(t, "sees", `{"kind":"user","body":"what is it?","attachments":[{"type":"image","data":"`+picture+`","mimeType":"image/png"}]}`, 1).is(t, "an image", "completed")
	if sent := s.Requests(); !strings.Contains(string(sent[len(sent)-1].Body), picture) {
		t.Error("the provider was not shown the image")
	}

	story := modeltest.Reply{Text: []string{"A long story."}, Usage: model.Usage{Input: 400_000, Output: 5}}
	s = serve(story, story, story, story, modeltest.Reply{Text: []string{"What was said before."}}, fine)
	for n := range 4 {
		c.prompt(t, "grows", hello, n+1)
	}
	grown := c.prompt(t, "grows", hello, 5)
	grown.is(t, "a context grown too long", "completed", "All is well.")
	if sent := s.Requests(); len(sent) != 6 || !strings.Contains(string(sent[5].Body), "What was said before.") || strings.Contains(grown.body, "What was said before.") {
		t.Errorf("%d requests, want four stories, their summary and what follows: %s", len(sent), sent[len(sent)-1].Body)
	}

	s = serve(modeltest.Reply{Text: []string{"Once "}, Silent: true})
	c.do(t, "POST", "/agents/central/stops", hello)
	if !eventually(func() bool { return len(s.Requests()) > 0 }) {
		t.Fatal("the provider is not asked")
	}
	c.do(t, "POST", "/agents/central/stops/abort", "")
	c.settled(t, "stops", 1).is(t, "an abort", "aborted")
	select {
	case <-s.Left():
	case <-time.After(time.Minute):
		t.Error("the provider's connection outlives the abort")
	}

	serve(modeltest.Reply{Fault: &modeltest.Fault{Kind: modeltest.RateLimit, Header: http.Header{"Retry-After": {"1"}}}}, fine)
	began := time.Now()
	c.prompt(t, "waits", hello, 1).is(t, "a limited rate", "completed", "All is well.")
	if took := time.Since(began); took < time.Second {
		t.Errorf("asked again after %s, and told to wait a second", took)
	}

	serve(modeltest.Reply{Text: []string{"All ", "is ", "we"}, Cut: 200}, fine)
	c.prompt(t, "breaks", hello, 1).is(t, "a cut connection", "completed", "All is well.")

	serve(modeltest.Reply{Silent: true}, fine)
	c.prompt(t, "silence", hello, 1).is(t, "a silent server", "completed", "All is well.")

	serve(modeltest.Reply{Fault: &modeltest.Fault{Kind: modeltest.WrongKey}})
	c.prompt(t, "refused", hello, 1).is(t, "a refused key", "failed", "MODEL_"+strings.ToUpper(c.provider)+"_KEY", "/settings/models")

	if res := c.settings(t, "DELETE", "/"+c.provider, ""); res.status != 204 {
		t.Errorf("forget the key: %d %s", res.status, res.body)
	}
	c.prompt(t, "keyless", hello, 1).is(t, "no key", "failed", "MODEL_"+strings.ToUpper(c.provider)+"_KEY", c.at.Agents+"/w/"+c.provider+"-fan/personal/settings/models")
	serve(fine)
	if res := c.settings(t, "POST", "/"+c.provider+"/test", ""); res.status != 200 || !strings.Contains(res.body, `"result":"ok"`) {
		t.Errorf("a check: %d %s", res.status, res.body)
	}
}

// hides looks for a secret in all that was said and, of SQLite, in every byte that was written.
func (c *customer) hides(t *testing.T, value string, folders ...string) {
	t.Helper()
	for _, spelt := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))} {
		for _, p := range c.logs {
			if strings.Contains(p.said(), spelt) {
				t.Errorf("the log of svc %s tells the secret", p.Part)
			}
		}
		if strings.Contains(c.heard.String(), spelt) {
			t.Error("an answer tells the secret")
		}
		for _, folder := range folders {
			_ = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return nil
				}
				if data, _ := os.ReadFile(path); strings.Contains(string(data), spelt) {
					t.Errorf("%s holds the secret", path)
				}
				return nil
			})
		}
	}
}

func modelSettings(provider string) []string {
	return []string{"SVC_MODEL_DEFAULT=" + provider + "/test-model", "SVC_MODEL_ALLOW_PRIVATE=127.0.0.0/8", "SVC_MODEL_IDLE_TIMEOUT=3s", "SVC_LIMIT_RATE=1000000", "SVC_LIMIT_BURST=1000000"}
}

// TestEachProviderTalksInOneProcessAndInTwo stores a provider's key, and talks to its server.
func TestEachProviderTalksInOneProcessAndInTwo(t *testing.T) {
	for provider := range providers {
		t.Run(provider+"/serve", func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			p := launch(t, append(modelSettings(provider), "SVC_LISTEN=127.0.0.1:"+freePort(t), "SVC_OPS_LISTEN=127.0.0.1:0"), "serve", "--data", data)
			c := newCustomer(t, provider, p.Serving, p)
			c.talks(t)
			p.stop(t)
			c.hides(t, modeltest.Key, data)
		})
		t.Run(provider+"/split", func(t *testing.T) {
			t.Parallel()
			h := newHalves(t, "127.0.0.1:"+freePort(t))
			h.settings = append(h.settings, modelSettings(provider)...)
			h.startRuntime(t)
			h.startGateway(t)
			c := newCustomer(t, provider, h.gateway.Serving, h.gateway, h.runtime)
			c.talks(t)
			c.hides(t, modeltest.Key)
		})
	}
}
