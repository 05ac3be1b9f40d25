package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

const keysPath = "/api/workspaces/ada/personal/keys"

func TestKeysAreMadeListedRotatedAndRevoked(t *testing.T) {
	s := quick(t)
	cookie, _ := s.session(t, "ada@example.com")
	type key struct {
		ID, Key, Prefix, Last4, Name string
		Scopes                       []string
		ExpiresAt                    *string
	}
	var made, turned key
	got := s.do(t, call{on: gateway.Agents, method: "POST", path: keysPath, cookie: cookie, body: `{"name":"ci","scopes":["agents:read"]}`}).wants(t, 201, "")
	got.read(t, &made)
	if got.Header.Get("Location") != keysPath+"/"+made.ID || made.ExpiresAt == nil || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("made: %v %+v", got.Header, made)
	}
	list := s.do(t, call{on: gateway.Agents, path: keysPath, cookie: cookie}).wants(t, 200, "")
	if strings.Contains(list.body, made.Key) || !strings.Contains(list.body, made.ID) {
		t.Errorf("list: %s", list.body)
	}
	s.do(t, call{on: gateway.Agents, method: "POST", path: keysPath + "/" + made.ID + "/rotate", cookie: cookie, body: `{"graceSeconds":86401}`}).wants(t, 400, "invalid_request")
	s.do(t, call{on: gateway.Agents, method: "POST", path: keysPath + "/" + made.ID + "/rotate", cookie: cookie, body: `{}`}).wants(t, 201, "").read(t, &turned)
	s.do(t, call{on: gateway.Agents, method: "DELETE", path: keysPath + "/" + turned.ID, cookie: cookie}).wants(t, 204, "")
	s.do(t, call{on: gateway.Agents, method: "DELETE", path: keysPath + "/" + turned.ID, cookie: cookie}).wants(t, 404, "item_not_found")
	s.do(t, call{on: gateway.Agents, method: "POST", path: keysPath, cookie: cookie, body: `{"name":"x","scopes":["agents:read"],"expiresAt":null}`}).wants(t, 400, "invalid_request")
	s.do(t, call{on: gateway.Agents, method: "POST", path: keysPath, cookie: cookie, body: `{"name":"x","scopes":["agents:read"],"expiresAt":null,"confirm":true}`}).wants(t, 201, "")
	s.do(t, call{on: gateway.Agents, method: "POST", path: keysPath, cookie: cookie, body: `{"name":"x","scopes":["agents:read"],"expiresAt":"soon"}`}).wants(t, 400, "invalid_request")
}

func TestAStrangersWorkspaceIsNotThere(t *testing.T) {
	s := quick(t)
	s.session(t, "ada@example.com")
	eve, _ := s.session(t, "eve@example.com")
	real := s.do(t, call{on: gateway.Agents, path: keysPath, cookie: eve}).wants(t, 404, "workspace_not_found")
	none := s.do(t, call{on: gateway.Agents, path: "/api/workspaces/nobody/personal/keys", cookie: eve}).wants(t, 404, "workspace_not_found")
	if real.body != none.body {
		t.Errorf("%s and %s", real.body, none.body)
	}
	s.do(t, call{on: gateway.Agents, path: keysPath}).wants(t, 401, "unauthenticated")
	s.do(t, call{on: gateway.Platform, path: keysPath, cookie: eve}).wants(t, 404, "workspace_not_found")
	s.do(t, call{on: gateway.Agents, method: "POST", path: keysPath, cookie: eve, header: http.Header{"Content-Type": {"application/json"}}, body: `{}`}).wants(t, 403, "cross_origin_request")
}

func TestWhateverIsWrongWithAKeyIsAnsweredAlike(t *testing.T) {
	s := quick(t, trusting)
	cookie, ada := s.session(t, "ada@example.com")
	var made struct{ Key, ID string }
	s.do(t, call{on: gateway.Agents, method: "POST", path: keysPath, cookie: cookie, body: `{"name":"ci","scopes":["agents:read"]}`}).wants(t, 201, "").read(t, &made)
	bearer := func(values ...string) call {
		return call{on: gateway.Agents, path: keysPath, cookie: cookie, header: http.Header{"Authorization": values}, from: "192.0.2.1"}
	}
	var first string
	other := "0"
	if strings.HasSuffix(made.Key, other) {
		other = "1"
	}
	for _, value := range []string{"", "Bearer", "Bearer ", "Bearer  " + made.Key, "Basic " + made.Key, made.Key, "Bearer svck_x", "Bearer " + ada.Token,
		"Bearer " + strings.ToLower(made.Key), "Bearer " + made.Key[:55] + other, "Digest x", "Bearer\t" + made.Key} {
		got := s.do(t, bearer(value)).wants(t, 401, "invalid_api_key")
		if first == "" {
			first = got.body
		}
		if got.body != first {
			t.Errorf("%q: %s", value, got.body)
		}
	}
	s.do(t, bearer("Bearer "+made.Key, "Bearer "+made.Key)).wants(t, 400, "invalid_header")
	// A good key is known, and may not manage keys; the cookie beside it does not count.
	s.do(t, bearer("Bearer "+made.Key)).wants(t, 403, "forbidden")
	s.do(t, bearer("bearer "+made.Key)).wants(t, 403, "forbidden")
	var got reply
	for n := 0; n < 120 || got.StatusCode != 429 && n < 200; n++ { // some are regained meanwhile
		got = s.do(t, call{on: gateway.Agents, path: keysPath, header: http.Header{"Authorization": {"Bearer nonsense"}}, from: "192.0.2.2"})
	}
	got.wants(t, 429, "rate_limited")
	if got.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.do(t, bearer("Bearer "+made.Key)).wants(t, 403, "forbidden")
}

func TestAKeyThatWasFoundCanBeEndedByAnybody(t *testing.T) {
	s := quick(t)
	cookie, _ := s.session(t, "ada@example.com")
	var made struct{ Key string }
	s.do(t, call{on: gateway.Agents, method: "POST", path: keysPath, cookie: cookie, body: `{"name":"ci","scopes":["agents:read"]}`}).wants(t, 201, "").read(t, &made)
	var bodies []string
	for i, key := range []string{"nonsense", made.Key, made.Key} {
		on := []gateway.Surface{gateway.Platform, gateway.Agents, gateway.Admin}[i]
		got := s.do(t, call{on: on, method: "POST", path: "/api/keys/revoke", header: http.Header{"Content-Type": {"application/json"}}, body: map[string]string{"key": key}})
		bodies = append(bodies, got.wants(t, 202, "").body)
	}
	if bodies[0] != bodies[1] || bodies[1] != bodies[2] {
		t.Errorf("answers differ: %v", bodies)
	}
	s.do(t, call{on: gateway.Agents, path: keysPath, header: http.Header{"Authorization": {"Bearer " + made.Key}}}).wants(t, 401, "invalid_api_key")
}

// TestAKeyIsToldARoleThatItsMakerLacks asks how full a workspace is by the key of somebody who only pays for it any more.
func TestAKeyIsToldARoleThatItsMakerLacks(t *testing.T) {
	s := quick(t)
	boss := s.enrol(t, "kurt")
	acme := s.found(t, boss, "acme")
	maker := s.recruit(t, acme, "lena", workspace.Admin)
	k := s.issue(t, maker, acme, nil, "projects:read")
	s.seat(t, acme, maker, workspace.Billing)
	got := s.do(t, call{on: gateway.Agents, path: spaceOf(acme) + "/storage", header: by(k.Key)}).wants(t, 403, "forbidden")
	if !strings.Contains(got.body, `"role":"viewer"`) {
		t.Errorf("told %s", got.body)
	}
}
