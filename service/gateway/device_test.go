package gateway_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

const (
	devicePath  = "/api/auth/device"
	deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"
)

// askedDevice is what a program is told that asks for a key.
type askedDevice struct {
	DeviceCode string `json:"device_code"`
	UserCode   string `json:"user_code"`
	URI        string `json:"verification_uri"`
	URIWhole   string `json:"verification_uri_complete"`
	ExpiresIn  int    `json:"expires_in"`
	Interval   int    `json:"interval"`
}

// asksForKey is a program that asks for a key, with nothing that a browser has.
func (s *scene) asksForKey(t testing.TB) (a askedDevice) {
	t.Helper()
	s.do(t, call{method: "POST", path: devicePath, header: http.Header{"Content-Type": {"application/json"}}, body: `{"client":"svc <b>on</b> laptop"}`, from: fresh()}).
		wants(t, 200, "").read(t, &a)
	return a
}

// fetching looks for the key.
func (s *scene) fetching(a askedDevice) call {
	return call{method: "POST", path: devicePath + "/token", header: http.Header{"Content-Type": {"application/json"}}, from: fresh(),
		body: map[string]string{"grant_type": deviceGrant, "device_code": a.DeviceCode}}
}

// answersDevice sends the form of the page.
func (s *scene) answersDevice(t testing.TB, p somebody, a askedDevice, pairs ...string) reply {
	t.Helper()
	f := url.Values{"user_code": {a.UserCode}}
	for i := 0; i < len(pairs); i += 2 {
		f.Add(pairs[i], pairs[i+1])
	}
	return s.do(t, call{method: "POST", path: "/device", body: f.Encode(), header: s.formHeader(), cookie: p.cookie, from: fresh()})
}

// refuses fails unless a program is told that, as RFC 8628 has it.
func (r reply) refuses(t testing.TB, verdict string) {
	t.Helper()
	if r.StatusCode != 400 || !regexp.MustCompile(`^\{"error":"`+verdict+`","error_description":"[^"]+"\}$`).MatchString(r.body) || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("told %d %s, want %s", r.StatusCode, r.body, verdict)
	}
}

// pairs gives a key to a device.
func (s *scene) pairs(t testing.TB, p somebody, in workspace.Membership, scopes ...string) (k issued) {
	t.Helper()
	a := s.asksForKey(t)
	form := []string{"workspace", strings.TrimPrefix(in.Scope, "users/"), "days", "30", "decision", "approve"}
	for _, scope := range scopes {
		form = append(form, "scopes", scope)
	}
	s.answersDevice(t, p, a, form...).leads(t, 303, "/device?notice=device_approved")
	s.do(t, s.fetching(a)).wants(t, 200, "").read(t, &k)
	return k
}

var userCode = regexp.MustCompile(`^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$`)

// TestADeviceGetsItsKeyByThePage goes the whole way, on the wire alone.
func TestADeviceGetsItsKeyByThePage(t *testing.T) {
	for _, m := range everyMode() {
		t.Run(m.name, func(t *testing.T) {
			s := withRuntime(t, m.address(t), m.apart, plenty)
			boss := s.enrol(t, "ada")
			acme := s.found(t, boss, "acme")
			bob := s.recruit(t, acme, "bob", workspace.Builder)
			a := s.asksForKey(t)
			if !userCode.MatchString(a.UserCode) || a.URI != platformURL+"/device" || a.URIWhole != a.URI+"?user_code="+a.UserCode || a.ExpiresIn != 600 || a.Interval != 5 {
				t.Errorf("asked: %+v", a)
			}
			s.do(t, s.fetching(a)).refuses(t, "authorization_pending")
			s.do(t, s.fetching(a)).refuses(t, "slow_down")

			at := "/device?user_code=" + a.UserCode
			s.browse(t, at, "").leads(t, 302, platformURL+"/login?returnTo="+url.QueryEscape(at))
			s.browse(t, at, bob.cookie).shows(t, 200, "Connect a device", `value="`+a.UserCode+`"`, `<option value="ada/acme"`, `<option value="bob/personal"`)
			looked := s.answersDevice(t, bob, a, "workspace", "ada/acme").shows(t, 200, a.UserCode, "svc &lt;b&gt;on&lt;/b&gt; laptop", "ada/acme", "where you are builder",
				`value="agents:write" checked`, `value="projects:write">`, "90 days, until", `value="approve"`, `value="deny"`)
			if strings.Contains(looked.body, "usage:read") || strings.Contains(looked.body, "<script") || !strings.Contains(looked.body, "<code>192.") {
				t.Errorf("the page offers more than the role allows, has a script, or no address: %s", looked.body)
			}
			s.answersDevice(t, bob, a, "workspace", "ada/acme", "days", "30", "decision", "approve").shows(t, 400, a.UserCode, "Choose what the key may do.", "where you are builder")
			s.answersDevice(t, bob, a, "workspace", "ada/acme", "scopes", "runs:read", "scopes", "agents:read", "days", "30", "decision", "approve").leads(t, 303, "/device?notice=device_approved")
			s.browse(t, "/device?notice=device_approved", bob.cookie).shows(t, 200, "Go back to your device")

			s.Clock.Pass(10 * time.Second)
			var given struct {
				Key, ID, Workspace, BaseURL, ExpiresAt string
				Scopes                                 []string
			}
			got := s.do(t, s.fetching(a)).wants(t, 200, "")
			got.read(t, &given)
			if given.Workspace != "ada/acme" || given.BaseURL != agentsURL+"/v1/ada/acme" || !slices.Equal(given.Scopes, []string{"agents:read", "runs:read"}) || got.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("given: %+v", given)
			}
			runs := strings.TrimPrefix(given.BaseURL, agentsURL) + "/runs"
			s.do(t, call{on: gateway.Agents, path: runs, header: by(given.Key)}).wants(t, 200, "")
			s.do(t, call{on: gateway.Agents, method: "POST", path: baseOf(acme) + "/agents/central/x", header: by(given.Key), body: `{"kind":"user","body":"hi"}`}).wants(t, 403, "insufficient_scope")

			// Those who manage see it and end it; its own person is told that they may not.
			list := s.do(t, call{on: gateway.Agents, path: spaceOf(acme) + "/keys", cookie: boss.cookie}).wants(t, 200, "")
			if !strings.Contains(list.body, `"kind":"device"`) || !strings.Contains(list.body, given.ID) || strings.Contains(list.body, given.Key) {
				t.Errorf("list: %s", list.body)
			}
			s.browse(t, "/account/keys?workspace=ada%2Facme", boss.cookie).shows(t, 200, "for a device that <bdi>bob</bdi> approved")
			s.do(t, call{on: gateway.Agents, path: spaceOf(acme) + "/keys", cookie: bob.cookie}).wants(t, 403, "forbidden")
			s.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(acme) + "/keys/" + given.ID, cookie: bob.cookie}).wants(t, 403, "forbidden")
			s.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(acme) + "/keys/" + given.ID, cookie: boss.cookie}).wants(t, 204, "")
			s.do(t, call{on: gateway.Agents, path: runs, header: by(given.Key)}).wants(t, 401, "invalid_api_key")
		})
	}
}

// TestTheRefusalsOfTheDeviceFlowAreTheRFCs asks for keys in ways that give none. What is no request is refused as everywhere.
func TestTheRefusalsOfTheDeviceFlowAreTheRFCs(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{}, trusting)
		ada := s.enrol(t, "ada")
		a := s.asksForKey(t)
		s.answersDevice(t, ada, a, "decision", "deny").leads(t, 303, "/device?notice=device_denied")
		s.do(t, s.fetching(a)).refuses(t, "access_denied")
		late := s.asksForKey(t)
		s.Clock.Pass(10 * time.Minute)
		s.do(t, s.fetching(late)).refuses(t, "expired_token")
		for _, code := range []string{"", "x", "svcd_" + strings.Repeat("A", 43), late.UserCode, ada.Token} {
			s.do(t, s.fetching(askedDevice{DeviceCode: code})).refuses(t, "expired_token")
		}
		plain := http.Header{"Content-Type": {"application/json"}}
		for body, typ := range map[string]string{
			`{`: "invalid_json", `{"grant_type":"` + deviceGrant + `"}`: "invalid_request", `{"device_code":"x"}`: "invalid_request",
			`{"grant_type":"authorization_code","device_code":"x"}`:                              "invalid_request",
			`{"grant_type":"` + deviceGrant + `","device_code":"x","client_id":"svc"}`:           "invalid_request",
			`{"grant_type":"` + deviceGrant + `","device_code":"x","device_code":"y"}`:           "invalid_json",
			`{"grant_type":"` + deviceGrant + `","Device_code":"x","device_code":["x"]}`:         "invalid_request",
			`{"grant_type":"` + strings.ToUpper(deviceGrant) + `","device_code":"svcd_unknown"}`: "invalid_request",
		} {
			s.do(t, call{method: "POST", path: devicePath + "/token", header: plain.Clone(), body: body, from: fresh()}).wants(t, 400, typ)
		}
		for body, status := range map[string]int{`{}`: 200, `{"client":""}`: 200, `{"client":"` + strings.Repeat("n", 64) + `"}`: 200, `{"client":"` + strings.Repeat("n", 65) + `"}`: 400, `{"client":"a\u000ab"}`: 400, `{"client":null}`: 400, `[]`: 400} {
			if got := s.do(t, call{method: "POST", path: devicePath, header: plain.Clone(), body: body, from: fresh()}); got.StatusCode != status {
				t.Errorf("%s: %d %s", body, got.StatusCode, got.body)
			}
		}
		s.do(t, call{method: "POST", path: devicePath, header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, body: "client=x", from: fresh()}).wants(t, 415, "unsupported_media_type")
		s.do(t, call{path: devicePath}).wants(t, 405, "method_not_allowed")
		for _, on := range []gateway.Surface{gateway.Agents, gateway.Admin} {
			s.do(t, call{on: on, method: "POST", path: devicePath, body: "{}"}).wants(t, 404, "route_not_found")
			s.do(t, call{on: on, method: "POST", path: devicePath + "/token", body: "{}"}).wants(t, 404, "route_not_found")
		}
		s.do(t, call{method: "POST", path: devicePath + "/token?device_code=" + s.asksForKey(t).DeviceCode, header: plain.Clone(), body: "{}", from: fresh()}).wants(t, 400, "credential_in_url")
		// A page of anybody may ask, and gets nothing that it could not get itself: no cookie counts here.
		evil := s.do(t, call{method: "POST", path: devicePath, header: http.Header{"Content-Type": {"application/json"}, "Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}, cookie: ada.cookie, body: "{}", from: fresh()}).wants(t, 200, "")
		if evil.Header.Get("Access-Control-Allow-Origin") != "" || len(evil.Cookies()) > 0 {
			t.Errorf("a page of a stranger may read it: %v", evil.Header)
		}
	})
}

// TestNoCodeIsApprovedByALink brings somebody who is signed in to the page in every way but their own: nothing is approved.
func TestNoCodeIsApprovedByALink(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{}, trusting)
		victim, eve := s.enrol(t, "vic"), s.enrol(t, "eve")
		hers := s.found(t, eve, "trap")
		whole := []string{"workspace", "vic/personal", "scopes", "runs:read", "days", "30", "decision", "approve"}
		query := func(a askedDevice) string {
			q := url.Values{"user_code": {a.UserCode}}
			for i := 0; i < len(whole); i += 2 {
				q.Set(whole[i], whole[i+1])
			}
			return q.Encode()
		}
		post := func(a askedDevice, header http.Header, cookie string) reply {
			return s.do(t, call{method: "POST", path: "/device", body: query(a), header: header, cookie: cookie, from: fresh()})
		}
		changed := func(name string, values ...string) http.Header {
			h := s.formHeader()
			h[name] = values
			return h
		}
		for name, try := range map[string]func(a askedDevice) reply{
			"a link": func(a askedDevice) reply {
				return s.browse(t, "/device?"+query(a), victim.cookie).shows(t, 200, "Connect a device")
			},
			"a form of a stranger": func(a askedDevice) reply {
				return post(a, http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}, "Content-Type": {"application/x-www-form-urlencoded"}}, victim.cookie).shows(t, 403)
			},
			"a form of a sibling": func(a askedDevice) reply {
				return post(a, http.Header{"Origin": {agentsURL}, "Sec-Fetch-Site": {"same-site"}, "Content-Type": {"application/x-www-form-urlencoded"}}, victim.cookie).shows(t, 403)
			},
			"a form without origin": func(a askedDevice) reply {
				return post(a, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, victim.cookie).shows(t, 403)
			},
			"a form of two minds": func(a askedDevice) reply {
				return post(a, changed("Sec-Fetch-Site", "same-origin", "cross-site"), victim.cookie).shows(t, 403)
			},
			"JSON": func(a askedDevice) reply {
				return post(a, changed("Content-Type", "application/json"), victim.cookie).shows(t, 415)
			},
			"nobody": func(a askedDevice) reply {
				return post(a, s.formHeader(), "").leads(t, 303, platformURL+"/login?returnTo="+url.QueryEscape("/device?user_code="+a.UserCode))
			},
			"a key": func(a askedDevice) reply {
				return post(a, changed("Authorization", "Bearer "+s.issue(t, victim, s.World.Personal(t, victim.Who), nil, "runs:read").Key), victim.cookie).shows(t, 403)
			},
			"two sessions":        func(a askedDevice) reply { return post(a, s.formHeader(), victim.cookie+"; "+eve.cookie).shows(t, 400) },
			"another's workspace": func(a askedDevice) reply { return s.answersDevice(t, eve, a, whole...).shows(t, 404) },
			"a workspace of the trap": func(a askedDevice) reply {
				return s.answersDevice(t, victim, a, "workspace", "eve/trap", "scopes", "runs:read", "days", "30", "decision", "approve").shows(t, 404)
			},
			"two decisions": func(a askedDevice) reply {
				return s.answersDevice(t, victim, a, append(whole, "decision", "deny")...).shows(t, 400)
			},
			"another decision": func(a askedDevice) reply { return s.answersDevice(t, victim, a, "decision", "Approve").shows(t, 400) },
			"looking": func(a askedDevice) reply {
				return s.answersDevice(t, victim, a).shows(t, 200, "Compare the code.", "vic/personal")
			},
		} {
			a := s.asksForKey(t)
			try(a)
			if got := s.do(t, s.fetching(a)); !strings.Contains(got.body, "authorization_pending") {
				t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
			}
		}
		// Framed it is not shown, and what it says of itself is text.
		got := s.browse(t, "/device", victim.cookie)
		if policy := got.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "script-src") {
			t.Errorf("policy %s", policy)
		}
		if n := s.Count(t, "SELECT count(*) FROM api_keys WHERE kind = 'device' AND workspace = $1", hers.ID); n != 0 {
			t.Errorf("%d keys", n)
		}
	})
}

// TestTheDevicePageAsksAgainWhoItIs long after the sign-in, with the code kept on the way, and nothing that is none.
func TestTheDevicePageAsksAgainWhoItIs(t *testing.T) {
	s := quick(t, trusting)
	ada := s.enrol(t, "ada")
	s.Clock.Pass(11 * time.Minute)
	a := s.asksForKey(t)
	at := "/device?user_code=" + a.UserCode
	s.browse(t, at, ada.cookie).leads(t, 302, platformURL+"/account/reauth?returnTo="+url.QueryEscape(at))
	for _, decision := range []string{"", "approve", "deny"} {
		s.answersDevice(t, ada, a, "scopes", "runs:read", "days", "1", "decision", decision).leads(t, 303, platformURL+"/account/reauth?returnTo="+url.QueryEscape(at))
	}
	typed := askedDevice{UserCode: strings.ToLower(strings.ReplaceAll(a.UserCode, "-", " "))}
	s.answersDevice(t, ada, typed).leads(t, 303, platformURL+"/account/reauth?returnTo="+url.QueryEscape(at))
	for _, none := range []string{"", "hello", a.UserCode + "&notice=device_approved", "//evil.example", strings.Repeat("B", 20<<10)} {
		s.answersDevice(t, ada, askedDevice{UserCode: none}).leads(t, 303, platformURL+"/account/reauth?returnTo=%2Fdevice")
	}
	again := s.fields(t, "/account/reauth", ada.cookie, "password", password, "returnTo", at).leads(t, 303, at)
	ada.cookie = again.cookies()
	s.browse(t, at, ada.cookie).shows(t, 200, a.UserCode)
	s.answersDevice(t, ada, a, "scopes", "runs:read", "days", "1", "decision", "approve").leads(t, 303, "/device?notice=device_approved")
}

// TestWrongCodesAreToldOnThePage types six of them.
func TestWrongCodesAreToldOnThePage(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{}, trusting)
		ada := s.enrol(t, "ada")
		for range 3 { // what can be no code costs nothing
			s.answersDevice(t, ada, askedDevice{UserCode: "lowercase vowels"}).shows(t, 400, "No device shows this code now.", `value="lowercase vowels"`)
		}
		for i := range 5 {
			s.answersDevice(t, ada, askedDevice{UserCode: "BCDF-GHJ" + "BCDFG"[i:i+1]}).shows(t, 400, "No device shows this code now.", `value="BCDF-GHJ`)
		}
		a := s.asksForKey(t)
		got := s.answersDevice(t, ada, a).shows(t, 429, "Too many wrong codes.", "Try again in 12 minutes.")
		if got.Header.Get("Retry-After") != "720" {
			t.Errorf("Retry-After %s", got.Header.Get("Retry-After"))
		}
		s.answersDevice(t, ada, a, "scopes", "runs:read", "days", "1", "decision", "approve").shows(t, 429)
		s.do(t, s.fetching(a)).refuses(t, "authorization_pending")
		s.Clock.Pass(3 * time.Minute)
		if err := s.Log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for action, want := range map[string]int64{"device.refused": 5, "device.limited": 2} {
			var count int64
			for _, e := range s.events(t, "", action) {
				count += e.Count
			}
			if count != want {
				t.Errorf("%s is told %d times, want %d", action, count, want)
			}
		}
	})
}

// TestNoAttackOnTheKeyOfADeviceGetsThrough tries what is tried on keys.
func TestNoAttackOnTheKeyOfADeviceGetsThrough(t *testing.T) {
	for _, m := range everyMode() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := withRuntime(t, m.address(t), m.apart, plenty)
			s.devices = true
			for _, a := range attacks {
				if strings.Contains(a.name, " key") {
					t.Run(a.name, func(t *testing.T) { a.try(t, s) })
				}
			}
			if n := s.Count(t, "SELECT count(*) FROM api_keys WHERE kind = 'device'"); n < 15 {
				t.Errorf("only %d keys were of devices", n)
			}
		})
	}
}
