package gateway_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"svc.dev/svc/service/gateway"
)

// overview is what a workspace reads of its models.
type overview struct {
	Default, Source, Message string
	Items                    []struct{ Provider, Default string }
	NextCursor               string
}

// TestModelsAreAListBesideTheirDefault reads it whole, again, in pages and by name, and chooses a default.
func TestModelsAreAListBesideTheirDefault(t *testing.T) {
	s := quick(t)
	cookie, _ := s.session(t, "ada@example.com")
	const at = "/api/workspaces/ada/personal/models"
	read := func(query string, of *overview) reply {
		t.Helper()
		*of = overview{}
		got := s.do(t, call{on: gateway.Agents, path: at + query, cookie: cookie}).wants(t, 200, "")
		got.read(t, of)
		return got
	}
	put := func(path string, body any) (said struct{ Default, Source string }) {
		t.Helper()
		s.do(t, call{on: gateway.Agents, method: "PUT", path: at + path, cookie: cookie, body: body}).wants(t, 200, "").read(t, &said)
		return said
	}
	var all overview
	tag := read("", &all).Header.Get("ETag")
	if all.Default != "scripted/words" || all.Source != "service" || all.Message == "" || len(all.Items) != 4 {
		t.Errorf("before anything is set: %+v", all)
	}
	again := call{on: gateway.Agents, path: at, cookie: cookie, header: http.Header{"If-None-Match": {tag}}}
	if got := s.do(t, again).wants(t, 304, ""); got.body != "" || got.Header.Get("ETag") != tag {
		t.Errorf("again: %q %q", got.Header.Get("ETag"), got.body)
	}
	var names []string
	for next, first := "", true; first || next != ""; first = false {
		var page overview
		read("?limit=3&cursor="+url.QueryEscape(next), &page)
		for _, p := range page.Items {
			names = append(names, p.Provider)
		}
		if next = page.NextCursor; page.Default != all.Default {
			t.Errorf("a page has the default %q", page.Default)
		}
	}
	if !slices.Equal(names, []string{"anthropic", "google", "openai", "scripted"}) {
		t.Errorf("in pages: %v", names)
	}
	if read("?q=OPEN", &all); len(all.Items) != 1 || all.Items[0].Provider != "openai" {
		t.Errorf("by name: %+v", all.Items)
	}

	of := put("/google", map[string]string{"key": "a-key-of-a-provider"}).Default
	s.do(t, again).wants(t, 200, "")
	if read("?q=google", &all); all.Default != of || of == "" || all.Source != "key" || all.Items[0].Default != of {
		t.Errorf("with a key of google: %q, %+v", of, all)
	}
	if said := put("", map[string]string{"default": "openai/some-model"}); said.Default != "openai/some-model" || said.Source != "workspace" {
		t.Errorf("a default that is chosen: %+v", said)
	}
	if read("", &all); all.Default != "openai/some-model" || all.Source != "workspace" || all.Message != "" {
		t.Errorf("with a default of its own: %+v", all)
	}
	if said := put("", map[string]string{"default": ""}); said.Default != of || said.Source != "key" {
		t.Errorf("a default that is given up: %+v", said)
	}
}

// TestASecretSaysWhatUsesIt keeps the key of a provider beside a secret of which nobody knows what it is for.
func TestASecretSaysWhatUsesIt(t *testing.T) {
	s := quick(t)
	cookie, _ := s.session(t, "ada@example.com")
	do := func(method, rest string, body any) reply {
		return s.do(t, call{on: gateway.Agents, method: method, path: "/api/workspaces/ada/personal" + rest, cookie: cookie, body: body})
	}
	type used struct {
		Name   string
		UsedBy []string
	}
	do("PUT", "/models/openai", map[string]string{"key": "a-key-of-a-provider"}).wants(t, 200, "")
	var kept used
	do("PUT", "/secrets/MODEL_NOBODY_KEY", map[string]string{"value": "v"}).wants(t, 201, "").read(t, &kept)
	if kept.UsedBy == nil || len(kept.UsedBy) != 0 {
		t.Errorf("a secret of nobody is used by %v", kept.UsedBy)
	}
	var all struct{ Items []used }
	do("GET", "/secrets", nil).wants(t, 200, "").read(t, &all)
	if len(all.Items) != 2 || len(all.Items[0].UsedBy) != 0 || !slices.Equal(all.Items[1].UsedBy, []string{"models/openai"}) {
		t.Errorf("the list: %+v", all.Items)
	}
	var one used
	do("GET", "/secrets/MODEL_OPENAI_KEY", nil).wants(t, 200, "").read(t, &one)
	if one.Name != "MODEL_OPENAI_KEY" || !slices.Equal(one.UsedBy, []string{"models/openai"}) {
		t.Errorf("the item: %+v", one)
	}
	// A value that leaked is destroyed at once, whatever uses it.
	do("DELETE", "/secrets/MODEL_OPENAI_KEY", nil).wants(t, 204, "")
	var provider struct{ Key struct{ Present bool } }
	if do("GET", "/models/openai", nil).wants(t, 200, "").read(t, &provider); provider.Key.Present {
		t.Error("the provider has a key that was destroyed")
	}
}
